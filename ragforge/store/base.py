"""The contract of a store: a few protocols, one a noun. `tests/contract` holds every store to it.

Every method raises StoreUnavailable when the database cannot be read or written. Writes are durable
when they return. All are idempotent: the same call repeated with the same ids changes nothing.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from msgspec import Struct, field

from ragforge.domain.records import RecordKind

if TYPE_CHECKING:  # a search needs few of them, and they take long to load
    from ragforge.domain.derivations import Derived
    from ragforge.domain.memories import Association, Memory
    from ragforge.domain.summaries import Summary
    from ragforge.domain.turns import ConversationSession, Project, Step, ToolCall, Turn
    from ragforge.domain.usage import Spent
    from ragforge.domain.vectors import Embedding
    from ragforge.domain.versions import Branch, CheckoutLog, Version
    from ragforge.store.base_conversations import Projects, Sessions, ToolCalls, Turns, UsageLog
    from ragforge.store.base_memory import DerivedRecords, Leases, Memories, Search, Summaries, Vectors
    from ragforge.store.base_versions import Versions

_Said: TypeAlias = "Project | ConversationSession | Turn | Step | ToolCall | Spent"
_Learnt: TypeAlias = "Summary | Memory | Association | Derived | Embedding"
Record: TypeAlias = "_Said | _Learnt | Version | Branch | CheckoutLog"
"""One thing that is stored, whole."""


class Archive(Protocol):
    """All that is stored, as records: for backups, and for copies from one store to another."""

    def dump(self) -> AsyncGenerator[Record, None]:
        """Every record, kind by kind in the order of RecordKind, parents before children; it streams.

        Turns by (index, id), steps by (turn, index), versions by (time, id), all others by id. One state of
        the database, whatever is written meanwhile. A session's head and a summary's `covers` may name what
        comes later.
        """
        ...

    async def load(self, records: Sequence[Record]) -> int:
        """Keep the records, some thousand at once, in the order of `dump`; how many were new or newer here.

        What is there already stays unless the record is newer: a session by its last activity, a turn by
        its end, a memory by `updated_at`, an embedding by its text, a branch or a derived record by `at`. A
        version stays as it is, but for one that names no session: it takes session, turn and title of the
        one that does.
        Loading twice changes nothing.
        """
        ...

    async def rewrite(self, records: Sequence[Record], *, without: Sequence[str]) -> None:
        """Remove the memories with the ids in `without`, and then give stored records these texts, at once.

        Indexes and vectors of the texts before go too. Memories and links that are gone are stored again, so
        a memory that is removed too is replaced with all its links; of other records those that are gone are
        passed over.
        """
        ...

    async def fetch(self, kind: RecordKind, ids: Sequence[str]) -> list[Record]:
        """Those of the kind with these ids that there are, in any order.

        The id of a step is `TURN/INDEX`, that of an embedding is its owner's `KIND/ID`, that of an
        association `KIND/FROM/TO` and its turn, that of a branch `PROJECT/NAME`.
        """
        ...

    async def counts(self) -> Mapping[RecordKind, int]:
        """How many there are of every kind; 0 where there are none."""
        ...


class Link(Struct, frozen=True):
    """How it stands with the server behind a store, at this moment and without asking it."""

    waiting: int = 0
    """Rows that were acknowledged here and have not arrived there yet."""
    away: str = ""
    """Why the server cannot be reached, in a few words; empty while it can, or where there is none."""
    held: str = ""
    """Which process of this machine keeps them from being carried, and since when; empty where none does."""
    stranded: int = 0
    """Rows here for a database that answered at this address before, and does not any more."""
    partial: int = 0
    """How many answers since the store was opened lacked something: the server was away, or rows late."""
    missing: str = ""
    """What the newest of them lacked and why, in sentences."""


class StoreStatus(Struct, frozen=True):
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
    memories: Memories
    derivations: DerivedRecords
    leases: Leases
    versions: Versions
    search: Search
    archive: Archive

    @property
    def link(self) -> Link:
        """What waits to be carried to a server, and whether it can be reached."""
        ...

    async def drain(self, *, timeout_s: float) -> Link:
        """Carry on what waits, for at most this long; what is left then."""
        ...

    async def changes(self) -> object | None:
        """Differs as soon as anything was written, by whoever; None where that is not cheap to tell."""
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


async def keep_project(store: Store, project: Project) -> None:
    """Keep the project, unless it is kept already."""
    if await store.projects.get(project.id) is None:
        await store.projects.add(project)


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

    async def put_many(self, contents: Sequence[bytes]) -> list[str]:
        """Keep them all in one transaction, durable when it returns; their hashes in hex."""
        ...

    async def put_files(self, paths: Sequence[Path], *, anew: bool = False) -> list[str | None]:
        """As `put_many`, of the files as they are now; None for one that cannot be read.

        anew: what is here already is replaced, because it is damaged.
        """
        ...

    async def missing(self, digests: Sequence[str]) -> list[str]:
        """Those that are not here, in their order."""
        ...

    async def unreadable(
        self, digests: Sequence[str], *, large: Collection[str] = (), read: Collection[str] = ()
    ) -> list[str]:
        """Those that are missing by what is on the disk now, or that are damaged as far as `read` names them.

        large: those that are larger than what a row of the database holds.
        Raises StoreError where the database as a whole cannot be read.
        """
        ...

    async def touch(self, digests: Sequence[str]) -> list[str]:
        """Those that are not here; of the others no clean-up removes any for a day."""
        ...

    async def sizes(self) -> Mapping[str, int]:
        """Every content here, and the bytes that it takes on the disk."""
        ...

    async def removable(self, unused_since: datetime) -> Mapping[str, int]:
        """As `sizes`, of those that nobody has asked for since then and whose stores are known."""
        ...

    async def delete(self, digests: Sequence[str], *, unused_since: datetime | None = None) -> int:
        """Remove these contents; the bytes that became free.

        unused_since: only those that are still removable, as by `removable`.
        """
        ...

    async def tidy(self, unused_since: datetime) -> int:
        """Remove files that no content needs and that are older; give free room back; the bytes of both."""
        ...

    async def used_by(self) -> list[str]:
        """The addresses of the stores that refer to contents here."""
        ...

    async def set_used_by(self, store_url: str, *, used: bool = True) -> None:
        """Remember that the store refers to contents here, or that it does not any more."""
        ...

    async def close(self) -> None:
        """Release the database."""
        ...
