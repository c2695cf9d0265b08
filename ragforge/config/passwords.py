"""Passwords that the person typed for this run. They are in memory only, and end with the process."""

_ASKED: dict[str, str] = {}


def keep_for_run(name: str, password: str) -> None:
    """Let it count before every other one of this name, until the program ends."""
    _ASKED[name] = password


def asked_for(name: str) -> str:
    """The one that was typed; empty where none was."""
    return _ASKED.get(name, "")


def all_asked() -> list[str]:
    """Every one, to be redacted."""
    return list(_ASKED.values())
