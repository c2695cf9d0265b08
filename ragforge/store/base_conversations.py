"""The contract of what was said: projects, sessions, turns, tool calls, and what they used.

As with `store/base.py`: every method raises StoreUnavailable when the database cannot be read or written,
writes are durable when they return, and the same call repeated changes nothing.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Protocol

from msgspec import Struct

from ragforge.domain.messages import Parts
from ragforge.domain.turns import ConversationSession, Project, Step, ToolCall, Turn, TurnEnd
from ragforge.domain.usage import Purpose, Spent, StatisticsGroup, Usage


class ProjectMove(Struct, frozen=True):
    """What moves from one project to another, by ids. What belongs to a session moves with it: its turns with
    their steps and calls, summaries, derived records, vectors, and what was spent in it."""

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
        """Keep a new project; one of the same id is replaced."""
        ...

    async def get(self, project_id: str) -> Project | None: ...

    async def every(self) -> list[Project]:
        """All projects, newest first."""
        ...

    async def find(self, *, git_remote: str = "", first_commit: str = "") -> list[Project]:
        """Projects with the same remote or first commit, newest first; empty values match nothing."""
        ...

    async def sessions(self, project_id: str) -> list[str]:
        """Ids of the sessions of which anything is filed under the project; those of others whose writer did
        not know yet that they had moved."""
        ...

    async def joined_sessions(self, project_id: str) -> list[tuple[str, str]]:
        """Pairs of sessions of which the first rests on turns of the second, one of them in the project."""
        ...

    async def move(self, move: ProjectMove) -> None:
        """Move all of it at once. What is there already stays there, so it can be done again.

        Raises Conflict where a project is not stored, StoreUnavailable while a server is away.
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
    """What a deletion removed: `kept_turns` are on another session's path and stay."""

    turns: int
    kept_turns: int
    tool_calls: int


class Claim(Protocol):
    """The right to write a session, held until `release` or the end of the process."""

    @property
    def lost(self) -> str:
        """Who took the session over meanwhile, in a sentence; empty while it is ours.

        Only a store that several machines share can lose one: after a silence longer than its lease.
        """
        ...

    async def release(self) -> None:
        """Give it up; doing so twice is harmless."""
        ...


class Sessions(Protocol):
    """The sessions and their heads."""

    async def add(self, session: ConversationSession) -> None:
        """Keep a new session (a fork too: it comes with a head on shared turns)."""
        ...

    async def get(self, session_id: str) -> ConversationSession | None: ...

    async def rename(self, session_id: str, title: str) -> None:
        """Give it a title."""
        ...

    async def set_model(self, session_id: str, model: str) -> None:
        """Remember the model it talks to, as `provider:name`."""
        ...

    async def set_mode(self, session_id: str, mode: str) -> None:
        """Remember its consent mode."""
        ...

    async def set_head(self, session_id: str, turn_id: str | None) -> None:
        """Move the head to a turn. Nothing is removed."""
        ...

    async def set_archived(self, session_id: str, at: datetime | None) -> None:
        """Archive it, or with None list it again."""
        ...

    async def recent(
        self,
        *,
        project_id: str | None = None,
        with_id_part: str = "",
        archived: bool | None = None,
        limit: int = 1000,
    ) -> list[SessionRow]:
        """Sessions, the last active first; `with_id_part` keeps those whose id fits (`ids.id_fits`).

        archived: only those that are, or only those that are not.

        Reads a bounded number of rows a session, however long the sessions are.
        """
        ...

    async def of_others(self, person: str, *, project_id: str | None = None) -> set[str]:
        """Ids of the sessions that somebody else began, as far as it is known who did."""
        ...

    async def delete(self, session_id: str, *, dry_run: bool = False) -> Deleted:
        """Remove it with its turns and calls, but for turns that lie on another session's path."""
        ...

    async def claim(self, session_id: str) -> Claim:
        """Become its one writer. Raises SessionBusy while another process, or this one, is.

        Turns that stand as running, left by a writer that died, become interrupted, and so do the calls of
        their steps that never ended; those that wait for consent go on waiting.
        """
        ...


class Turns(Protocol):
    """The turns and their steps.

    A turn is *abandoned* when no head of any session has it on its path: heads moved away from it. It stays
    stored and is found, marked.
    """

    async def start(self, turn: Turn) -> None:
        """Keep the user's words as a child of `turn.parent` and move the session's head to it."""
        ...

    async def reword(self, turn_id: str, user: Parts) -> None:
        """Put these words in the place of the user's, of a turn that runs and has no step yet.

        Raises Conflict where it is not stored, has a step or does not run any more.
        """
        ...

    async def save_step(self, step: Step, *, waits: bool = False) -> None:
        """Keep a step before its calls run; a stored one stays as it is.

        waits: one of its calls waits for consent, and so does a turn that runs.
        """
        ...

    async def end(self, end: TurnEnd) -> None:
        """Keep how the turn ended, its last step and its text; its usage is the sum of its steps'."""
        ...

    async def reopen(self, turn_id: str) -> None:
        """Let a turn that ended or waits run on, and move its session's head to it."""
        ...

    async def get(self, turn_id: str) -> Turn | None: ...

    async def read(self, turn_ids: Sequence[str]) -> list[Turn]:
        """Those of the turns that are stored, in the order of the ids."""
        ...

    async def path(self, head: str | None, *, limit: int | None = None) -> list[Turn]:
        """The turns from the root to `head`, oldest first; with a limit, the newest of them."""
        ...

    async def abandoned(self, turn_ids: Sequence[str]) -> set[str]:
        """Those of the turns that are abandoned."""
        ...

    async def writers(self, turn_ids: Sequence[str]) -> dict[str, str]:
        """Who wrote these turns, by their ids; those of which nobody knows are left out."""
        ...

    async def everybody(self) -> list[str]:
        """The ids of all who wrote a turn, in their order."""
        ...

    async def disown(self, person: str) -> None:
        """Let nobody be known for what this user wrote, began and had made: the costs stay, without a name.

        Raises StoreUnavailable while a server is away.
        """
        ...

    async def steps(self, turn_ids: Sequence[str]) -> list[Step]:
        """Their steps, ordered as the ids were given and by index."""
        ...


class ToolCalls(Protocol):
    """The tool calls."""

    async def add(self, call: ToolCall, step: Step) -> None:
        """Keep a call that ended, in one transaction with its step where that is not stored yet.

        A turn that waits goes on waiting: it is for another call of the step.
        """
        ...

    async def of_turns(self, turn_ids: Sequence[str]) -> list[ToolCall]:
        """Their calls, ordered as the ids were given, by step and by position."""
        ...


class UsageRow(Struct, frozen=True):
    """What one model used for one purpose."""

    model: str
    purpose: Purpose
    calls: int
    usage: Usage
    cost_usd: float | None


class PersonUsage(Struct, frozen=True):
    """What was used by one user, and for them."""

    person: str
    """Their id; empty where nobody knows."""
    calls: int
    usage: Usage
    cost_usd: float | None
    """None where a price is unknown."""


class StatisticsRow(Struct, frozen=True):
    """What was done and used by one user, with one model, in one project or on one day."""

    name: str
    """The id of the user or project, the model as `provider:name`, or the day as `2026-11-25`; empty where
    nobody knows."""
    sessions: int
    """Those with a prompt or a call."""
    prompts: int
    undone: int
    """Of the prompts, those on no path to a head any more."""
    versions: int
    """Those that turns made."""
    calls: int
    usage: Usage
    cost_usd: float | None
    """None where a price is unknown."""


class UsageLog(Protocol):
    """What was used, by whom and for what."""

    async def by_model(
        self,
        *,
        session_id: str | None = None,
        project_id: str | None = None,
        since: datetime | None = None,
        person: str | None = None,
    ) -> list[UsageRow]:
        """Sums a model and purpose, most expensive first.

        person: only of turns that they wrote, and of what was asked for them.
        """
        ...

    async def by_person(self, *, project_id: str | None = None) -> list[PersonUsage]:
        """Sums a user, most expensive first."""
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
        """Figures a name of the group, ordered by name. Their costs add up to those of `by_model`.

        A turn that two models answered is a prompt of either. offset: that of the user's clock from UTC, by
        which days are told apart. person: as in `by_model`.
        """
        ...

    async def by_session(self, session_ids: Sequence[str]) -> dict[str, float | None]:
        """What each of these sessions cost, in US dollars: None where a price is unknown, 0 where nothing was
        used."""
        ...

    async def add(self, spent: Spent) -> None:
        """Keep a model call that is not a step of a turn. Its session need not be stored (any more)."""
        ...
