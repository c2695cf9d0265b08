"""The parts of an open session, and the few of them that change."""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from ragforge.agent.instructions import Skill
from ragforge.domain.approvals import Constraint, Mode
from ragforge.domain.json import JsonValue
from ragforge.domain.messages import CommandPart, Parts
from ragforge.domain.redact import Redactor
from ragforge.domain.schedule import Progress
from ragforge.domain.turns import ConversationSession, KeptTodos, Project, Step, ToolCall, Turn, TurnEnd
from ragforge.domain.usage import Purpose, Usage, sum_costs
from ragforge.memory.recall.request import Injecting
from ragforge.memory.recall.results import Recall
from ragforge.memory.window import Window
from ragforge.providers.base import Provider
from ragforge.session.consent import Consent
from ragforge.session.machine import Library
from ragforge.session.trust import Trust
from ragforge.shell.jobs import Jobs
from ragforge.store.base import Blobs
from ragforge.store.base_conversations import Claim
from ragforge.tools.base import AnyTool, ReadFiles
from ragforge.versions.project_files import ProjectFiles
from ragforge.versions.record.recorder import Recorders, Worktree
from ragforge.versions.state import HistoryState


class Former(Struct, frozen=True):
    """A project that the folder may have been, at a path where it no longer is."""

    project: Project
    path: Path

    def words(self) -> str:
        """Return the notice for runs that cannot ask."""
        return (
            f"This folder seems to be the project {self.project.name}, which was at {self.path}. It is a new "
            "project until you start `ragforge` here and answer yes."
        )


class BackgroundWork(Protocol):
    """The work beside the conversation; see `ragforge.session.background`. It never raises."""

    @property
    def progress(self) -> Progress:
        """The current progress."""
        ...

    def start(self, session: "Session") -> None:
        """Start with work left from before; may be called for each session that opens."""

    def turn_begins(self, session: "Session") -> None:
        """The user's message goes to the model now; a server that handles one request at a time must be
        free."""

    def turn_ended(self, session: "Session", turn_id: str) -> None:
        """There is a turn to summarise."""

    async def turns_moved(self, session: "Session", turn_ids: Sequence[str]) -> None:
        """These turns were abandoned or redone, so the validity of memories that they replace changes."""

    def wake(self) -> None:
        """Something was saved that needs a vector."""

    def ask_again(self) -> None:
        """The user chose a model, or tries again: one that was left alone after failures is asked now."""

    async def understood(self, *, timeout_s: float) -> None:
        """Wait, for at most this long, until this run's turns have their summaries and everything that comes
        with them."""

    async def finish(self, *, timeout_s: float) -> None:
        """Wait for the work on this run's turns, for at most this long; the next start does the rest."""

    async def end_calls(self, *, timeout_s: float) -> None:
        """Start no more model calls, and wait for those being paid for, for at most this long."""

    async def close(self) -> None:
        """Stop. Nothing is lost, because the stored data is the queue."""


class Workspace(Library, frozen=True):
    """Everything open while ragforge runs in a folder, whichever session is shown."""

    flags: Mapping[str, JsonValue]
    child_env: Mapping[str, str]
    """The environment of commands: without keys and passwords."""
    blobs: Blobs
    history: HistoryState
    """The current versions of this machine's folders."""
    recorders: Recorders
    former: tuple[Former, ...]
    """Known projects that this folder may have been before it was renamed or moved."""
    redactor: Redactor
    tools: Mapping[str, AnyTool]
    jobs: Jobs
    recall: Recall
    background: BackgroundWork
    trust: Trust
    """Which instruction files are read."""
    recalls: bool = True
    """Whether anything is recalled for a message; --no-memory switches it off for the run."""
    incognito: bool = False
    """Everything stored is removed at the end of the program."""
    constraints: dict[str, tuple[Constraint, ...]] = field(default_factory=dict[str, tuple[Constraint, ...]])
    """The constraints of a project as last read: they apply even while the store is away."""

    @property
    def foresees(self) -> bool:
        """Whether foresight is on in this run."""
        settings = self.settings
        return settings.foresight.enabled and settings.memory.enabled and self.recalls and not self.incognito

    @property
    def files(self) -> ProjectFiles:
        """The project's files, for their versions."""
        return ProjectFiles(
            project=self.project,
            root=self.place.root,
            store=self.store,
            blobs=self.blobs,
            state=self.history,
            data_dir=self.data_dir,
            redactor=self.redactor,
            settings=self.settings,
            environ=self.environ,
            jobs=self.jobs,
        )

    def worktree(self, session_id: str = "") -> Worktree:
        """Return the project's files together with the stored session that works in them."""
        files = self.files
        return Worktree(files, self.recorders.of(files.root), session_id)


class Unkept(Struct, frozen=True):
    """What the store has not accepted yet of an ended turn; it is saved as soon as possible."""

    end: TurnEnd
    calls: tuple[tuple[ToolCall, Step], ...] = ()


class Closable(Protocol):
    """Something that ends with its session."""

    async def close(self) -> None:
        """End it; return when it has ended."""
        ...


class ModelView(Struct):
    """What the model knows of the conversation: the window and what was sent before."""

    window: Window = field(default_factory=Window)
    """What it is given verbatim of the path to the head."""
    injecting: Injecting = field(default_factory=Injecting)
    read_files: ReadFiles = field(default_factory=ReadFiles)
    instructions: set[Path] = field(default_factory=set[Path])
    """Instruction files that it was given."""
    skills: tuple[Skill, ...] = ()
    """Those that it may read."""
    todos: KeptTodos | None = None
    """The newest to-do list on the path to the head."""
    todos_are_read: bool = False
    recalls_until: datetime | None = None
    """Newer records are not recalled, because others work on the same in parallel; None for everything."""


class Spending(Struct):
    """The cost of the session's turns and attempts. cost_usd: None if a price is unknown."""

    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0

    def add(self, usage: Usage, cost_usd: float | None) -> None:
        """Add this cost."""
        self.usage += usage
        self.cost_usd = sum_costs((self.cost_usd, cost_usd))


class Live(Struct):
    """The open conversation. Only functions of this package assign to its fields."""

    record: ConversationSession
    stored: bool
    """A new session is stored with its first message, so that looking around leaves nothing behind."""
    consent: Consent
    purpose: Purpose = Purpose.CHAT
    """What its turns count as."""
    claim: Claim | None = None
    read_only: bool = False
    """Another process or machine writes this session; this one only shows it."""
    queue: list[Parts] = field(default_factory=list[Parts])
    commands: list[CommandPart] = field(default_factory=list[CommandPart])
    """What the user ran since the last message: it goes with the next one."""
    view: ModelView = field(default_factory=ModelView)
    spending: Spending = field(default_factory=Spending)
    provider: Provider | None = None
    attempts: Closable | None = None
    """Attempts of the session in copies of the project, and their results to choose from."""


class OpenTurn(Struct):
    """A turn whose first request was not sent yet: messages until then join its message."""

    turn: Turn
    show: Callable[[Turn], Awaitable[None]]
    """Signals that its message has grown."""
    joined: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while words are stored, and to end it."""


class Activity(Struct):
    """What is happening in the session now. Only functions of this package assign to its fields."""

    task: "asyncio.Task[Any] | None" = None
    """The turn, or what else Esc ends."""
    open_turn: OpenTurn | None = None
    moving: bool = False
    """Files and chat are being moved to another version; no turn starts meanwhile."""
    unkept: Unkept | None = None
    closing: bool = False
    """The app is closing: a call that waits for consent keeps waiting in the store."""

    @contextmanager
    def interruptible(self) -> Generator[None]:
        """For the duration, whatever interrupts a turn interrupts this."""
        self.task = asyncio.current_task()
        try:
            yield
        finally:
            self.task = None


class Session(Struct, frozen=True):
    """An open session: its workspace, the conversation, and its activity. Verbs are functions beside it."""

    workspace: Workspace
    live: Live
    activity: Activity = field(default_factory=Activity)

    @property
    def id(self) -> str:
        """The session's id."""
        return self.live.record.id

    @property
    def cwd(self) -> Path:
        """The folder that it works in."""
        return Path(self.live.record.cwd)

    @property
    def worktree(self) -> Worktree:
        """The project's files together with this session."""
        return self.workspace.worktree(self.id if self.live.stored else "")

    @property
    def busy(self) -> bool:
        """Whether a turn runs, or files and conversation are being moved."""
        return self.activity.moving or self._runs

    @property
    def is_only_moving(self) -> bool:
        """Whether files are being moved, and nothing runs that Esc could end."""
        return self.activity.moving and not self._runs

    @property
    def _runs(self) -> bool:
        return self.activity.task is not None and not self.activity.task.done()

    @property
    def why_busy(self) -> str:
        """Why no turn may start and no head may move now, for a user; empty if they may."""
        if self.is_only_moving:
            return "Files are being moved to another version. Send it again when that is done."
        return "A turn is running. Wait for it, or interrupt it." if self.busy else ""

    def end_with(self, attempts: Closable) -> None:
        """Register these attempts, which end with the session."""
        self.live.attempts = attempts

    async def set_mode(self, mode: Mode) -> None:
        """Set the mode from the next tool call on. `all` is not remembered for the next start."""
        self.live.consent.change_mode(mode)
        if mode is not Mode.ALL:
            self.change(mode=mode)
            if self.live.stored and not self.live.read_only:
                await self.workspace.store.sessions.set_mode(self.id, mode)

    def change(self, **changes: Any) -> None:
        """Replace fields of the session's record."""
        self.live.record = replace(self.live.record, **changes)
