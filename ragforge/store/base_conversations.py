"""The contract of conversations: projects, sessions, turns, tool calls and usage.

As in `store/base.py`: every method raises StoreUnavailable if the database cannot be read or written, writes
are durable when they return, and repeating a call changes nothing.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from msgspec import Struct

from ragforge.domain.messages import Parts
from ragforge.domain.turns import ConversationSession, Project, Step, ToolCall, Turn, TurnEnd
from ragforge.domain.usage import Purpose, Spent, StatisticsGroup, Usage


class ProjectMove(Struct, frozen=True):
    """What moves from one project to another, by ids. Records of a session move with it: turns with steps and
    calls, summaries, derived records, vectors and usage."""

    source: str
    target: str
    sessions: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    branches: Mapping[str, str] = {}
    """Their names, and what they are called in the other project."""
    moves: tuple[str, ...] = ()
    memories: Mapping[str, str] = {}
    """Their ids, and those that they have there: no memory has these yet."""


class Projects(Protocol):
    """The projects of this store."""

    async def add(self, project: Project) -> None:
        """Save a new project; one with the same id is replaced."""
        ...

    async def get(self, project_id: str) -> Project | None: ...

    async def every(self) -> list[Project]:
        """Return all projects, newest first."""
        ...

    async def find(self, *, git_remote: str = "", first_commit: str = "") -> list[Project]:
        """Return projects with the same remote or first commit, newest first; empty values match nothing."""
        ...

    async def sessions(self, project_id: str) -> list[str]:
        """Return the ids of the sessions that have any record in the project, including sessions of other
        projects whose writer did not know yet that they had moved."""
        ...

    async def joined_sessions(self, project_id: str) -> list[tuple[str, str]]:
        """Return pairs of sessions, one of them in the project, where the first is based on turns of the
        second."""
        ...

    async def move(self, move: ProjectMove) -> None:
        """Move everything in one transaction. What is there already stays, so it can be repeated.

        Raises Conflict if a project is not stored, StoreUnavailable while a server is away.
        """
        ...


class SessionRow(Struct, frozen=True):
    """A line of the session list."""

    session: ConversationSession
    turns: int
    """Turns on the path to the head."""
    last_message: str
    """Text of the newest turn's user message, cut at 200 characters."""


class Deleted(Struct, frozen=True):
    """What a deletion removed. `kept_turns` are on another session's path and were kept."""

    turns: int
    kept_turns: int
    tool_calls: int


class Claim(Protocol):
    """The right to write a session, held until `release` or the end of the process."""

    @property
    def lost(self) -> str:
        """Say who took over the session, in a sentence; empty while this process has it.

        Only a store shared by several machines can lose a claim, after a silence longer than its lease.
        """
        ...

    async def release(self) -> None:
        """Give up the claim. May be called twice."""
        ...


class Sessions(Protocol):
    """The sessions and their heads."""

    async def add(self, session: ConversationSession) -> None:
        """Save a new session. A fork comes with a head on shared turns."""
        ...

    async def get(self, session_id: str) -> ConversationSession | None: ...

    async def rename(self, session_id: str, title: str) -> None:
        """Set its title."""
        ...

    async def set_model(self, session_id: str, model: str) -> None:
        """Record its model, as `provider:name`."""
        ...

    async def set_mode(self, session_id: str, mode: str) -> None:
        """Record its permission mode."""
        ...

    async def set_head(self, session_id: str, turn_id: str | None) -> None:
        """Move the head to a turn. Nothing is removed."""
        ...

    async def set_archived(self, session_id: str, at: datetime | None) -> None:
        """Archive it, or list it again with None."""
        ...

    async def recent(
        self,
        *,
        project_id: str | None = None,
        with_id_part: str = "",
        archived: bool | None = None,
        limit: int = 1000,
    ) -> list[SessionRow]:
        """Return sessions, the last active first; `with_id_part` selects those whose id matches
        (`ids.id_fits`).

        archived: only archived sessions, or only those that are not.

        Reads a limited number of rows for each session, however long the sessions are.
        """
        ...

    async def of_others(self, person: str, *, project_id: str | None = None) -> set[str]:
        """Return the ids of the sessions that are known to have been started by somebody else."""
        ...

    async def delete(self, session_id: str, *, dry_run: bool = False) -> Deleted:
        """Remove it with its turns and calls, except turns on another session's path."""
        ...

    async def claim(self, session_id: str) -> Claim:
        """Become its only writer. Raises SessionBusy while any process, including this one, is.

        Running turns of a dead writer become interrupted, and so do the unfinished calls of their steps;
        turns that wait for approval keep waiting.
        """
        ...


class Turns(Protocol):
    """The turns and their steps.

    A turn is *abandoned* if it is not on the path of any session's head. It stays stored, and is found and
    marked.
    """

    async def start(self, turn: Turn) -> None:
        """Save the user's message as a child of `turn.parent`, and move the session's head to it."""
        ...

    async def reword(self, turn_id: str, user: Parts) -> None:
        """Replace the message of a running turn that has no step yet.

        Raises Conflict if the turn is not stored, has a step or no longer runs.
        """
        ...

    async def save_step(self, step: Step, *, waits: bool = False) -> None:
        """Save a step before its calls run; a stored step does not change.

        waits: one of its calls waits for approval, so a running turn waits too.
        """
        ...

    async def end(self, end: TurnEnd) -> None:
        """Save how the turn ended, its last step and its text. Its usage is the sum of its steps."""
        ...

    async def reopen(self, turn_id: str) -> None:
        """Continue a turn that ended or waits, and move its session's head to it."""
        ...

    async def get(self, turn_id: str) -> Turn | None: ...

    async def read(self, turn_ids: Sequence[str]) -> list[Turn]:
        """Return the stored turns among these, in the order of the ids."""
        ...

    async def path(self, head: str | None, *, limit: int | None = None) -> list[Turn]:
        """Return the turns from the root to `head`, oldest first; with a limit, only the newest."""
        ...

    async def abandoned(self, turn_ids: Sequence[str]) -> set[str]:
        """Return those of the turns that are abandoned."""
        ...

    async def writers(self, turn_ids: Sequence[str]) -> dict[str, str]:
        """Return who wrote these turns, by turn id, without turns whose writer is unknown."""
        ...

    async def everybody(self) -> list[str]:
        """Return the ids of all users who wrote a turn, in order."""
        ...

    async def disown(self, person: str) -> None:
        """Remove this user's name from everything that they wrote, started or requested. The costs stay,
        without a name.

        Raises StoreUnavailable while a server is away.
        """
        ...

    async def steps(self, turn_ids: Sequence[str]) -> list[Step]:
        """Return their steps, in the order of the ids and by index."""
        ...


class ToolCalls(Protocol):
    """The tool calls."""

    async def add(self, call: ToolCall, step: Step) -> None:
        """Save a call that has ended, and its step if it is not stored yet, in one transaction.

        A turn that waits keeps waiting, for another call of the step.
        """
        ...

    async def of_turns(self, turn_ids: Sequence[str]) -> list[ToolCall]:
        """Return their calls, in the order of the ids, by step and position."""
        ...


class UsageRow(Struct, frozen=True):
    """What one model used for one purpose."""

    model: str
    purpose: Purpose
    calls: int
    usage: Usage
    cost_usd: float | None


class PersonUsage(Struct, frozen=True):
    """What one user used, or what was used for them."""

    person: str
    """Their id; empty if unknown."""
    calls: int
    usage: Usage
    cost_usd: float | None
    """None if a price is unknown."""


class StatisticsRow(Struct, frozen=True):
    """Statistics of one user, model, project or day."""

    name: str
    """The id of the user or project, the model as `provider:name`, or the day as `2026-11-25`; empty if
    unknown."""
    sessions: int
    """Those with a prompt or a call."""
    prompts: int
    undone: int
    """Prompts that are no longer on the path of any head."""
    versions: int
    """Those that turns made."""
    calls: int
    usage: Usage
    cost_usd: float | None
    """None if a price is unknown."""


class UsageLog(Protocol):
    """Usage of models: what, by whom and for what."""

    async def by_model(
        self,
        *,
        session_id: str | None = None,
        project_id: str | None = None,
        since: datetime | None = None,
        person: str | None = None,
    ) -> list[UsageRow]:
        """Return the sums by model and purpose, most expensive first.

        person: only turns that they wrote, and calls that were made for them.
        """
        ...

    async def by_person(self, *, project_id: str | None = None) -> list[PersonUsage]:
        """Return the sums by user, most expensive first."""
        ...

    async def statistics(
        self,
        group: StatisticsGroup,
        *,
        project_id: str | None = None,
        since: datetime | None = None,
        person: str | None = None,
        offset: timedelta = timedelta(),
    ) -> list[StatisticsRow]:
        """Return figures for each name of the group, ordered by name. Their costs add up to those of
        `by_model`.

        A turn answered by two models counts as a prompt of both. offset: the user's UTC offset, which
        determines the days. person: as in `by_model`.
        """
        ...

    async def by_session(self, session_ids: Sequence[str]) -> dict[str, float | None]:
        """Return the cost of each session in US dollars: None if a price is unknown, 0 if nothing was
        used."""
        ...

    async def add(self, spent: Spent) -> None:
        """Save a model call that is not a step of a turn. Its session need not be stored (any more)."""
        ...
