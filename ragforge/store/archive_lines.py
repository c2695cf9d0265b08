"""Records as lines of JSON and back, exact for every value; the only place that knows their form.

The standard library encodes and decodes the text: msgspec rejects halves of a surrogate pair and integers
above 64 bits, and turns NaN into null, all of which occur in the output of models and tools. msgspec
validates every field that is read.
"""

import base64
import binascii
import hashlib
import json
from array import array
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from operator import attrgetter
from types import MappingProxyType
from typing import Annotated, Any, Union, cast, get_args

import msgspec
from msgspec import Meta, Struct, field
from msgspec.structs import FieldInfo, replace

from ragforge.domain.json import JsonObject
from ragforge.domain.messages import CallRequest, ModelMessage, Parts, parts_from_json, parts_to_json
from ragforge.domain.records import Description
from ragforge.domain.vectors import Owner, Vector
from ragforge.store.archive_items import BLOB, DESCRIPTIONS, Blob, Item, kind_of
from ragforge.store.json_text import to_json
from ragforge.store.layouts import Form, Layout, Part, default_of, form_of


def to_line(item: Item) -> str:
    """Return the item as one line of JSON, without the line's end."""
    return to_json(_plain(item))


def from_line(line: str) -> Item:
    """Return the item of a line that `to_line` wrote. Raises ValueError for anything else."""
    return from_plain(json.loads(line))


def from_plain(plain: object) -> Item:
    """Return the item of a line that was decoded as JSON. Raises ValueError for anything else."""
    try:
        line = msgspec.convert(plain, _ANY)
        return _LINES[_KINDS[type(line)]].item(line)
    except (KeyError, binascii.Error) as error:
        raise ValueError(f"a part of it cannot be read: {error}") from error


def canonical(item: Item) -> bytes:
    """Return its JSON with sorted keys, in ASCII: the same from any store."""
    return _IN_ORDER.encode(_plain(item)).encode("ascii")


_IN_ORDER = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


def fingerprint(item: Item) -> bytes:
    """Return the SHA-256 of its canonical JSON."""
    return hashlib.sha256(canonical(item)).digest()


def exact_form(item: Item) -> bytes:
    """Return bytes that are the same for the same record from any store, and differ for others.

    Like `canonical`, in a third of the time: for comparisons within one process, never stored.
    """
    try:
        return _EXACT.encode(_line(item))
    except (UnicodeEncodeError, OverflowError):
        # Halves of a surrogate pair, numbers above 64 bits. The first byte tells the two forms apart.
        return canonical(item)


def exact_print(item: Item) -> bytes:
    """Return the SHA-256 of its exact form."""
    return hashlib.sha256(exact_form(item)).digest()


_EXACT = msgspec.msgpack.Encoder(order="sorted")


def sha256_hex(data: bytes) -> str:
    """Return the hash by which a content is stored."""
    return hashlib.sha256(data).hexdigest()


def _plain(item: Item) -> dict[str, Any]:
    """Return the item as dictionaries, lists, texts and numbers."""
    return cast("dict[str, Any]", msgspec.to_builtins(_line(item)))


def _line(item: Item) -> dict[str, Any]:
    """Yield the fields of its line, the kind of line first.

    No struct is made of them, which would take as long as everything else.
    """
    shape = _LINES[kind_of(item)]
    line = {"kind": shape.kind, **dict(zip(shape.layout.names, shape.layout.values(item), strict=True))}
    for name, default in shape.omitted.items():
        if line[name] == default:
            del line[name]
    return line


def _even_moment(moment: datetime) -> datetime:
    """Return the moment in UTC, to the millisecond."""
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    beyond = moment.microsecond % 1000
    return moment.replace(microsecond=moment.microsecond - beyond) if beyond else moment


def _to_base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _from_base64(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _packed(vector: "array[float]") -> str:
    floats = array("f", vector)
    if _BIG_ENDIAN:
        floats.byteswap()
    return _to_base64(floats.tobytes())


def _unpacked(text: str) -> "array[float]":
    """Raise ValueError if the bytes are not a whole number of floats."""
    floats = array("f")
    floats.frombytes(_from_base64(text))
    if _BIG_ENDIAN:
        floats.byteswap()
    return floats


_BIG_ENDIAN = array("H", [1]).tobytes() == b"\0\1"


class _Shape(Struct, frozen=True):
    """The names and types of a struct's fields in JSON: all are required, and no others are allowed."""

    layout: Layout[Any]
    type: type[Struct]
    kind: str = ""
    """The kind of line, if it has one."""
    omitted: Mapping[str, object] = field(default_factory=dict[str, object])
    """Fields that are omitted if they have this value."""

    def item(self, line: Struct) -> Any:
        """Return the item of a line of this type."""
        return self.layout.record(attrgetter(*self.layout.names)(line))


def _line_shape(description: Description[Any]) -> _Shape:
    """Return the shape of a record's line."""
    shape = _shape(
        description.struct,
        description.kept,
        kind=str(description.kind),
        called=description.line,
        later=description.later,
        signed=description.signed,
    )
    omitted = {
        each.name: default_of(each)
        for each in description.kept
        if each.name in description.later and each.name not in description.always
    }
    return replace(shape, omitted=omitted)


def _shape(
    struct: type[Struct],
    kept: Sequence[FieldInfo] = (),
    *,
    kind: str = "",
    called: Mapping[str, str] = MappingProxyType({}),
    later: Collection[str] = (),
    signed: Collection[str] = (),
) -> _Shape:
    """Return the shape of these fields of the struct, or of all. See `Description`."""
    fields = kept or msgspec.structs.fields(struct)
    forms = {each.name: form_of(each, FORMS) for each in fields}
    layout = Layout(struct, forms, lambda name: called.get(name, name))
    found: list[tuple[Any, ...]] = []
    for each in fields:
        parts = forms[each.name].parts
        types = {inner.name: inner.type for inner in msgspec.structs.fields(each.type)} if parts else {}
        found += [(part.name, types[part.path]) for part in parts]
        if not parts:
            type_ = int if each.name in signed else _type(each.type)
            default = (default_of(each),) if each.name in later else ()
            found.append((called.get(each.name, each.name), type_, *default))
    tag: Any = {"tag_field": "kind", "tag": kind} if kind else {}
    made = msgspec.defstruct(
        f"{struct.__name__}Line", found, frozen=True, kw_only=True, forbid_unknown_fields=True, **tag
    )
    return _Shape(layout, made, kind)


def _type(of: Any) -> Any:
    """Return the type for validating JSON."""
    if of in TYPES:
        return TYPES[of]
    inner = [each for each in get_args(of) if each is not type(None)]
    return TYPES[inner[0]] | None if len(inner) == 1 and inner[0] in TYPES else of


_LATER = ("searched",)
"""Fields of a message that were added later."""


def _message_line(message: ModelMessage) -> dict[str, Any]:
    """Omit empty fields that were added later: older programs can read it, and the sum stays the same."""
    line = cast("dict[str, Any]", msgspec.to_builtins(message))
    return {name: value for name, value in line.items() if name not in _LATER or getattr(message, name)}


def _message(line: Any) -> ModelMessage:
    return _MESSAGE.item(line)


def _calls(lines: Any) -> tuple[CallRequest, ...]:
    return tuple(_CALL.item(each) for each in lines)


FORMS: Mapping[object, Form] = {
    datetime: Form(_even_moment, _even_moment),
    float: Form(float, float),
    Parts: Form(parts_to_json, parts_from_json),
    tuple[CallRequest, ...]: Form(of=_calls),
    ModelMessage: Form(_message_line, _message),
    Owner: Form(of=Owner, parts=(Part("owner_kind", "kind"), Part("owner_id", "id"))),
    Vector: Form(_packed, _unpacked),
    bytes: Form(_to_base64, _from_base64),
}
"""Values that differ between a line and its record."""

TYPES: dict[object, Any] = {
    datetime: Annotated[datetime, Meta(tz=True)],
    int: Annotated[int, Meta(ge=0)],
    Parts: list[dict[str, Any]],
    JsonObject: dict[str, Any],
    Vector: str,
    bytes: str,
}
"""Types that differ between a line and its record."""

_CALL = _shape(CallRequest)
TYPES[tuple[CallRequest, ...]] = list[_CALL.type]
_MESSAGE = _shape(ModelMessage, later=_LATER)
TYPES[ModelMessage] = _MESSAGE.type
_LINES = {str(kind): _line_shape(each) for kind, each in DESCRIPTIONS.items()}
_LINES[BLOB] = _shape(Blob, kind=BLOB)
_KINDS = {each.type: kind for kind, each in _LINES.items()}
_ANY: Any = Union[tuple(_KINDS)]  # noqa: UP007 (made while the program runs)
