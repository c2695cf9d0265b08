"""Changes of a text as edits {where, old, new}: everything else stays byte for byte."""

from collections.abc import Sequence
from typing import Any

EDITS_MAX = 200


class EditFault(Exception):
    """Why an edit does not fit the text."""


def apply_edits(text: str, edits: Sequence[Any]) -> str:
    """Return the text with the edits, applied one after the other. Raises EditFault.

    old: what is replaced; it must occur once, or once from the first line that contains `where` on.
    An empty `old` puts `new` after that line, or at the end of the text if `where` is empty too.
    """
    if len(edits) > EDITS_MAX:
        raise EditFault(f"there are {len(edits)} edits; at most {EDITS_MAX} can be made at once.")
    for number, edit in enumerate(edits, 1):
        try:
            where, old, new = (edit[key] for key in ("where", "old", "new"))
        except (TypeError, KeyError):
            raise EditFault(f"edit {number} is not {{where, old, new}}.") from None
        if not all(isinstance(each, str) for each in (where, old, new)):
            raise EditFault(f"edit {number} contains something that is not text.")
        text = _applied(text, where, old, new, number)
    return text


def _applied(text: str, where: str, old: str, new: str, number: int) -> str:
    start = text.find(where) if where else 0
    if not old:
        return _inserted(text, where, start, new, number)
    at = text.find(old)
    if at < 0:
        raise EditFault(f"edit {number}: {_quoted(old)} is not in the text.")
    if text.find(old, at + 1) >= 0:
        # Several: the first one from `where` on is meant.
        at = text.find(old, text.rfind("\n", 0, start) + 1) if where and start >= 0 else -1
        if at < 0:
            raise EditFault(
                f"edit {number}: {_quoted(old)} occurs more than once, and `where` does not say which."
            )
    return text[:at] + new + text[at + len(old) :]


def _inserted(text: str, where: str, start: int, new: str, number: int) -> str:
    if start < 0:
        raise EditFault(f"edit {number}: {_quoted(where)} is not in the text.")
    end = text.find("\n", start + len(where)) if where else len(text)
    end = len(text) if end < 0 else end
    before, after = text[:end], text[end:].removeprefix("\n")
    gap = "" if not before or before.endswith("\n") else "\n"
    return f"{before}{gap}{new.removesuffix(chr(10))}\n{after}"


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}...")
