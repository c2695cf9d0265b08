"""The contract of a store: a few protocols, one a noun. `tests/contract` holds every store to it.

Every method raises StoreUnavailable when the database cannot be read or written. Writes are durable
when they return. All are idempotent: the same call repeated with the same ids changes nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from ragforge.domain.search import Hit, Query
from ragforge.domain.turns import ConversationSession, Project, Step, ToolCall, Turn, TurnEnd
from ragforge.domain.usage import Usage


class Projects(Protocol):
    """The projects of this store."""

    async def add(self, project: Project) -> None:
        """Keep a new project; one of the same id is replaced."""
        ...

    async def get(self, project_id: str) -> Project | None:
        """The project, or None."""
        ...

    async def find(self, *, git_remote: str = "", first_commit: str = "") -> list[Project]:
        """Projects with the same remote or first commit, newest first; empty values match nothing."""
        ...


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A line of the session list."""

    session: ConversationSession
    turns: int
    """Turns on the path to the head."""
    last_message: str
    """Text of the newest turn's user message, cut at 200 characters."""


@dataclass(frozen=True, slots=True)
class Deleted:
    """What a deletion removed: `kept_turns` are on another session's path and stay."""

    turns: int
    kept_turns: int
    tool_calls: int


class Claim(Protocol):
    """The right to write a session, held until `release` or the end of the process."""

    async def release(self) -> None:
        """Give it up; doing so twice is harmless."""
        ...


class Sessions(Protocol):
    """The sessions and their heads."""

    async def add(self, session: ConversationSession) -> None:
        """Keep a new session (a fork too: it comes with a head on shared turns)."""
        ...

    async def get(self, session_id: str) -> ConversationSession | None:
        """The session, or None."""
        ...

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

    async def recent(
        self, *, project_id: str | None = None, with_id_part: str = "", limit: int = 1000
    ) -> list[SessionRow]:
        """Sessions, the last active first; `with_id_part` keeps those whose id starts or ends with it.

        Reads a bounded number of rows a session, however long the sessions are.
        """
        ...

    async def delete(self, session_id: str, *, dry_run: bool = False) -> Deleted:
        """Remove it with its turns and calls, but for turns that lie on another session's path."""
        ...

    async def claim(self, session_id: str) -> Claim:
        """Become its one writer. Raises SessionBusy while another process, or this one, is.

        Turns that stand as running, left by a writer that died, become interrupted; those that wait
        for consent go on waiting.
        """
        ...


class Turns(Protocol):
    """The turns and their steps."""

    async def start(self, turn: Turn) -> None:
        """Keep the person's words as a child of `turn.parent` and move the session's head to it."""
        ...

    async def save_step(self, step: Step) -> None:
        """Keep a step before its calls have run, because one of them waits for consent: so does its turn."""
        ...

    async def end(self, end: TurnEnd) -> None:
        """Keep how the turn ended, its last step and its text; its usage is the sum of its steps'."""
        ...

    async def reopen(self, turn_id: str) -> None:
        """Let a turn that ended or waits run on, and move its session's head to it."""
        ...

    async def get(self, turn_id: str) -> Turn | None:
        """The turn, or None."""
        ...

    async def path(self, head: str | None, *, limit: int | None = None) -> list[Turn]:
        """The turns from the root to `head`, oldest first; with a limit, the newest of them."""
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


@dataclass(frozen=True, slots=True)
class UsageRow:
    """What one model used for one purpose."""

    model: str
    purpose: str
    calls: int
    usage: Usage
    cost_usd: float | None


class UsageLog(Protocol):
    """What was used, by whom and for what."""

    async def by_model(
        self, *, session_id: str | None = None, project_id: str | None = None, since: datetime | None = None
    ) -> list[UsageRow]:
        """Sums a model and purpose (`chat` here), most expensive first."""
        ...


class Search(Protocol):
    """Finding by words. Ranking across sources is `memory.recall`'s."""

    async def words(self, query: Query) -> list[Hit]:
        """Turns and tool calls that hold the words, best first; any input is fine, none is an error."""
        ...


class Store(Protocol):
    """Everything that is kept of conversations."""

    url: str
    projects: Projects
    sessions: Sessions
    turns: Turns
    calls: ToolCalls
    usage: UsageLog
    search: Search

    async def check(self) -> list[str]:
        """What is wrong with the database, in sentences; empty when it is sound."""
        ...

    async def close(self) -> None:
        """Release everything. Claims end with it."""
        ...


class Blobs(Protocol):
    """Contents by their SHA-256, on this machine."""

    async def put(self, data: bytes) -> str:
        """Keep the bytes, once; the hash in hex."""
        ...

    async def get(self, digest: str) -> bytes:
        """The bytes, verified by their hash.

        Raises StoreUnavailable when they are missing, StoreDamaged when they were altered.
        """
        ...

    async def close(self) -> None:
        """Release the database."""
        ...
