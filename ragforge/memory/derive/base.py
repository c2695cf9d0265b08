"""The contract of what is made of turns, such as summaries of summaries and vectors.

The queue is the data: a derivation asks the store what lacks what it makes, so a crash, a quit or an outage
loses nothing.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from enum import StrEnum
from typing import ClassVar, Protocol, TypeVar

from msgspec import Struct

from ragforge.config.settings import Settings
from ragforge.domain.discovery import discover
from ragforge.domain.redact import Redactor
from ragforge.domain.turns import Turn
from ragforge.domain.usage import Purpose, Usage
from ragforge.domain.vectors import Owner
from ragforge.memory.recall.search import Recall
from ragforge.providers.base import Provider
from ragforge.providers.registry import ModelName
from ragforge.store.base import Store

T = TypeVar("T")


class Moment(StrEnum):
    """What a derivation can be woken by."""

    OPENED = "opened"
    """A project is worked in from now on."""
    TURN_ENDED = "turn ended"
    UNDERSTOOD = "understood"
    """A turn has its summary and memories."""
    SETTLED = "settled"
    """No turn runs any more, or what was owed a better summary has it."""
    WRITTEN = "written"
    """Something else was written: by the user, by a tool or by another derivation."""


class Home(Struct, frozen=True):
    """A project to work for, as the session sees it that was last in front there."""

    project_id: str
    store: Store
    settings: Settings
    redactor: Redactor
    recall: Recall


class Desk(Protocol):
    """What derivations work with: projects, the model of the background and its purse."""

    @property
    def homes(self) -> Mapping[str, Home]:
        """By project; the newest at the end."""
        ...

    @property
    def busy(self) -> bool:
        """Whether a turn runs: it comes first."""
        ...

    @property
    def improving(self) -> bool:
        """Whether summaries of turns are being replaced by better ones: what rests on them waits for all."""
        ...

    @property
    def unfinished(self) -> Collection[str]:
        """Turns whose text is about to change."""
        ...

    async def ask(
        self, home: Home, call: Callable[[Provider], Awaitable[tuple[T, Usage]]], *, tries: int
    ) -> T | None:
        """The result of the call to the model, which is paid for; None where no model can or may be asked.

        Waits for the end of an outage, unless it lasts. Raises StoreError, and what ends a step when the user
        needs the model now.
        """
        ...

    async def can_ask(self, home: Home) -> bool:
        """Whether a model can and may be asked now. Raises StoreError."""
        ...

    def is_offline(self, home: Home) -> bool:
        """Whether no model is asked because that is what is set."""
        ...

    def is_free(self, home: Home, name: ModelName) -> bool:
        """Whether it runs on this machine."""
        ...

    def cost(self, home: Home, name: ModelName, usage: Usage) -> float | None:
        """In USD; None where the price is unknown."""
        ...

    async def is_spent(self, home: Home) -> bool:
        """Whether background work has cost what the settings allow for a day. Raises StoreError."""
        ...

    async def pay(self, home: Home, name: ModelName, usage: Usage, purpose: Purpose) -> None:
        """Keep what was used. Raises StoreError."""
        ...

    def pause_s(self, failures: int) -> float:
        """How long to wait after so many failures in a row."""
        ...

    @property
    def final_s(self) -> float:
        """How long to wait after a failure that no waiting cures, such as a wrong key."""
        ...


class Derivation:
    """A kind of thing that is made of turns. There is one of each for a run, with a task of its own."""

    title: ClassVar[str]
    """For the user: "The summaries of summaries", before "waits."."""
    order: ClassVar[int] = 5
    """Their tasks begin by this number."""
    wakes_on: ClassVar[frozenset[Moment]] = frozenset(Moment) - {Moment.WRITTEN}
    """One that wakes on WRITTEN does not wake others when it has written itself."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.note = ""
        """Why it waits, for the user; empty while all goes well."""
        self.waiting = 0
        """What still waits to be embedded, as far as was looked."""

    async def step(self) -> float | None:
        """Do some of the work; in how many seconds to do more: 0 for at once, None for when it is woken.

        What it raises is told to the user and tried again later and later.
        """
        raise NotImplementedError

    async def understood(self, home: Home, turn: Turn, owners: Sequence[Owner], *, own: bool) -> None:
        """A turn has its summary and memories. own: it is one of this run. Raises StoreError."""


def find_derivations() -> list[type[Derivation]]:
    """All there are, by their order."""
    found = discover("ragforge.memory.derive", "DERIVATION", type)
    kinds = [kind for kind in found.values() if issubclass(kind, Derivation)]
    return sorted(kinds, key=lambda kind: kind.order)
