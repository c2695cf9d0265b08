"""Check one key or value, with errors that say what is allowed."""

import re
from collections.abc import Iterable
from typing import Any, get_args, get_origin

import msgspec

from ragforge.config.keys import ANY_NAME, KEYS, SECTIONS, KeyPath, SettingKey
from ragforge.config.kinds import EndpointName
from ragforge.config.store_address import parse_store_url
from ragforge.domain.errors import UsageError
from ragforge.domain.redact import hide_url_passwords

# These name providers of our own; an endpoint of the same name could never be reached.
RESERVED_NAMES = ("gemini", "local")
_SHOWN_MAX = 80


def find_key(path: KeyPath, *, where: str) -> SettingKey:
    """Return the key with this path. Raises UsageError that names the nearest one if there is none."""
    if path[0] == "endpoints" and len(path) == 3:
        _check_endpoint_name(path[1], where=where)
        found = KEYS.get((path[0], ANY_NAME, path[2]))
    elif path[0] == "keys" and len(path) == 2 and re.fullmatch("[a-z][a-z0-9_]*", path[1]):
        found = KEYS[path[0], ANY_NAME]
    elif path[:2] == ("programs", "models") and len(path) == 3 and path[2]:
        found = KEYS[*path[:2], ANY_NAME]
    else:
        found = KEYS.get(path) if ANY_NAME not in path else None
    if found:
        return found
    name = ".".join(path)
    if path in SECTIONS or (path[0] == "endpoints" and len(path) == 2):
        inside = ", ".join(str(key) for key in KEYS.values() if key.path[0] == path[0])
        raise UsageError(f"{where}: {name!r} is a section, not a setting. In it are: {inside}.")
    if any(word in name.lower() for word in ("key", "token", "secret", "password")) and "key_env" not in name:
        # The value is not shown: it may well be what the name says.
        hint = "Keys do not belong there. Set the provider's variable, or paste the key when ragforge asks."
    else:
        hint = nearest(name, [str(key) for key in KEYS.values()])
    raise UsageError(f"{where}: unknown setting {name!r}. {hint}")


def check_value(key: SettingKey, path: KeyPath, raw: Any, *, where: str, from_text: bool) -> Any:
    """Return the value in the key's type. `from_text` parses "true", "5" and the like.

    Raises UsageError that names source, key, value and what is allowed.
    """
    if from_text and isinstance(raw, str) and get_origin(get_args(key.type)[0]) is list:
        raw = [each.strip() for each in raw.split(",") if each.strip()]
    try:
        return msgspec.convert(raw, key.type, strict=not from_text)
    except (msgspec.ValidationError, UnicodeError) as error:
        asked_for_all = path == ("mode",) and raw == "all"
        extra = " Use --yolo or /mode all to set that mode for one run." if asked_for_all else ""
        # What is not even a URL may hold a password all the same, in a place where nobody looks for it.
        shown = "what is there" if path == ("store",) and "@" in str(raw) else _shown(raw)
        raise UsageError(
            f"{where}: {'.'.join(path)} = {shown} is not allowed; allowed: {key.about.allowed}.{extra}"
        ) from error


def check_store(url: str, *, where: str, in_file: bool) -> None:
    """Raise UsageError for an unreadable address, and for a password in an address in a file."""
    try:
        parse_store_url(url)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from error
    if in_file and hide_url_passwords(url) != url:
        raise UsageError(
            f"{where}: store contains a password, and files get copied and committed. "
            "`ragforge db connect ADDRESS` keeps it in the system keyring; write the address without it "
            "here, like bolt://USER@HOST."
        )


def misspelt_variables(names: Iterable[str], known: list[str]) -> list[str]:
    """Return a notice for each variable that looks like a misspelt one of ragforge.

    Others are ignored: a variable may belong to a newer version or to a script of the user.
    """
    unknown = [name for name in names if name not in known]
    if not unknown:
        return []
    from difflib import get_close_matches  # only in the rare case: keeps the start light

    found = [(name, get_close_matches(name, known, n=1, cutoff=0.85)) for name in unknown]
    return [
        f"ragforge does not read the variable {name}. Did you mean {near[0]}?" for name, near in found if near
    ]


def _check_endpoint_name(name: str, *, where: str) -> None:
    try:
        msgspec.convert(name, EndpointName)
    except msgspec.ValidationError as error:
        raise UsageError(
            f"{where}: {_shown(name)} is not a valid endpoint name. Use at most 40 lowercase letters, "
            "digits, - and _, starting with a letter."
        ) from error
    if name in RESERVED_NAMES:
        raise UsageError(
            f"{where}: {name} is a built-in provider and cannot be the name of an endpoint. Choose another "
            "name."
        )


def nearest(name: str, known: list[str]) -> str:
    """A sentence with the settings that were perhaps meant, or with all of the section."""
    from difflib import get_close_matches  # only on the way to an error: keeps the start light

    near = get_close_matches(name, known, n=2, cutoff=0.6) or [
        key for key in known if key.rpartition(".")[2] == name.rpartition(".")[2]
    ]
    if near:
        return f"Did you mean {' or '.join(map(repr, near))}?"
    # All of them at once would hide what is wrong: those of the section, or the sections.
    of_section = [key for key in known if key.startswith(f"{name.partition('.')[0]}.")]
    sections = dict.fromkeys(f"{key.partition('.')[0]}.*" if "." in key else key for key in known)
    return f"There are: {', '.join(of_section or sections)}."


def _shown(value: Any) -> str:
    match value:
        case str():
            text = repr(hide_url_passwords(value))
        case bool():
            text = str(value).lower()
        case _:
            text = str(value)
    return text if len(text) <= _SHOWN_MAX else text[:_SHOWN_MAX] + "…"
