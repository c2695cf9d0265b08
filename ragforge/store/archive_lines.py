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
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Final, TypeAlias, TypeVar, assert_never, cast

import msgspec
from msgspec import Meta, Struct

from ragforge.domain.messages import CallRequest, ImagePart, ModelMessage, parts_from_json, parts_to_json
from ragforge.domain.summaries import Summary, SummaryMethod
from ragforge.domain.turns import CallStatus, ConversationSession, Project, Step, ToolCall, Turn, TurnStatus
from ragforge.domain.usage import Usage
from ragforge.domain.vectors import Embedding, Owner, OwnerKind
from ragforge.store.base import Record, RecordKind
from ragforge.store.json_text import to_json

BLOB: Final = "blob"
"""The kind of a line that holds a content."""


@dataclass(frozen=True, slots=True)
class Blob:
    """A content with its SHA-256 in hex."""

    digest: str
    data: bytes


Item: TypeAlias = Record | Blob
"""What travels: a record, or a content that records refer to."""


def kind_of(item: Item) -> str:
    """The kind of its line: a RecordKind, or BLOB."""
    match item:
        case Project():
            return RecordKind.PROJECT
        case ConversationSession():
            return RecordKind.SESSION
        case Turn():
            return RecordKind.TURN
        case Step():
            return RecordKind.STEP
        case ToolCall():
            return RecordKind.TOOL_CALL
        case Summary():
            return RecordKind.SUMMARY
        case Embedding():
            return RecordKind.EMBEDDING
        case Blob():
            return BLOB
        case _:
            assert_never(item)


def key_of(record: Record) -> str:
    """The id by which `Archive.fetch` finds it among those of its kind."""
    match record:
        case Step():
            return f"{record.turn_id}/{record.index}"
        case Embedding():
            return f"{record.owner.kind}/{record.owner.id}"
        case _:
            return record.id


def blobs_of(record: Record) -> tuple[str, ...]:
    """The hashes of the contents that it refers to."""
    match record:
        case Turn():
            return tuple(part.blob for part in record.user if isinstance(part, ImagePart))
        case ToolCall():
            whole = () if record.result_blob is None else (record.result_blob,)
            return (*whole, *(image.blob for image in record.images))
        case _:
            return ()


def to_line(item: Item) -> str:
    """The item as one line of JSON, without the line's end."""
    return to_json(_plain(item))


def from_plain(plain: object) -> Item:
    """The item of a line that was read as JSON. Raises ValueError for what is none."""
    try:
        return _item(msgspec.convert(plain, _Line))
    except (KeyError, binascii.Error) as error:
        raise ValueError(f"a part of it cannot be read: {error}") from error


def canonical(item: Item) -> bytes:
    """Its JSON with keys in order and ASCII alone: the same whichever store it comes from."""
    return json.dumps(_plain(item), sort_keys=True, separators=(",", ":")).encode("ascii")


def fingerprint(item: Item) -> bytes:
    """SHA-256 of its canonical JSON."""
    return hashlib.sha256(canonical(item)).digest()


def sha256_hex(data: bytes) -> str:
    """The hash by which a content is kept."""
    return hashlib.sha256(data).hexdigest()


Moment: TypeAlias = Annotated[datetime, Meta(tz=True)]
Size: TypeAlias = Annotated[int, Meta(ge=0)]


class _Base(Struct, frozen=True, tag_field="kind", forbid_unknown_fields=True):
    """A line. Fields that this version does not know are refused: nothing is lost without a word."""


class _Project(_Base, frozen=True, tag=str(RecordKind.PROJECT)):
    id: str
    name: str
    created_at: Moment
    git_remote: str
    first_commit: str


class _Session(_Base, frozen=True, tag=str(RecordKind.SESSION)):
    id: str
    project_id: str
    cwd: str
    started_at: Moment
    last_activity_at: Moment
    title: str
    model: str
    mode: str
    head: str | None
    forked_from: str | None
    user: str
    host: str
    project_path: str


class _Turn(_Base, frozen=True, tag=str(RecordKind.TURN)):
    id: str
    session_id: str
    parent: str | None
    index: Size
    user: list[dict[str, Any]]
    started_at: Moment
    status: TurnStatus
    assistant: str
    model: str
    ended_at: Moment | None
    error: str
    usage: Usage
    cost_usd: float | None


class _Call(Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    name: str
    args: dict[str, Any]
    provider_id: str
    malformed: str


class _Message(Struct, frozen=True, forbid_unknown_fields=True):
    provider: str
    model: str
    text: str
    calls: list[_Call]
    native: dict[str, Any] | None
    thoughts: str


class _Step(_Base, frozen=True, tag=str(RecordKind.STEP)):
    turn_id: str
    index: Size
    message: _Message
    usage: Usage
    cost_usd: float | None
    interrupted: bool


class _ToolCall(_Base, frozen=True, tag=str(RecordKind.TOOL_CALL)):
    id: str
    turn_id: str
    step_index: Size
    position: Size
    name: str
    args: dict[str, Any]
    status: CallStatus
    result: str
    started_at: Moment
    duration_ms: int
    result_chars: Size
    result_blob: str | None
    diff: str
    images: tuple[ImagePart, ...]
    provider_id: str


class _Summary(_Base, frozen=True, tag=str(RecordKind.SUMMARY)):
    id: str
    project_id: str
    session_id: str
    level: Size
    text: str
    covers: tuple[str, ...]
    at: Moment
    turn_count: Size
    method: SummaryMethod
    model: str
    files: tuple[str, ...]
    findings: tuple[str, ...]
    tools: tuple[str, ...]
    topics: tuple[str, ...]
    constraints: tuple[str, ...]


class _Embedding(_Base, frozen=True, tag=str(RecordKind.EMBEDDING)):
    owner_kind: OwnerKind
    owner_id: str
    model: str
    text_hash: str
    vector: str
    """32-bit floats, least byte first, in base64."""


class _Blob(_Base, frozen=True, tag=BLOB):
    digest: str
    data: str


_Line: TypeAlias = _Project | _Session | _Turn | _Step | _ToolCall | _Summary | _Embedding | _Blob

S = TypeVar("S", bound=Struct)
T = TypeVar("T")


def _plain(item: Item) -> dict[str, Any]:
    """The item as dictionaries, lists, texts and numbers."""
    return cast("dict[str, Any]", msgspec.to_builtins(_line(item)))


def _line(item: Item) -> _Line:
    match item:
        case Project():
            return _struct(_Project, item)
        case ConversationSession():
            return _struct(_Session, item)
        case Turn():
            return _struct(_Turn, item, user=parts_to_json(item.user))
        case Step():
            calls = [_struct(_Call, call) for call in item.message.calls]
            return _struct(_Step, item, message=_struct(_Message, item.message, calls=calls))
        case ToolCall():
            return _struct(_ToolCall, item)
        case Summary():
            return _struct(_Summary, item)
        case Embedding():
            owner = item.owner
            return _Embedding(owner.kind, owner.id, item.model, item.text_hash, _packed(item.vector))
        case Blob():
            return _Blob(item.digest, base64.b64encode(item.data).decode("ascii"))
        case _:
            assert_never(item)


def _item(line: _Line) -> Item:
    match line:
        case _Project():
            return _record(Project, line)
        case _Session():
            return _record(ConversationSession, line)
        case _Turn():
            return _record(Turn, line, user=parts_from_json(line.user))
        case _Step():
            calls = tuple(_record(CallRequest, call) for call in line.message.calls)
            return _record(Step, line, message=_record(ModelMessage, line.message, calls=calls))
        case _ToolCall():
            return _record(ToolCall, line)
        case _Summary():
            return _record(Summary, line)
        case _Embedding():
            owner = Owner(line.owner_kind, line.owner_id)
            return Embedding(owner, line.model, line.text_hash, _unpacked(line.vector))
        case _Blob():
            return Blob(line.digest, base64.b64decode(line.data, validate=True))
        case _:
            assert_never(line)


def _struct(kind: type[S], value: object, **other: object) -> S:
    """The value's fields of the same names as the line's, but for those given."""
    return kind(**_fields(kind.__struct_fields__, value) | other)


def _record(kind: Callable[..., T], line: Struct, **other: object) -> T:
    """The inverse of `_struct`."""
    return kind(**_fields(line.__struct_fields__, line) | other)


def _fields(names: Iterable[str], value: object) -> dict[str, Any]:
    return {name: _even(name, getattr(value, name)) for name in names}


def _even(name: str, value: object) -> object:
    """The value in the one form that it has in every store."""
    match value:
        case datetime():
            moment = value.astimezone(UTC)
            return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
        case int() if name == "cost_usd":
            return float(value)
        case _:
            return value


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
