"""The lines of a backup, kind by kind: names and types of their fields."""

from datetime import datetime
from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct, field

from ragforge.domain.derivations import DerivedOwner
from ragforge.domain.memories import AssociationKind, MemoryScope, MemorySource, MemoryType
from ragforge.domain.messages import ImagePart
from ragforge.domain.summaries import SummaryMethod
from ragforge.domain.turns import CallStatus, TurnStatus
from ragforge.domain.usage import Purpose, Usage
from ragforge.domain.vectors import OwnerKind
from ragforge.domain.versions import Change, MoveAction, Node, Uncovered
from ragforge.store.archive_items import BLOB
from ragforge.store.base import RecordKind

Moment: TypeAlias = Annotated[datetime, Meta(tz=True)]
Size: TypeAlias = Annotated[int, Meta(ge=0)]


class _Base(Struct, frozen=True, tag_field="kind", forbid_unknown_fields=True):
    """A line. Fields that this version does not know are refused: nothing is lost without a word."""


class ProjectLine(_Base, frozen=True, tag=str(RecordKind.PROJECT)):
    """A project."""

    id: str
    name: str
    created_at: Moment
    git_remote: str
    first_commit: str


class SessionLine(_Base, frozen=True, tag=str(RecordKind.SESSION)):
    """A session."""

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


class TurnLine(_Base, frozen=True, tag=str(RecordKind.TURN)):
    """A turn."""

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


class CallPart(Struct, frozen=True, forbid_unknown_fields=True):
    """A request within a message."""

    id: str
    name: str
    args: dict[str, Any]
    provider_id: str
    malformed: str


class MessagePart(Struct, frozen=True, forbid_unknown_fields=True):
    """What a model said."""

    provider: str
    model: str
    text: str
    calls: list[CallPart]
    native: dict[str, Any] | None
    thoughts: str


class StepLine(_Base, frozen=True, tag=str(RecordKind.STEP)):
    """A step."""

    turn_id: str
    index: Size
    message: MessagePart
    usage: Usage
    cost_usd: float | None
    interrupted: bool


class ToolCallLine(_Base, frozen=True, tag=str(RecordKind.TOOL_CALL)):
    """A tool call."""

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


class SummaryLine(_Base, frozen=True, tag=str(RecordKind.SUMMARY)):
    """A summary."""

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


class MemoryLine(_Base, frozen=True, tag=str(RecordKind.MEMORY)):
    """Without what is read from other records: whether it is replaced, and whether it is left."""

    id: str
    type: MemoryType
    content: str
    project_id: str
    session_id: str
    scope: MemoryScope
    importance: float
    created_at: Moment
    updated_at: Moment
    confidence: float
    topic: str
    source: MemorySource
    turns: tuple[str, ...]
    accessed_at: Moment | None
    access_count: Size
    forgotten_at: Moment | None


class AssociationLine(_Base, frozen=True, tag=str(RecordKind.ASSOCIATION)):
    """A link between memories."""

    relation: AssociationKind
    """`kind` is what the line itself is."""
    from_id: str
    to_id: str
    at: Moment
    turn: str = ""


class DerivedLine(_Base, frozen=True, tag=str(RecordKind.DERIVED)):
    """A derived record."""

    label: str
    """`kind` is what the line itself is."""
    owner_kind: DerivedOwner
    owner: str
    project_id: str
    at: Moment
    data: dict[str, Any]
    model: str
    hash: str
    relation: str
    name: str
    forgotten_at: Moment | None


class SpentLine(_Base, frozen=True, tag=str(RecordKind.SPENT)):
    """A model call that is no step."""

    id: str
    project_id: str
    session_id: str
    at: Moment
    model: str
    purpose: Purpose
    usage: Usage
    cost_usd: float | None


class EmbeddingLine(_Base, frozen=True, tag=str(RecordKind.EMBEDDING)):
    """A vector with its owner."""

    owner_kind: OwnerKind
    owner_id: str
    model: str
    text_hash: str
    vector: str
    """32-bit floats, least byte first, in base64."""


class VersionLine(_Base, frozen=True, tag=str(RecordKind.VERSION)):
    """A version with its changes."""

    id: str
    project_id: str
    parents: tuple[str, ...]
    at: Moment
    by: str
    changes: tuple[Change, ...]
    session_id: str
    turn_id: str
    title: str
    label: str
    note: str
    words: str
    uncovered: tuple[Uncovered, ...]
    lines_added: Size
    lines_removed: Size
    usage: Usage
    cost_usd: float | None
    duration_ms: int


class BranchLine(_Base, frozen=True, tag=str(RecordKind.BRANCH)):
    """A branch."""

    project_id: str
    name: str
    version_id: str
    at: Moment


class MoveLine(_Base, frozen=True, omit_defaults=True, tag=str(RecordKind.MOVE)):
    """A move of the heads. What the second format did not have is left out where a move has none of it."""

    id: str
    project_id: str
    session_id: str
    action: MoveAction
    at: Moment
    from_version: str
    to_version: str
    from_turn: str
    to_turn: str
    turns: tuple[str, ...] = ()
    undoes: str = ""
    kept: dict[str, Node | None] | None = None
    aside: dict[str, Node | None] = field(default_factory=dict[str, Node | None])
    command_id: str = ""


class BlobLine(_Base, frozen=True, tag=BLOB):
    """A content, in base64."""

    digest: str
    data: str


Line: TypeAlias = (
    ProjectLine
    | SessionLine
    | TurnLine
    | StepLine
    | ToolCallLine
    | SummaryLine
    | MemoryLine
    | AssociationLine
    | DerivedLine
    | EmbeddingLine
    | SpentLine
    | VersionLine
    | BranchLine
    | MoveLine
    | BlobLine
)
"""Any line but the first and the last."""
