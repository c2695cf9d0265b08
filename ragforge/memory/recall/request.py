"""The request to recall something for a message."""

from collections.abc import Callable, Collection
from datetime import datetime
from pathlib import Path

from msgspec import Struct, field

from ragforge.domain.vectors import Vector


class InjectLimits(Struct, frozen=True):
    """How memories are chosen."""

    recent_hours: float = 6.0
    session_scope: bool = False
    threshold: float = 0.85
    buffer_max: int = 100
    injected_max: int = 20


class Injecting(Struct):
    """What a session knows about the memories that its model received: their vectors, the newest last. It is
    lost with the process; nothing depends on it."""

    model: str = ""
    vectors: dict[str, Vector] = field(default_factory=dict[str, Vector])
    slowdown: float = 1.0
    """How many times longer than on an idle machine work takes: a block may take that much longer."""


class Around(Struct, frozen=True):
    """The context of a message: whose memories are requested, and what its request contains already.

    person: the author of the message. turns: those that the request contains word for word. shown: the starts
    of ids of memories that it contains as a tool's result. folder: the project's. before: the turn before it;
    empty if there is none, or without foresight.
    """

    project_id: str
    session_id: str
    person: str = ""
    turns: Collection[str] = frozenset()
    shown: Collection[str] = frozenset()
    folder: Path | None = None
    before: str = ""


class RecallRequest(Struct, frozen=True):
    """What to recall, and how much."""

    text: str
    """The user's message."""
    around: Around
    tokens_max: int
    limits: InjectLimits
    injecting: Injecting
    until: datetime | None = None
    """When the message was sent: it does not find itself."""
    clean: Callable[[str], str] = lambda text: text
    """Removes secrets from what is shown."""
