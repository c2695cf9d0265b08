"""Text and JSON that every store, screen and service accepts.

A JSON escape such as `\\ud800` and the name of a file that is not UTF-8 both put half a surrogate pair into a
string, which cannot be encoded. `NaN` is a number only in Python's JSON. Both are replaced here, so that no
other code has to consider them.
"""

import json
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import msgspec

if TYPE_CHECKING:
    JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
else:
    # A signature with a recursive type could not be evaluated while the program runs.
    JsonValue = bool | int | float | str | list | dict | None
JsonObject: TypeAlias = dict[str, JsonValue]

Kind = TypeVar("Kind")

DEPTH_MAX = 100
"""How deep JSON may nest: recursive functions must not run out of stack."""


class NestedTooDeep(ValueError):
    """JSON that nests deeper than DEPTH_MAX."""

    def __init__(self) -> None:
        super().__init__(f"it is nested deeper than {DEPTH_MAX} levels")


class WellFormedStream:
    """Makes text well-formed that arrives in pieces; a pair split between two pieces stays complete."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, piece: str) -> str:
        """Return what is certain so far."""
        text = self._half + piece
        self._half = text[-1] if text and "\ud800" <= text[-1] <= "\udbff" else ""
        return well_formed(text[: len(text) - len(self._half)])

    def flush(self) -> str:
        """Return what was held back, at the end of the stream."""
        half, self._half = self._half, ""
        return well_formed(half)


def as_object(value: JsonValue) -> JsonObject:
    """Return the value if it is an object, otherwise an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: JsonValue) -> list[JsonValue]:
    """Return the value if it is a list, otherwise an empty one."""
    return value if isinstance(value, list) else []


def well_formed(text: str) -> str:
    """Return the text with U+FFFD for each half of a surrogate pair that lacks the other."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        # UTF-16 joins adjacent halves and replaces the others.
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def well_formed_json(value: JsonValue, *, depth: int = 0) -> JsonValue:
    """Return the value with every text well-formed, and null for numbers that JSON does not have.

    Raises NestedTooDeep.
    """
    match value:
        case str():
            return well_formed(value)
        case float():
            return value if math.isfinite(value) else None
        case list():
            return [well_formed_json(item, depth=_deeper(depth)) for item in value]
        case dict():
            return well_formed_object(value, depth=depth)
        case _:
            return value


def well_formed_object(value: JsonObject, *, depth: int = 0) -> JsonObject:
    """Return the object; see `well_formed_json`."""
    below = _deeper(depth)
    return {well_formed(name): well_formed_json(item, depth=below) for name, item in value.items()}


def each_text(value: JsonObject, change: Callable[[str], str]) -> JsonObject:
    """Return the object with each of its texts changed, except names."""

    def changed(item: JsonValue) -> JsonValue:
        match item:
            case str():
                return change(item)
            case list():
                return [changed(each) for each in item]
            case dict():
                return {name: changed(each) for name, each in item.items()}
            case _:
                return item

    return {name: changed(each) for name, each in value.items()}


def read_json(text: str, *, keep_halves: bool = False) -> JsonValue:
    """Decode the JSON, well-formed even if an escape in it is half a pair.

    keep_halves: keep such a half as it is; the next piece may hold the other one.
    Raises ValueError for invalid JSON, and NestedTooDeep.
    """
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        if "\\u" not in text:  # all that the stricter reader rejects in otherwise valid JSON
            raise
        value = _read_leniently(text)
        return value if keep_halves else well_formed_json(value)
    except RecursionError as error:
        raise NestedTooDeep from error


def read_in_threads(kind: type[Kind]) -> type[Kind]:
    """Make a Struct safe to be decoded by several threads, by having msgspec analyse its type now.

    It analyses a type on first use, and two threads that do so at the same moment crash
    the process (seen with 0.22: a segmentation fault in 93 of 150 small programs).
    """
    msgspec.json.Decoder(kind)
    return kind


def _read_leniently(text: str) -> JsonValue:
    try:
        return json.loads(text)
    except RecursionError as error:
        raise NestedTooDeep from error


def _deeper(depth: int) -> int:
    if depth >= DEPTH_MAX:
        raise NestedTooDeep
    return depth + 1
