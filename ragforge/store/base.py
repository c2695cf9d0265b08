"""The contract of a store: a few protocols, one a noun. `tests/contract` holds every store to it.

Every method raises StoreUnavailable when the database cannot be read or written. Writes are durable
when they return. All are idempotent: the same call repeated with the same ids changes nothing.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol, TypeAlias

from ragforge.domain.search import Candidate, Hit, Query
from ragforge.domain.summaries import Summary
from ragforge.domain.turns import ConversationSession, Project, Step, ToolCall, Turn, TurnEnd
from ragforge.domain.usage import Usage
from ragforge.domain.vectors import Embedding, Near, Nearby, Owner


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


class Summaries(Protocol):
    """The summaries of turns, in levels."""

    async def save(self, summary: Summary) -> None:
        """Keep it; one of the same id is replaced, and what was embedded of it must be embedded again.

        Raises Conflict where its session, or something it covers, is not stored.
        """
        ...

    async def roll_up(self, summary: Summary) -> bool:
        """Keep it if nothing that it covers is covered by another of its level; whether it was kept.

        Decided once, whoever else tries at that moment: the session is locked, checked and written in one
        transaction of the database itself. Raises Conflict as `save`.
        """
        ...

    async def get(self, ids: Sequence[str]) -> list[Summary]:
        """Those that there are, in the order of the ids."""
        ...

    async def of_session(
        self, session_id: str, *, level: int | None = None, uncovered: bool = False
    ) -> list[Summary]:
        """The session's, by level and time; `uncovered` leaves out what a summary one level up covers."""
        ...

    async def covering(self, turn_ids: Sequence[str]) -> dict[str, list[Summary]]:
        """For each of the turns, the summaries that stand for it, lowest level first."""
        ...

    async def lacking(self, *, project_id: str | None = None, limit: int = 100) -> list[Turn]:
        """Turns that ended and have no level 1 summary, oldest first."""
        ...


class Vectors(Protocol):
    """The embeddings of turns and summaries, one an owner. Vectors of different models are never compared."""

    async def use(self, model: str, dimensions: int) -> None:
        """Make ready for this embedder. What another one made is not found until it is embedded again.

        Indexes of other dimensions are rebuilt. Raises UsageError for dimensions outside 1..4096.
        """
        ...

    async def save(self, embeddings: Sequence[Embedding]) -> None:
        """Keep them, many at once. Those whose owner is not stored (any more) are left out.

        Raises UsageError for a vector that is empty, zero, not finite, or longer than 4096.
        """
        ...

    async def get(self, owners: Sequence[Owner]) -> list[Embedding]:
        """Those that there are, in the order of the owners."""
        ...

    async def lacking(self, model: str, *, project_id: str | None = None, limit: int = 100) -> list[Owner]:
        """Ended turns and summaries without a vector of it, or whose text changed since; newest first."""
        ...

    async def nearest(self, nearby: Nearby) -> list[Near]:
        """The nearest, best first, ties by id. Vectors of other dimensions are not compared."""
        ...


class Search(Protocol):
    """Finding by words and by meaning. Ranking across sources is `memory.recall`'s."""

    async def words(self, query: Query) -> list[Hit]:
        """Turns, tool calls and summaries that hold the words, best first; any input is fine."""
        ...

    async def candidates(self, query: Query, nearby: Nearby | None = None) -> list[Candidate]:
        """What may answer: the best `query.limit` by words and the nearest `nearby.limit`, each once.

        `meaning` is given for those found by words too, where they have a vector of the model.
        """
        ...

    async def hits(self, candidates: Sequence[Candidate], text: str) -> list[Hit]:
        """The candidates as hits, in their order, with the excerpt that fits the text best."""
        ...


Record: TypeAlias = Project | ConversationSession | Turn | Step | ToolCall | Summary | Embedding
"""One thing that is stored, whole."""


class RecordKind(StrEnum):
    """The kinds of records, in the order in which they refer to each other."""

    PROJECT = "project"
    SESSION = "session"
    TURN = "turn"
    STEP = "step"
    TOOL_CALL = "tool_call"
    SUMMARY = "summary"
    EMBEDDING = "embedding"


class Archive(Protocol):
    """All that is stored, as records: for backups, and for copies from one store to another."""

    def dump(self) -> AsyncGenerator[Record, None]:
        """Every record, kind by kind in the order of RecordKind, parents before children; it streams.

        Turns by (index, id), steps by (turn, index), all others by id. One state of the database, whatever
        is written meanwhile. A session's head and a summary's `covers` may name what comes later.
        """
        ...

    async def load(self, records: Sequence[Record]) -> int:
        """Keep the records, some thousand at once, in the order of `dump`; how many were new or newer here.

        What is there already stays unless the record is newer: a session by its last activity, a turn by
        its end, an embedding by its text. Loading twice changes nothing.
        """
        ...

    async def fetch(self, kind: RecordKind, ids: Sequence[str]) -> list[Record]:
        """Those of the kind with these ids that there are, in any order.

        The id of a step is `TURN/INDEX`, that of an embedding is its owner's `KIND/ID`.
        """
        ...

    async def counts(self) -> Mapping[RecordKind, int]:
        """How many there are of each kind."""
        ...


@dataclass(frozen=True, slots=True)
class Link:
    """How it stands with the server behind a store, at this moment and without asking it."""

    waiting: int = 0
    """Rows that were acknowledged here and have not arrived there yet."""
    away: str = ""
    """Why the server cannot be reached, in a few words; empty while it can, or where there is none."""


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """What `db status` tells of a store."""

    kind: str
    """For people: "SQLite 3.54.0", "Neo4j 5.26.30 community"."""
    place: str
    """The file or the server, without a password."""
    schema: int
    latency_ms: float
    counts: Mapping[RecordKind, int]
    indexes: Mapping[str, str]
    """Each index and its state, such as "online" or "populating 40 %"."""
    details: Mapping[str, str] = field(default_factory=dict[str, str])
    """Anything else worth telling: size of the file, id of the database, embedder in use."""


class Store(Protocol):
    """Everything that is kept of conversations."""

    url: str
    projects: Projects
    sessions: Sessions
    turns: Turns
    calls: ToolCalls
    usage: UsageLog
    summaries: Summaries
    vectors: Vectors
    search: Search
    archive: Archive

    @property
    def link(self) -> Link:
        """What waits to be carried to a server, and whether it can be reached."""
        ...

    async def drain(self, *, timeout_s: float) -> Link:
        """Carry on what waits, for at most this long; what is left then."""
        ...

    async def status(self) -> StoreStatus:
        """What there is to know of the database."""
        ...

    async def check(self, *, repair: bool = False) -> list[str]:
        """What is wrong with the database, in sentences; empty when it is sound.

        With `repair`, what can be derived again is, and the sentences say what was done.
        """
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

    async def missing(self, digests: Sequence[str]) -> list[str]:
        """Those that are not here, in their order."""
        ...

    async def close(self) -> None:
        """Release the database."""
        ...
