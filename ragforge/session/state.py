"""The parts of an open session, and the little of it that changes."""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
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
    """A project that the folder seems to have been, at a path where it is not any more."""

    project: Project
    path: Path

    def words(self) -> str:
        """Return the notice for runs that ask nobody."""
        return (
            f"This folder seems to be the project {self.project.name}, which was at {self.path}. It is a new "
            "project until you start `ragforge` here and answer yes."
        )


class BackgroundWork(Protocol):
    """What goes on beside the conversation; see `ragforge.session.background`. It never raises."""

    @property
    def progress(self) -> Progress:
        """How it stands now."""
        ...

    def start(self, session: "Session") -> None:
        """Begin with what is left from before; harmless when called for each session that opens."""

    def turn_begins(self, session: "Session") -> None:
        """The user's message goes to the model now: a server that answers one at a time is theirs."""

    def turn_ended(self, session: "Session", turn_id: str) -> None:
        """There is a turn to summarise."""

    async def turns_moved(self, session: "Session", turn_ids: Sequence[str]) -> None:
        """These were left or found again: with them, when the memories held that they replace."""

    def wake(self) -> None:
        """Something was written that needs a vector."""

    async def understood(self, *, timeout_s: float) -> None:
        """Wait until this run's turns have their summaries and what comes with them, for at most so long."""

    async def finish(self, *, timeout_s: float) -> None:
        """Wait for the work on this run's turns, for at most so long; the rest is done by a next start."""

    async def close(self) -> None:
        """Stop; what was begun is not lost, because what is stored says what is still to do."""


class Workspace(Library, frozen=True):
    """What is open while ragforge runs in a folder, whichever session is in front."""

    flags: Mapping[str, JsonValue]
    child_env: Mapping[str, str]
    """The environment of commands: without keys and passwords."""
    blobs: Blobs
    history: HistoryState
    """Where the folders of this machine stand in the version tree."""
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
    """Whether anything is put in front of a message; --no-memory switches it off for the run."""
    incognito: bool = False
    """All that is kept goes away with the program."""
    constraints: dict[str, tuple[Constraint, ...]] = field(default_factory=dict[str, tuple[Constraint, ...]])
    """What the user forbade in a project, as it was read last: it holds on while the store is away."""

    @property
    def foresees(self) -> bool:
        """Whether it is foreseen in this run what the next turn brings."""
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
        """The project's files as they are worked in; session_id: of the stored session that does."""
        files = self.files
        return Worktree(files, self.recorders.of(files.root), session_id)


class Unkept(Struct, frozen=True):
    """What the store has not taken yet of a turn that ended: it goes there as soon as that is possible."""

    end: TurnEnd
    calls: tuple[tuple[ToolCall, Step], ...] = ()


class Closable(Protocol):
    """What a session ends when it is closed."""

    async def close(self) -> None:
        """Return when it has ended."""
        ...


class ModelView(Struct):
    """What the model knows of the conversation: the turns that are over have written it."""

    window: Window = field(default_factory=Window)
    """What it is given, word for word, of the path to the head."""
    injecting: Injecting = field(default_factory=Injecting)
    read_files: ReadFiles = field(default_factory=ReadFiles)
    instructions: set[Path] = field(default_factory=set[Path])
    """Files of instructions that it was given."""
    skills: tuple[Skill, ...] = ()
    """Those that it may read."""
    todos: KeptTodos | None = None
    """The newest list of what is to do on the path to the head."""
    todos_are_read: bool = False


class Spending(Struct):
    """What the session's turns and attempts have cost. cost_usd: None where a price is unknown."""

    usage: Usage = field(default_factory=Usage)
    cost_usd: float | None = 0.0

    def add(self, usage: Usage, cost_usd: float | None) -> None:
        """Count this too."""
        self.usage += usage
        self.cost_usd = sum_costs((self.cost_usd, cost_usd))


class Live(Struct):
    """The conversation that is open. Only functions of this package assign to its fields."""

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
    """What works for the session in copies of the project, and what it made to choose from."""


class OpenTurn(Struct):
    """A turn whose first request has not left: a message that is sent until then joins its words."""

    turn: Turn
    show: Callable[[Turn], Awaitable[None]]
    """Tells that its words have grown."""
    joined: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while words are stored, and to end it."""


class Activity(Struct):
    """What goes on in the session now. Only functions of this package assign to its fields."""

    task: "asyncio.Task[Any] | None" = None
    """The turn, or what else Esc ends."""
    open_turn: OpenTurn | None = None
    moving: bool = False
    """Files and chat are being moved to another version; no turn begins meanwhile."""
    unkept: Unkept | None = None
    closing: bool = False
    """The app is going: a call that waits for consent goes on waiting in the store."""

    @contextmanager
    def interruptible(self) -> Generator[None]:
        """While it lasts, what interrupts a turn interrupts this."""
        self.task = asyncio.current_task()
        try:
            yield
        finally:
            self.task = None


class Session(Struct, frozen=True):
    """An open session: its workspace, the conversation, and what goes on. Verbs are functions beside it."""

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
        """The project's files as they are worked in for this session."""
        return self.workspace.worktree(self.id if self.live.stored else "")

    @property
    def busy(self) -> bool:
        """Whether a turn runs, or files and chat are being moved."""
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
        """Why no turn may begin and no head may move now, for a user; empty where they may."""
        if self.is_only_moving:
            return "Files are being moved to another version. Send it again when that is done."
        return "A turn is running. Wait for it, or press Esc to interrupt it." if self.busy else ""

    def end_with(self, attempts: Closable) -> None:
        """Let these attempts be the session's, and end with it."""
        self.live.attempts = attempts

    async def set_mode(self, mode: Mode) -> None:
        """Let the mode hold from the next tool call on. `all` is not remembered for the next start."""
        self.live.consent.change_mode(mode)
        if mode is not Mode.ALL:
            self.change(mode=mode)
            if self.live.stored and not self.live.read_only:
                await self.workspace.store.sessions.set_mode(self.id, mode)

    def change(self, **changes: Any) -> None:
        """Replace fields of the session's record."""
        self.live.record = replace(self.live.record, **changes)
