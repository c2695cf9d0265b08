"""The system keyring, with a time limit: a locked one may wait for a window that nobody sees."""

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from ragforge.domain import timeouts

T = TypeVar("T")

SERVICE = "ragforge"

# The library's own words for "no keyring"; then it need not be loaded at all.
_OFF = frozenset({"keyring.backends.null.Keyring", "keyring.backends.fail.Keyring"})


def get(names: Iterable[str], environ: Mapping[str, str]) -> dict[str, str]:
    """Return the keys with these names, as far as the keyring has them and answers."""

    def ask() -> dict[str, str]:
        # Imported here: it takes 100 ms, and most starts need no keyring.
        import keyring

        found = {name: keyring.get_password(SERVICE, name) or "" for name in names}
        return {name: value for name, value in found.items() if value}

    return _limited(ask, environ).value or {}


def put(name: str, value: str, environ: Mapping[str, str]) -> str:
    """Save the key; return nothing if it was saved, or else why not."""

    def ask() -> bool:
        import keyring  # as above

        keyring.set_password(SERVICE, name, value)
        # Some keyrings take everything and keep nothing: the null one, and a chain of none.
        return keyring.get_password(SERVICE, name) == value

    answer = _limited(ask, environ)
    return answer.refused or ("" if answer.value else "the system keyring did not keep it")


class _KeychainResult(Generic[T]):
    """The result of a request to the keyring."""

    def __init__(self) -> None:
        self.value: T | None = None
        self.refused = ""


# Set for good by a keyring that did not answer: no second wait in this process.
_hung = threading.Event()


def _limited(ask: Callable[[], T], environ: Mapping[str, str]) -> _KeychainResult[T]:
    """Return the answer within the time limit."""
    answer: _KeychainResult[T] = _KeychainResult()
    if environ.get("PYTHON_KEYRING_BACKEND") in _OFF:
        answer.refused = "the system keyring is turned off"
        return answer
    if _hung.is_set():
        answer.refused = "the system keyring does not answer"
        return answer

    def run() -> None:
        try:
            answer.value = ask()
        except Exception:  # backends are plug-ins and raise whatever they like
            answer.refused = "there is no usable system keyring"

    # A daemon, so that a keyring which never answers does not keep the program from ending.
    thread = threading.Thread(target=run, name="keyring", daemon=True)
    thread.start()
    thread.join(timeouts.KEYRING_S_MAX)
    if thread.is_alive():
        _hung.set()
        late: _KeychainResult[T] = _KeychainResult()
        late.refused = "the system keyring does not answer"
        return late
    return answer
