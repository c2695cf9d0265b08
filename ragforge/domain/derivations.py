"""Derived records, of any kind: derived from a turn, a session or a project.

A record itself says what the graph shows of it, so a new kind needs no SQL and no Cypher, and a backup can be
restored where its kind is unknown.
"""

import hashlib
import json
import re
from datetime import datetime
from enum import StrEnum
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain.errors import UsageError
from ragforge.domain.json import JsonObject, NestedTooDeep, well_formed, well_formed_object
from ragforge.domain.records import Description, RecordKind
from ragforge.domain.redact import Redactor

T = TypeVar("T", bound=Struct)

DERIVED_FROM = "DERIVED_FROM"
DATA_CHARS_MAX = 200_000
NAME_CHARS_MAX = 200

_LABEL = re.compile(r"[A-Z][A-Za-z0-9]{0,62}")
_RELATION = re.compile(r"[A-Z][A-Z0-9_]{0,62}")

LABELS = frozenset(
    {
        *("Project", "ConversationSession", "ConversationTurn", "ConversationStep", "ToolCall"),
        *("ConversationSummary", "Memory", "Usage", "Version", "Branch", "CheckoutLog", "Derived", "Person"),
        *("RagforgeDatabase", "RagforgeMigration", "RagforgeLease"),
    }
)
"""Labels of the graph that no kind may use: a record would be mistaken for one of theirs."""
RELATIONS = frozenset(
    {
        *("HAS_SESSION", "HAS_TURN", "NEXT", "HAS_TOOL_CALL", "PART_OF", "HAS_SUMMARY", "SUMMARIZES"),
        *("HAS_MEMORY", "EVIDENCE", "UPDATES", "CONTRADICTS", "SUPPORTS", "RELATES_TO", "CAUSED_BY"),
        *("HAS_VERSION", "PARENT", "MADE_IN", "HAS_BRANCH", "POINTS_TO", "HAS_MOVE", "WROTE"),
    }
)
"""Relationships of the graph that no kind may use."""


class DerivedOwner(StrEnum):
    """What a record can be derived from."""

    PROJECT = "project"
    SESSION = "session"
    TURN = "turn"


class Derived(Struct, frozen=True):
    """A record derived from one owner. A newer one of the same kind, owner and name replaces it."""

    kind: str
    """A label in the graph, such as `Foresight`."""
    owner_kind: DerivedOwner
    owner: str
    """The owner's id. The record is deleted with it."""
    project_id: str
    at: datetime
    """The owner's last change that it includes: the end of a turn, else the last activity."""
    data: JsonObject
    """Its texts, numbers and lists of them are properties in the graph, `open_files` as `openFiles`."""
    model: str = ""
    """The model that made it; empty for rules."""
    hash: str = ""
    """The hash of how it was made, such as its instructions: if that changes, the record is rebuilt."""
    relation: str = DERIVED_FROM
    """The relationship to its owner in the graph."""
    name: str = ""
    """Distinguishes records of one kind, if an owner may have several."""
    forgotten_at: datetime | None = None
    """A forgotten record is kept, is not rebuilt, and can be restored."""

    @property
    def id(self) -> str:
        """`KIND/OWNER_KIND/OWNER`, and `/NAME` if it has one."""
        return "/".join([self.kind, self.owner_kind, self.owner, *([self.name] if self.name else [])])


DERIVED = Description(
    RecordKind.DERIVED,
    Derived,
    refers={"project_id": RecordKind.PROJECT},  # and its owner, of any kind
    properties={"owner": "ownerId", "at": "timestamp"},
    line={"kind": "label"},  # `kind` is the kind of the line itself
    texts=("data",),
)


def replaces(new: Derived, old: Derived) -> bool:
    """Whether it replaces the one with its id: it is as new, and rules do not replace a model's."""
    by_rules = bool(old.model and not new.model and old.hash == new.hash)
    return new.at > old.at or (new.at == old.at and not by_rules)


class DerivedKind(Struct, Generic[T], frozen=True):
    """The description of a kind."""

    label: str
    data: type[T]
    """The fields of `Derived.data`."""
    owner: DerivedOwner = DerivedOwner.TURN
    relation: str = DERIVED_FROM
    recipe: str = ""
    """How it is made, such as the text of its instructions. Another text rebuilds all records."""

    @property
    def hash(self) -> str:
        """The hash of the fields and the recipe."""
        schema = json.dumps(msgspec.json.schema(self.data), sort_keys=True)
        return hashlib.sha256(f"{schema}\n{self.recipe}".encode()).hexdigest()[:32]

    def record(self, source: "Underived", data: T, *, model: str = "", name: str = "") -> Derived:
        return Derived(
            kind=self.label,
            owner_kind=self.owner,
            owner=source.owner,
            project_id=source.project_id,
            at=source.at,
            data=self.data_of(data),
            model=model,
            hash=self.hash,
            relation=self.relation,
            name=name,
        )

    def data_of(self, data: T) -> JsonObject:
        """The data as a record holds it."""
        return msgspec.to_builtins(data)

    def read(self, record: Derived) -> T | None:
        """The data of a record; None for one that another version made otherwise."""
        try:
            return msgspec.convert(record.data, self.data)
        except ValueError:
            return None

    def clean(self, data: T, redactor: Redactor) -> T:
        """The data as a store keeps it, without secrets."""
        return msgspec.convert(redactor.fields(_as_json(self.data_of(data))[0]), self.data)


class Underived(Struct, frozen=True):
    """An owner that lacks a record."""

    owner: str
    project_id: str
    at: datetime
    """Its last change."""


class UnderivedFilter(Struct, frozen=True):
    """Which owners lack a record of a kind."""

    kind: DerivedKind[Any]
    model: str | None = None
    """What made the record; None means anything."""
    project_id: str | None = None
    """None means every project's."""
    archived: bool = False
    """Only archived sessions."""
    untouched_since: datetime | None = None
    """Only sessions without activity since this moment."""
    limit: int = 100


class DerivedFilter(Struct, frozen=True):
    """Which records of a kind. The defaults are what may be shown and given to a model."""

    kind: str
    project_id: str | None = None
    """None means every project's."""
    owners: tuple[str, ...] = ()
    """Empty means all."""
    forgotten: bool = False
    """Include forgotten ones."""
    abandoned: bool = False
    """Include those of abandoned turns."""
    limit: int = 100


def as_kept(record: Derived) -> Derived:
    """Return the record as every store keeps it. Raises UsageError if it cannot be stored."""
    if not _LABEL.fullmatch(record.kind) or record.kind in LABELS:
        raise UsageError(f"{record.kind!r} cannot be a kind of record. Name it like Foresight.")
    if not _RELATION.fullmatch(record.relation) or record.relation in RELATIONS:
        raise UsageError(f"{record.relation!r} cannot be the relationship of a {record.kind}.")
    if len(record.name) > NAME_CHARS_MAX:
        raise UsageError(f"The name of a {record.kind} has at most {NAME_CHARS_MAX} characters.")
    try:
        data, chars = _as_json(record.data)
    except (NestedTooDeep, RecursionError, TypeError) as error:
        raise UsageError(f"The data of a {record.kind} cannot be kept: {error}.") from error
    if chars > DATA_CHARS_MAX:
        raise UsageError(
            f"A {record.kind} holds at most {DATA_CHARS_MAX:,} characters, and this has {chars:,}."
        )
    return replace(record, data=data, name=well_formed(record.name), model=well_formed(record.model))


def _as_json(data: JsonObject) -> tuple[JsonObject, int]:
    """Return the data as JSON has it: tuples as lists, characters unescaped.

    A search for secrets in it knows nothing else.
    """
    text = json.dumps(data)
    return well_formed_object(json.loads(text)), len(text)
