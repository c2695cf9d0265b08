"""The items of backups and copies: records and contents, and their identifiers."""

from collections.abc import Mapping
from operator import attrgetter
from typing import Any, Final, TypeAlias

from msgspec import Struct

from ragforge.domain.derivations import DERIVED, Derived
from ragforge.domain.memories import ASSOCIATION, MEMORY
from ragforge.domain.messages import blobs_in
from ragforge.domain.records import Description, RecordKind
from ragforge.domain.summaries import SUMMARY
from ragforge.domain.turns import PROJECT, SESSION, STEP, TOOL_CALL, TURN, ToolCall, Turn
from ragforge.domain.usage import SPENT
from ragforge.domain.vectors import EMBEDDING, Embedding
from ragforge.domain.versions import BRANCH, MOVE, VERSION, Version
from ragforge.store.base import Record

BLOB: Final = "blob"
"""The kind of a line with a content."""


class Blob(Struct, frozen=True):
    """A content with its SHA-256 in hex."""

    digest: str
    data: bytes


Item: TypeAlias = "Record | Blob"
"""An item: a record, or a content that records refer to."""


DESCRIPTIONS: Mapping[RecordKind, Description[Any]] = {
    each.kind: each
    for each in (
        *(PROJECT, SESSION, TURN, STEP, TOOL_CALL, SUMMARY, MEMORY, ASSOCIATION, DERIVED, EMBEDDING),
        *(SPENT, VERSION, BRANCH, MOVE),
    )
}
"""The kinds of records, in the order in which they refer to each other."""

_BY_TYPE = {each.struct: each for each in DESCRIPTIONS.values()}


def kind_of(item: Item) -> str:
    """The kind of its line: a RecordKind, or BLOB."""
    return BLOB if isinstance(item, Blob) else _BY_TYPE[type(item)].kind


def key_of(record: Record) -> str:
    """The id by which `Archive.fetch` finds it among those of its kind."""
    *first, last = (str(attrgetter(part)(record)) for part in _BY_TYPE[type(record)].key)
    # The id of a link between memories that was said in no turn omits the turn.
    return "/".join([*first, last] if last or not first else first)


def references(record: Record) -> list[tuple[RecordKind, str]]:
    """What must be stored before it, by kind and id."""
    found: list[tuple[RecordKind, str]] = []
    if isinstance(record, Embedding):
        found.append((RecordKind(record.owner.kind), record.owner.id))
    elif isinstance(record, Derived):
        found.append((RecordKind(record.owner_kind), record.owner))
    for field, kind in _BY_TYPE[type(record)].refers.items():
        ids: str | tuple[str, ...] | None = getattr(record, field)
        found += [(kind, each) for each in (ids if isinstance(ids, tuple) else (ids,)) if each]
    return found


def blobs_of(record: Record) -> tuple[str, ...]:
    """The hashes of the contents that it refers to."""
    match record:
        case Turn():
            return blobs_in(record.user)
        case ToolCall():
            whole = () if record.result_blob is None else (record.result_blob,)
            return (*whole, *(image.blob for image in record.images))
        case Version():
            nodes = (node for change in record.changes for node in (change.before, change.after))
            # An empty folder has no content.
            return tuple(node.digest for node in nodes if node is not None and node.digest)
        case _:
            return ()
