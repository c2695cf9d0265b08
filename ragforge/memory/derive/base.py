"""The contract of derivations: what is derived from turns, such as summaries of summaries and vectors.

The queue is the data: a derivation asks the store which items lack its product, so a crash, a quit or an
outage loses nothing.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from enum import Enum, StrEnum, auto
from typing import ClassVar, Protocol, TypeVar

from msgspec import Struct

from ragforge.config.settings import Settings
from ragforge.domain.discovery import discover
from ragforge.domain.foresight import TurnUnits
from ragforge.domain.redact import Redactor
from ragforge.domain.schedule import KeptOfTurn, Timing
from ragforge.domain.turns import Person, Turn
from ragforge.domain.usage import Purpose, Usage
from ragforge.domain.vectors import Owner
from ragforge.memory.recall.search import Recall
from ragforge.providers.base import Provider
from ragforge.providers.registry import ModelName
from ragforge.store.base import Store
from ragforge.store.local.state import LocalState

T = TypeVar("T")


class Moment(StrEnum):
    """The events that wake a derivation."""

    OPENED = "opened"
    """A project is in use from now on."""
    TURN_ENDED = "turn ended"
    UNDERSTOOD = "understood"
    """A turn has its summary and memories."""
    SETTLED = "settled"
    """No turn runs any more, or the turns that were due a better summary have it."""
    PUT_OFF = "put off"
    """Turns are postponed: to another process, or until a model answers."""
    WRITTEN = "written"
    """Something else was written: by the user, by a tool or by another derivation."""


class Limit(Enum):
    """Why background work may not pay for a model."""

    PRICE = auto()
    """Its price is unknown, so no limit could be enforced."""
    DAY = auto()
    """It has cost as much as the settings allow per day."""


class TakenBack(Exception):
    """The user needs the server now: the request must be repeated later."""


class Home(Struct, frozen=True):
    """A project to work for, as a session sees it."""

    project_id: str
    session_id: str
    person: Person
    local: LocalState
    store: Store
    settings: Settings
    redactor: Redactor
    recall: Recall
    foresees: bool
    """Whether predictions are made in this run."""
    measure: Callable[[Turn], Awaitable[TurnUnits | None]]
    """Return how much a turn changed; None if that is unknown. Raises StoreError."""
    recorded: Callable[[], Awaitable[None]]
    """Wait until the versions of all ended turns of this run are created."""


class Desk(Protocol):
    """What derivations work with: projects, the background model and its budget."""

    @property
    def homes(self) -> Mapping[str, Home]:
        """By project, as seen by the session that was last in front there; the newest last."""
        ...

    def home(self, session_id: str) -> Home:
        """Return the project as this session of the run sees it."""
        ...

    timing: Timing
    idle: asyncio.Event
    """Set while no turn runs: turns have precedence."""
    improving: bool
    """Whether summaries of turns are being replaced by better ones; what is based on them waits for all."""

    @property
    def unfinished(self) -> Collection[str]:
        """Turns whose text is about to change."""
        ...

    async def ask(
        self,
        home: Home,
        call: Callable[[Provider], Awaitable[tuple[T, Usage]]],
        *,
        tries: int,
        patient: bool = True,
    ) -> T | None:
        """Return the result of the model call, which is paid for; None if no model can or may be called.

        patient: wait for the end of an outage, unless it lasts. Raises StoreError, and TakenBack, which ends

        """
        ...

    async def can_ask(self, home: Home) -> bool:
        """Return whether a model can and may be called now. Raises StoreError."""
        ...

    @property
    def resumes_in_s(self) -> float:
        """The seconds until the model may be called again; 0 if it may be called now."""
        ...

    def asks_one_at_a_time(self, home: Home) -> bool:
        """Return whether the model is a server on this machine, reserved for the user while a turn runs."""
        ...

    async def breathe(self, took_s: float) -> None:
        """Leave the machine and the store to a running turn, most of the time; a long turn stops nothing."""
        ...

    def wake(self, moment: Moment) -> None:
        """Start the derivations that wake at this moment."""
        ...

    async def understood(self, home: Home, turn: Turn, owners: Sequence[Owner], *, own: bool) -> None:
        """Notify the other derivations; see `Derivation.understood`. Raises StoreError."""
        ...

    def is_offline(self, home: Home) -> bool:
        """Return whether the settings forbid calling a model."""
        ...

    async def limit(self, home: Home, name: ModelName, usage: Usage) -> Limit | None:
        """Return why a model may not be used this much; None if it may. Raises StoreError."""
        ...

    async def pay(self, home: Home, name: ModelName, usage: Usage, purpose: Purpose) -> None:
        """Store the usage. Raises StoreError."""
        ...


class Queue(Struct, frozen=True):
    """Work of a derivation, with a task of its own."""

    title: str
    """For the user: "The summaries of summaries", before "waits."."""
    step: Callable[[], Awaitable[float | None]]
    """See `Derivation.step`."""
    wakes_on: frozenset[Moment]
    delayed: bool = True
    """It starts when the first screen is drawn."""
    together: bool = True
    """It waits briefly for more work, yields to a turn after each step, and reports what it wrote."""


class Derivation(ABC):
    """A kind of derived data. There is one instance of each per run, with a task of its own."""

    title: ClassVar[str]
    """For the user: "The summaries of summaries", before "waits."."""
    order: ClassVar[int] = 5
    """Their tasks start in this order."""
    wakes_on: ClassVar[frozenset[Moment]] = frozenset(Moment) - {Moment.WRITTEN}
    """If it wakes on WRITTEN, it does not wake others after writing something itself."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.own_done = asyncio.Event()
        """Set while no turn of this run is pending that quitting should wait for."""
        self.own_done.set()
        self.earlier_done = asyncio.Event()
        """Set while a short run need not wait for what earlier runs left: done, or impossible now."""
        self.earlier_done.set()
        self.note = ""
        """Why it waits, for the user; empty if there is no problem."""
        self.waiting = 0
        """The number of items to embed, as far as they are listed."""
        self.kept: tuple[KeptOfTurn, ...] = ()
        """What was stored of the turns of this run that were understood last, the newest last."""

    @property
    def queues(self) -> Sequence[Queue]:
        """The queues; most derivations have one."""
        return (Queue(self.title, self.step, self.wakes_on),)

    @property
    def unfinished(self) -> Collection[str]:
        """Turns whose text it is about to change."""
        return ()

    @property
    def turns(self) -> int:
        """The number of pending turns, as far as they are listed."""
        return 0

    def turn_ended(self, home: Home, turn_id: str) -> None:
        """Handle a turn of this run whose end is stored, in a project with memory enabled."""

    @abstractmethod
    async def step(self) -> float | None:
        """Do some of the work; return after how many seconds to continue: 0 for now, None until woken.

        An exception is reported to the user, and the step is retried at growing intervals.
        """

    async def understood(self, home: Home, turn: Turn, owners: Sequence[Owner], *, own: bool) -> None:
        """Handle a turn that has its summary and memories. own: it belongs to this run. Raises StoreError."""


def find_derivations() -> list[type[Derivation]]:
    """Return all derivations, in their order."""
    found = discover("ragforge.memory.derive", "DERIVATION", type)
    kinds = [kind for kind in found.values() if issubclass(kind, Derivation)]
    return sorted(kinds, key=lambda kind: kind.order)
