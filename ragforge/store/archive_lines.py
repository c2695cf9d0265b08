"""Records as lines of JSON and back, exact for every value; the one place that knows their form.

The standard library writes and reads the text: msgspec's own refuses halves of a surrogate pair and whole
numbers above 64 bits, and turns NaN into null. What models and tools say holds all of them. msgspec checks
every field that is read.
"""

import base64
import binascii
import hashlib
import json
from array import array
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeVar, assert_never, cast

import msgspec
from msgspec import NODEFAULT, Struct

from ragforge.domain.derivations import Derived
from ragforge.domain.memories import (
    Association,
    Memory,
)
from ragforge.domain.messages import CallRequest, ModelMessage, parts_from_json, parts_to_json
from ragforge.domain.summaries import Summary
from ragforge.domain.turns import ConversationSession, Project, Step, ToolCall, Turn
from ragforge.domain.usage import Spent
from ragforge.domain.vectors import Embedding, Owner
from ragforge.domain.versions import Branch, CheckoutLog, Version
from ragforge.store.archive_items import Blob, Item
from ragforge.store.archive_shapes import (
    AssociationLine,
    BlobLine,
    BranchLine,
    CallPart,
    DerivedLine,
    EmbeddingLine,
    Line,
    MemoryLine,
    MessagePart,
    MoveLine,
    ProjectLine,
    SessionLine,
    SpentLine,
    StepLine,
    SummaryLine,
    ToolCallLine,
    TurnLine,
    VersionLine,
)
from ragforge.store.json_text import to_json


def to_line(item: Item) -> str:
    """The item as one line of JSON, without the line's end."""
    return to_json(_plain(item))


def from_plain(plain: object) -> Item:
    """The item of a line that was read as JSON. Raises ValueError for what is none."""
    try:
        return _item(msgspec.convert(plain, Line))
    except (KeyError, binascii.Error) as error:
        raise ValueError(f"a part of it cannot be read: {error}") from error


def canonical(item: Item) -> bytes:
    """Its JSON with keys in order and ASCII alone: the same whichever store it comes from."""
    return _IN_ORDER.encode(_plain(item)).encode("ascii")


_IN_ORDER = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


def fingerprint(item: Item) -> bytes:
    """SHA-256 of its canonical JSON."""
    return hashlib.sha256(canonical(item)).digest()


def exact_form(item: Item) -> bytes:
    """Bytes that are the same for the same record, whichever store it comes from, and differ for others.

    As `canonical`, in a third of the time: for what is compared here and now, and never kept.
    """
    try:
        return _EXACT.encode(_line(item))
    except (UnicodeEncodeError, OverflowError):
        # Halves of a surrogate pair, numbers above 64 bits. The first byte tells the two forms apart.
        return canonical(item)


def exact_print(item: Item) -> bytes:
    """SHA-256 of its exact form."""
    return hashlib.sha256(exact_form(item)).digest()


_EXACT = msgspec.msgpack.Encoder(order="sorted")


def sha256_hex(data: bytes) -> str:
    """The hash by which a content is kept."""
    return hashlib.sha256(data).hexdigest()


T = TypeVar("T")


def _plain(item: Item) -> dict[str, Any]:
    """The item as dictionaries, lists, texts and numbers."""
    return cast("dict[str, Any]", msgspec.to_builtins(_line(item)))


def _line(item: Item) -> dict[str, Any]:
    """The fields of its line. No struct is made of them, which would take as long as all the rest."""
    match item:
        case Project():
            return _as_line(ProjectLine, item)
        case ConversationSession():
            return _as_line(SessionLine, item)
        case Turn():
            return _as_line(TurnLine, item, user=parts_to_json(item.user))
        case Step():
            calls = [_fields(CallPart, call) for call in item.message.calls]
            return _as_line(StepLine, item, message=_fields(MessagePart, item.message, calls=calls))
        case ToolCall():
            return _as_line(ToolCallLine, item)
        case Summary():
            return _as_line(SummaryLine, item)
        case Memory():
            return _as_line(MemoryLine, item)
        case Association():
            return _as_line(AssociationLine, item, relation=item.kind)
        case Derived():
            return _as_line(DerivedLine, item, label=item.kind)
        case Spent():
            return _as_line(SpentLine, item)
        case Embedding():
            owner = item.owner
            of = {"owner_kind": owner.kind, "owner_id": owner.id}
            return _as_line(EmbeddingLine, item, **of, vector=_packed(item.vector))
        case Version():
            return _as_line(VersionLine, item)
        case Branch():
            return _as_line(BranchLine, item)
        case CheckoutLog():
            return _as_line(MoveLine, item)
        case Blob():
            return _as_line(BlobLine, item, data=base64.b64encode(item.data).decode("ascii"))
        case _:
            assert_never(item)


def _item(line: Line) -> Item:
    match line:
        case ProjectLine():
            return _record(Project, line)
        case SessionLine():
            return _record(ConversationSession, line)
        case TurnLine():
            return _record(Turn, line, user=parts_from_json(line.user))
        case StepLine():
            calls = tuple(_record(CallRequest, call) for call in line.message.calls)
            return _record(Step, line, message=_record(ModelMessage, line.message, calls=calls))
        case ToolCallLine():
            return _record(ToolCall, line)
        case SummaryLine():
            return _record(Summary, line)
        case MemoryLine():
            return _record(Memory, line)
        case AssociationLine():
            return Association(line.relation, line.from_id, line.to_id, _even_moment(line.at), line.turn)
        case DerivedLine():
            return _derived(line)
        case SpentLine():
            return _record(Spent, line)
        case EmbeddingLine():
            owner = Owner(line.owner_kind, line.owner_id)
            return Embedding(owner, line.model, line.text_hash, _unpacked(line.vector))
        case VersionLine():
            return _record(Version, line)
        case BranchLine():
            return _record(Branch, line)
        case MoveLine():
            return _record(CheckoutLog, line)
        case BlobLine():
            return Blob(line.digest, base64.b64decode(line.data, validate=True))
        case _:
            assert_never(line)


def _derived(line: DerivedLine) -> Derived:
    fields = _fields(DerivedLine, line)
    return Derived(kind=fields.pop("label"), **fields)


class _Shape(Struct, frozen=True):
    """The fields of a struct, and those that every store must give in one form."""

    names: tuple[str, ...]
    moments: tuple[str, ...]
    floats: tuple[str, ...]
    tag: str
    omitted: Mapping[str, object]
    """Fields that are left out where they have these values."""


_MOMENTS = tuple(
    field.type for field in msgspec.structs.fields(TurnLine) if field.name in ("started_at", "ended_at")
)
"""The type of a moment, and that of one that may be missing."""


@cache
def _shape(kind: type[Struct]) -> _Shape:
    types = {field.name: field.type for field in msgspec.structs.fields(kind)}
    return _Shape(
        tuple(types),
        tuple(name for name, type_ in types.items() if type_ in _MOMENTS),
        tuple(name for name, type_ in types.items() if type_ in (float, float | None)),
        str(kind.__struct_config__.tag or ""),
        _defaults(kind) if kind.__struct_config__.omit_defaults else {},
    )


def _defaults(kind: type[Struct]) -> dict[str, object]:
    """The values of the fields that have one of their own."""
    return {
        each.name: each.default if each.default_factory is NODEFAULT else each.default_factory()
        for each in msgspec.structs.fields(kind)
        if not each.required
    }


def _as_line(kind: type[Struct], value: object, **other: object) -> dict[str, Any]:
    """The line's fields, what kind of line it is first."""
    return {"kind": _shape(kind).tag, **_fields(kind, value, **other)}


def _record(kind: Callable[..., T], line: Struct, **other: object) -> T:
    """The inverse of `_as_line`."""
    return kind(**_fields(type(line), line, **other))


def _fields(kind: type[Struct], value: object, **other: object) -> dict[str, Any]:
    """The value's fields of the same names as the struct's, but for those given."""
    shape = _shape(kind)
    found: dict[str, Any] = {
        name: other[name] if name in other else getattr(value, name) for name in shape.names
    }
    for name in shape.moments:
        if (moment := found[name]) is not None:
            found[name] = _even_moment(moment)
    for name in shape.floats:
        if found[name] is not None:
            found[name] = float(found[name])
    for name, default in shape.omitted.items():
        if found[name] == default:
            del found[name]
    return found


def _even_moment(moment: datetime) -> datetime:
    """The moment in UTC and to the millisecond."""
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    beyond = moment.microsecond % 1000
    return moment.replace(microsecond=moment.microsecond - beyond) if beyond else moment


def _packed(vector: "array[float]") -> str:
    floats = array("f", vector)
    if _BIG_ENDIAN:
        floats.byteswap()
    return base64.b64encode(floats.tobytes()).decode("ascii")


def _unpacked(text: str) -> "array[float]":
    """Raises ValueError where the bytes are no whole number of floats."""
    floats = array("f")
    floats.frombytes(base64.b64decode(text, validate=True))
    if _BIG_ENDIAN:
        floats.byteswap()
    return floats


_BIG_ENDIAN = array("H", [1]).tobytes() == b"\0\1"
