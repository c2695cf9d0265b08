"""Typed memories: what is worth knowing for long, each in a sentence or two."""

import hashlib
import unicodedata
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from ragforge.domain.json import well_formed
from ragforge.domain.records import Description, RecordKind
from ragforge.domain.vectors import Vector


class MemoryType(StrEnum):
    """What a memory is about."""

    IDENTITY = "identity"
    """Who the user or the project is."""
    GOAL = "goal"
    DECISION = "decision"
    TODO = "todo"
    PREFERENCE = "preference"
    FACT = "fact"
    EVENT = "event"
    OBSERVATION = "observation"


PERSONAL = frozenset({MemoryType.IDENTITY, MemoryType.PREFERENCE})
"""Types that belong to whoever says them; all others belong to everybody."""

IMPORTANCE: Mapping[MemoryType, float] = {
    MemoryType.IDENTITY: 1.0,
    MemoryType.GOAL: 0.9,
    MemoryType.DECISION: 0.8,
    MemoryType.TODO: 0.8,
    MemoryType.PREFERENCE: 0.7,
    MemoryType.FACT: 0.6,
    MemoryType.EVENT: 0.4,
    MemoryType.OBSERVATION: 0.3,
}
"""The default importance of a memory, from 0 to 1."""

MEMORY_CHARS_MAX = 2_000
"""A memory is a statement, not a document."""


FORGOTTEN_MAX = 10_000
"""How many forgotten memories are considered, the newest first."""


class MemoryScope(StrEnum):
    """Where a memory applies; its owner says whose it is."""

    SESSION = "session"
    PROJECT = "project"
    GLOBAL = "global"


class MemorySource(StrEnum):
    """Who made it."""

    BACKGROUND = "background"
    """Found in a turn after it ended, by a model or by rules."""
    MODEL = "model"
    """Saved by the model during a turn, through its tool."""
    USER = "person"
    """Added by the user with a command. It is based on no turn: an undo never removes it."""


class Strength(StrEnum):
    """How strictly a wish binds; empty for other memories."""

    NONE = ""
    SHOULD = "should"
    MUST = "must"
    """A constraint: each call that violates it is asked about."""


STRENGTHS = tuple(Strength)
"""From the least to the most binding."""


class WishKind(StrEnum):
    """What kind of wish a memory is."""

    PREFERENCE = "preference"
    INTENT = "intent"
    CONSTRAINT = "constraint"


INTENTS = frozenset({MemoryType.GOAL, MemoryType.TODO})

WISHES_COUNTED_MAX = 10_000
CONCEPT_CANDIDATES_MAX = 200


class WishCount(Struct, frozen=True):
    """How many wishes of one kind there are, how many calls they stopped, and how many ran against them."""

    number: int = 0
    held: int = 0
    broken: int = 0


class ExtractionCount(Struct, frozen=True):
    """How many memories were extracted, and how many of these the user left as they are."""

    kept: int
    right: int


class MemoryOrigin(StrEnum):
    """The origin of memories, in words. Older ones say `told by a command` or `found in a turn`."""

    SAID = "you said it"
    ANSWER = "from the answer"
    TOOL = "from a tool's output"
    SAID_SAVED = "you said it, saved by the model"
    SEEN = "seen by the model in a file or an output"
    CONCLUDED = "concluded by the model"
    MODEL = "saved by the model"
    REMEMBER = "/remember"
    ADD = "ragforge memory add"
    EDIT = "edited by you"


class Period(Struct, frozen=True):
    """A time in which a memory is valid; valid_to: None if no end is known."""

    valid_from: datetime
    valid_to: datetime | None = None

    def holds_at(self, at: datetime) -> bool:
        """Whether it contains the moment."""
        return self.valid_from <= at and (self.valid_to is None or at < self.valid_to)


class Memory(Struct, frozen=True):
    """A statement, where it applies, whose it is and what it is based on.

    The id follows from where it applies, whose it is and its normalised text (`memory_id`): equal text is one
    memory. An edit of the text is therefore a new memory that `updates` the old one. A new owner changes no
    id.
    """

    id: str
    type: MemoryType
    content: str
    project_id: str
    """The project it was made in, even if global."""
    session_id: str
    """The session it was made in; empty if none was open."""
    scope: MemoryScope
    importance: float
    created_at: datetime
    """The conversation's time, never the run's."""
    updated_at: datetime
    confidence: float = 1.0
    topic: str = ""
    source: MemorySource = MemorySource.BACKGROUND
    turns: tuple[str, ...] = ()
    """Ids of the turns it is based on, oldest first; none if the user added it by a command."""
    accessed_at: datetime | None = None
    """When it was last given to a model or opened by the user."""
    access_count: int = 0
    forgotten_at: datetime | None = None
    """Forgotten memories are kept, found only on request, and can be restored."""
    owner: str = ""
    """The id of the `Person` it belongs to: no other user's model gets it. Empty for everybody's."""
    valid_from: datetime | None = None
    """Since when it is valid, or was last; None for since its creation."""
    valid_to: datetime | None = None
    """Until when: another one replaced it, or its words name the day. None if no end is known."""
    origin: str = ""
    """The origin, for a user: one of `MemoryOrigin`, or the words of whoever made it. If it was said several
    times, the first origin, or where the user said it."""
    strength: Strength = Strength.NONE
    applies_to: tuple[str, ...] = ()
    """Paths, commands and words that it is about, each exactly as the user said it."""
    said: int = 1
    """In how many sessions it was said."""
    held: int = 0
    """How many calls it has stopped."""
    broken: int = 0
    """How many calls ran against it."""
    replaced: bool = False
    """Another memory that is neither forgotten nor abandoned `updates` it, and it has replaced none since;
    links of abandoned turns do not count. Read from the associations; `save` ignores it."""
    abandoned: bool = False
    """All turns it is based on are abandoned (see `Turns`); never for memories added by the user. Read from
    the tree; `save` ignores it."""

    @property
    def weight(self) -> float:
        """Its importance, multiplied by one more than its uses."""
        return self.importance * (1 + self.access_count)


MEMORY = Description(
    RecordKind.MEMORY,
    Memory,
    refers={"project_id": RecordKind.PROJECT},  # a memory survives its sessions and turns
    columns={"session_id": "session", "owner": "owned_by"},
    properties={
        **{"created_at": "created", "updated_at": "updated", "accessed_at": "lastAccessed"},
        **{"turns": "evidence"},
    },
    later=(
        *("owner", "valid_from", "valid_to", "origin"),
        *("strength", "applies_to", "said", "held", "broken"),
    ),
    derived=("replaced", "abandoned"),
)


def wish_kind(memory: Memory) -> WishKind | None:
    """The kind of wish that the memory is, or None for other memories."""
    if memory.strength is Strength.MUST:
        return WishKind.CONSTRAINT
    if memory.type in INTENTS:
        return WishKind.INTENT
    return WishKind.PREFERENCE if memory.type is MemoryType.PREFERENCE else None


def marks_of(memory: Memory) -> list[str]:
    """Why it is not given to a model."""
    marks = {
        "forgotten": memory.forgotten_at is not None,
        "replaced": memory.replaced,
        "undone": memory.abandoned,
    }
    return [mark for mark, holds in marks.items() if holds]


class AssociationKind(StrEnum):
    """The relation of one memory to another."""

    UPDATES = "updates"
    """It replaces the other, which is no longer given to the model."""
    CONTRADICTS = "contradicts"
    SUPPORTS = "supports"
    RELATES_TO = "relates_to"
    CAUSED_BY = "caused_by"


class Association(Struct, frozen=True):
    """A directed link between two memories."""

    kind: AssociationKind
    from_id: str
    to_id: str
    at: datetime
    turn: str = ""
    """The turn in which one memory was said to replace the other. While that is abandoned, this link
    replaces nothing. Empty if it was said in none: then it always counts."""


ASSOCIATION = Description(
    RecordKind.ASSOCIATION,
    Association,
    key=("kind", "from_id", "to_id", "turn"),
    refers={"from_id": RecordKind.MEMORY, "to_id": RecordKind.MEMORY},
    properties={"from_id": "from", "to_id": "to"},
    line={"kind": "relation"},  # `kind` is the kind of the line itself
    later=("turn",),
    always=("turn",),
)


class MemorySort(StrEnum):
    """An order of memories; each is descending, ties by newest creation, then id."""

    RECENT = "recent"
    """By `updated_at`."""
    IMPORTANCE = "importance"
    USED = "used"
    """By `access_count`."""
    CREATED = "created"


class WishOrder(StrEnum):
    """The sort keys of wishes: words ascending, numbers and times descending."""

    TEXT = "text"
    KIND = "kind"
    STRENGTH = "strength"
    TOPIC = "topic"
    CONFIDENCE = "confidence"
    SAID = "said"
    HELD = "held"
    BROKEN = "broken"
    USED = "used"


class MemoryFilter(Struct, frozen=True):
    """Which memories, in what order. The defaults are what may be given to a model.

    With a project: those made in it, and all global ones. With a session: of those of scope session only
    that session's; without one, all of them.
    """

    project_id: str | None = None
    """None means every project's."""
    session_id: str | None = None
    person: str | None = None
    """Everybody's and this person's; None means everybody's and anybody's."""
    types: tuple[MemoryType, ...] = ()
    """Empty means all."""
    binding: bool = False
    """Only those with a strength."""
    importance_min: float = 0.0
    since: datetime | None = None
    """Created at or after this moment."""
    forgotten: bool = False
    """Include forgotten ones."""
    replaced: bool = False
    """Include those that another one updates."""
    abandoned: bool = False
    """Include those based only on abandoned turns."""
    sort: MemorySort = MemorySort.IMPORTANCE
    limit: int = 100


class ConceptFilter(Struct, frozen=True):
    """The weightiest topics of a project. topics: only these, if any are named."""

    project_id: str
    person: str
    model: str = ""
    """The embedder whose vectors are wanted; empty for none."""
    topics: tuple[str, ...] = ()
    limit: int = 20
    each: int = 20
    """At most so many memories per topic, the most important first."""


class ConceptMemories(Struct, frozen=True):
    """A topic with its valid memories, and the vectors by id of those that have one."""

    topic: str
    weight: float
    """The summed `weight` of its memories, of those among the CONCEPT_CANDIDATES_MAX most important, or
    most used, of the project."""
    memories: tuple[Memory, ...]
    vectors: Mapping[str, Vector]


def normalised(text: str) -> str:
    """Return the text as it is compared: case, spacing, compatibility forms and a final stop do not count."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(folded.split()).rstrip(".!…")


def memory_id(content: str, *, scope: MemoryScope, project_id: str, session_id: str, owner: str = "") -> str:
    """Return the id of a memory with this text, by where it applies; hex, 32 characters."""
    place = {MemoryScope.SESSION: session_id, MemoryScope.PROJECT: project_id, MemoryScope.GLOBAL: ""}[scope]
    whose = f"\n{owner}" if owner else ""
    text = f"{scope}\n{place}{whose}\n{normalised(content)}"
    return hashlib.sha256(well_formed(text).encode()).hexdigest()[:32]
