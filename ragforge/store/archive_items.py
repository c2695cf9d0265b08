"""What travels in backups and copies: records and contents, and what each is called."""

from typing import Final, TypeAlias, assert_never

from msgspec import Struct

from ragforge.domain.derivations import Derived
from ragforge.domain.memories import Association, Memory
from ragforge.domain.messages import ImagePart
from ragforge.domain.summaries import Summary
from ragforge.domain.turns import ConversationSession, Project, Step, ToolCall, Turn
from ragforge.domain.usage import Spent
from ragforge.domain.vectors import Embedding
from ragforge.domain.versions import Branch, CheckoutLog, Version
from ragforge.store.base import Record, RecordKind

BLOB: Final = "blob"
"""The kind of a line that holds a content."""


class Blob(Struct, frozen=True):
    """A content with its SHA-256 in hex."""

    digest: str
    data: bytes


Item: TypeAlias = "Record | Blob"
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
        case Memory():
            return RecordKind.MEMORY
        case Association():
            return RecordKind.ASSOCIATION
        case Derived():
            return RecordKind.DERIVED
        case Embedding():
            return RecordKind.EMBEDDING
        case Spent():
            return RecordKind.SPENT
        case Version():
            return RecordKind.VERSION
        case Branch():
            return RecordKind.BRANCH
        case CheckoutLog():
            return RecordKind.MOVE
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
        case Association():
            ends = f"{record.kind}/{record.from_id}/{record.to_id}"
            return f"{ends}/{record.turn}" if record.turn else ends
        case Branch():
            return f"{record.project_id}/{record.name}"
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
        case Version():
            nodes = (node for change in record.changes for node in (change.before, change.after))
            # Of an empty folder there is no content.
            return tuple(node.digest for node in nodes if node is not None and node.digest)
        case _:
            return ()
