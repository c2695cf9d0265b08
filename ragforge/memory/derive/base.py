"""The contract of what is made of turns, such as summaries of summaries and vectors.

The queue is the data: a derivation asks the store what lacks what it makes, so a crash, a quit or an outage
loses nothing.
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
    """What a derivation can be woken by."""

    OPENED = "opened"
    """A project is worked in from now on."""
    TURN_ENDED = "turn ended"
    UNDERSTOOD = "understood"
    """A turn has its summary and memories."""
    SETTLED = "settled"
    """No turn runs any more, or what was owed a better summary has it."""
    PUT_OFF = "put off"
    """Turns are left for later: to another process, or until a model answers."""
    WRITTEN = "written"
    """Something else was written: by the user, by a tool or by another derivation."""


class Limit(Enum):
    """Why background work may not pay for a model."""

    PRICE = auto()
    """Its price is unknown, so no limit could be kept."""
    DAY = auto()
    """It has cost as much as the settings allow for a day."""


class TakenBack(Exception):
    """The user needs the server now: what was asked of it is to be asked anew."""


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
    """Whether what comes next is foreseen in this run."""
    measure: Callable[[Turn], Awaitable[TurnUnits | None]]
    """How much a turn changed; None where that cannot be told. Raises StoreError."""
    recorded: Callable[[], Awaitable[None]]
    """Wait until the versions of all turns of this run that ended are made."""


class Desk(Protocol):
    """What derivations work with: projects, the model of the background and its purse."""

    @property
    def homes(self) -> Mapping[str, Home]:
        """By project, as the session sees it that was last in front there; the newest at the end."""
        ...

    def home(self, session_id: str) -> Home:
        """The project as this session of the run sees it."""
        ...

    timing: Timing
    idle: asyncio.Event
    """Set while no turn runs: a turn comes first."""
    improving: bool
    """Whether summaries of turns are being replaced by better ones: what rests on them waits for all."""

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
        """The result of the call to the model, which is paid for; None where no model can or may be asked.

        patient: wait for the end of an outage, unless it lasts. Raises StoreError, and TakenBack, which is to
        end the step.
        """
        ...

    async def can_ask(self, home: Home) -> bool:
        """Whether a model can and may be asked now. Raises StoreError."""
        ...

    @property
    def resumes_in_s(self) -> float:
        """In how many seconds the model may be asked again; 0 where it may be now."""
        ...

    def asks_one_at_a_time(self, home: Home) -> bool:
        """Whether the model is a server on this machine, which is the user's while a turn runs."""
        ...

    async def breathe(self, took_s: float) -> None:
        """Leave the machine and the store to a turn that runs, most of the time; a long one stops nothing."""
        ...

    def wake(self, moment: Moment) -> None:
        """Let the derivations begin that this concerns."""
        ...

    async def understood(self, home: Home, turn: Turn, owners: Sequence[Owner], *, own: bool) -> None:
        """Tell the others; see `Derivation.understood`. Raises StoreError."""
        ...

    def is_offline(self, home: Home) -> bool:
        """Whether the settings say that no model is asked."""
        ...

    async def limit(self, home: Home, name: ModelName, usage: Usage) -> Limit | None:
        """Why this much of a model may not be used; None where it may. Raises StoreError."""
        ...

    async def pay(self, home: Home, name: ModelName, usage: Usage, purpose: Purpose) -> None:
        """Keep what was used. Raises StoreError."""
        ...


class Queue(Struct, frozen=True):
    """Work of a derivation that has a task of its own."""

    title: str
    """For the user: "The summaries of summaries", before "waits."."""
    step: Callable[[], Awaitable[float | None]]
    """As `Derivation.step`."""
    wakes_on: frozenset[Moment]
    delayed: bool = True
    """It begins when the first screen is drawn."""
    together: bool = True
    """It waits a little for more to come, gives way to a turn after each step, and says what it wrote."""


class Derivation(ABC):
    """A kind of thing that is made of turns. There is one of each for a run, with a task of its own."""

    title: ClassVar[str]
    """For the user: "The summaries of summaries", before "waits."."""
    order: ClassVar[int] = 5
    """Their tasks begin by this number."""
    wakes_on: ClassVar[frozenset[Moment]] = frozenset(Moment) - {Moment.WRITTEN}
    """One that wakes on WRITTEN does not wake others when it has written itself."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.own_done = asyncio.Event()
        """Set while nothing of this run's turns waits that quitting should wait for."""
        self.own_done.set()
        self.earlier_done = asyncio.Event()
        """Set while a short run need not wait for what earlier runs left: done, or impossible now."""
        self.earlier_done.set()
        self.note = ""
        """Why it waits, for the user; empty while all goes well."""
        self.waiting = 0
        """What still waits to be embedded, as far as was looked."""
        self.kept: tuple[KeptOfTurn, ...] = ()
        """What was kept of the turns of this run that were understood last, the newest at the end."""

    @property
    def queues(self) -> Sequence[Queue]:
        """Most have one."""
        return (Queue(self.title, self.step, self.wakes_on),)

    @property
    def unfinished(self) -> Collection[str]:
        """Turns whose text it is about to change."""
        return ()

    @property
    def turns(self) -> int:
        """How many turns wait, as far as was looked."""
        return 0

    def turn_ended(self, home: Home, turn_id: str) -> None:
        """The end of a turn of this run is stored, and its project remembers."""

    @abstractmethod
    async def step(self) -> float | None:
        """Do some of the work; in how many seconds to do more: 0 for at once, None for when it is woken.

        What it raises is told to the user and tried again later and later.
        """

    async def understood(self, home: Home, turn: Turn, owners: Sequence[Owner], *, own: bool) -> None:
        """A turn has its summary and memories. own: it is one of this run. Raises StoreError."""


def find_derivations() -> list[type[Derivation]]:
    """All there are, by their order."""
    found = discover("ragforge.memory.derive", "DERIVATION", type)
    kinds = [kind for kind in found.values() if issubclass(kind, Derivation)]
    return sorted(kinds, key=lambda kind: kind.order)
