"""The context block: what was recalled for a message, item by item."""

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct, field

from ragforge.domain.search import HitKind


class Recalled(Struct, frozen=True):
    """One item that was given to the model, and why."""

    section: str
    """The heading of its part of the block."""
    kind: HitKind
    id: str
    text: str
    """As the model was given it."""
    tokens: int
    reason: str
    """Why, for a user: "identity", "near in meaning (0.91)", "words: database, decide"."""
    at: datetime
    session_id: str = ""
    turn_id: str = ""
    """The turn to open, where there is one."""
    scores: Mapping[str, float] = field(default_factory=dict[str, float])
    """What each source said: words, meaning, graph, metadata, score (all of them together)."""


class RecallUse(Struct, frozen=True):
    """How an answer used what was recalled for it.

    quoted: it repeats something recalled that is not in the message. cited: it names the day or id of an
    item.
    """

    quoted: bool = False
    cited: bool = False


class ContextBlock(Struct, frozen=True):
    """The text directly before a message; empty if nothing was recalled."""

    text: str = ""
    items: tuple[Recalled, ...] = ()
    tokens: int = 0
    took_ms: float = 0.0
    left_out: int = 0
    """Items that no budget had room for."""
    unshown: tuple[Recalled, ...] = ()
    """Of these, standing instructions: the block tells how many there are."""
    unread: Mapping[str, int] = field(default_factory=dict[str, int])
    """By section, how many more there are that were not even read; the block counts them among `unshown`."""
    limited: str = ""
    """Why not all could be searched, for a user; empty when it was."""
