"""The context block: what was recalled for a message, item by item."""

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct, field

from ragforge.domain.search import HitKind


class Recalled(Struct, frozen=True):
    """One recalled item, and why it was recalled."""

    section: str
    """The heading of its section of the block."""
    kind: HitKind
    id: str
    text: str
    """As given to the model."""
    tokens: int
    reason: str
    """Why, for a user: "identity", "near in meaning (0.91)", "words: database, decide"."""
    at: datetime
    session_id: str = ""
    turn_id: str = ""
    """The turn to open, if there is one."""
    scores: Mapping[str, float] = field(default_factory=dict[str, float])
    """The scores: words, meaning, graph, metadata, and score for all of them together."""


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
    """Items for which the budget had no room."""
    unshown: tuple[Recalled, ...] = ()
    """Of these, standing instructions: the block says how many there are."""
    unread: Mapping[str, int] = field(default_factory=dict[str, int])
    """By section, how many more there are that were not even read; the block counts them among `unshown`."""
    limited: str = ""
    """Why not everything could be searched, for a user; empty if it was."""
