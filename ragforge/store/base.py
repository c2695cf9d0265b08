"""The contract of a store: one protocol for each kind of record. `tests/contract` tests every store against
it.

Every method raises StoreUnavailable if the database cannot be read or written. Writes are durable when they
return. All are idempotent: repeating a call with the same ids changes nothing.
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
"""One stored thing, complete."""


class Archive(Protocol):
    """Everything in a store, as records: for backups and for copies between stores."""

    def dump(self) -> AsyncGenerator[Record, None]:
        """Stream every record, by kind in the order of RecordKind, parents before children.

        Turns are ordered by (index, id), steps by (turn, index), versions by (time, id), all others by id.
        All records are from the same state of the database, even if it is written meanwhile. A session's head
        and a summary's `covers` may refer to records that come later.
        """
        ...

    async def load(self, records: Sequence[Record]) -> int:
        """Save the records, some thousand at once, in the order of `dump`. Return how many were new or newer.

        An existing record is kept unless the new one is newer: a session by its last activity, a turn by its
        end, a memory by `updated_at`, an embedding by its text, a branch or a derived record by `at`. A
        version never changes, except that one without a session takes session, turn and title of one that has
        them. Loading twice changes nothing.
        """
        ...

    async def rewrite(self, records: Sequence[Record], *, without: Sequence[str]) -> None:
        """Remove the memories with the ids in `without`, then give stored records these texts, in one
        transaction.

        Also removes index entries and vectors of the former texts. Memories and links that do not exist are
        saved again, so a removed memory is replaced with all its links; other records that do not exist are
        skipped.
        """
        ...

    async def fetch(self, kind: RecordKind, ids: Sequence[str]) -> list[Record]:
        """Return the existing records of the kind with these ids, in any order.

        The id of a step is `TURN/INDEX`, of an embedding its owner's `KIND/ID`, of an association
        `KIND/FROM/TO` and its turn, of a branch `PROJECT/NAME`.
        """
        ...

    async def counts(self) -> Mapping[RecordKind, int]:
        """Return the number of records of every kind, 0 if there are none."""
        ...


class Link(Struct, frozen=True):
    """The state of the connection to the server behind a store, known without asking the server."""

    waiting: int = 0
    """Rows that were saved here and have not reached the server yet."""
    away: str = ""
    """Why the server cannot be reached, in a few words; empty if it can, or if there is no server."""
    held: str = ""
    """Which process of this machine keeps rows from being sent, and since when; empty if none does."""
    stranded: int = 0
    """Rows here for a database that answered at this address before and no longer does."""
    partial: int = 0
    """How many answers since the store was opened lacked something: the server was away, or rows late."""
    missing: str = ""
    """What the newest of them lacked and why, in sentences."""


class StoreStatus(Struct, frozen=True):
    """What `db status` shows about a store."""

    kind: str
    """For users: "SQLite 3.54.0", "Neo4j 5.26.30 community"."""
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
    """Everything that is stored of conversations."""

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
        """Rows that wait for the server, and whether it can be reached."""
        ...

    async def drain(self, *, timeout_s: float) -> Link:
        """Send waiting rows for at most this long. Return what is left."""
        ...

    async def planned(self, *, timeout_s: float) -> bool:
        """Wait for at most this long while a server prepares for questions that it was too slow for.

        Return whether there were any, and it is prepared for all of them: asked again, it answers."""
        ...

    async def changes(self) -> object | None:
        """A value that differs once anything was written, by any process; None if that is not cheap to
        know."""
        ...

    async def status(self) -> StoreStatus:
        """Describe the database."""
        ...

    async def check(self, *, repair: bool = False) -> list[str]:
        """Return the problems of the database, in sentences; empty if there are none.

        With `repair`, derived data is rebuilt, and the sentences say what was done.
        """
        ...

    async def close(self) -> None:
        """Release everything. Claims end with it."""
        ...


async def keep_project(store: Store, project: Project) -> None:
    """Save the project if it is not stored yet."""
    if await store.projects.get(project.id) is None:
        await store.projects.add(project)


class Blobs(Protocol):
    """Contents by their SHA-256, on this machine."""

    async def put(self, data: bytes) -> str:
        """Save the bytes once. Return the hash in hexadecimal."""
        ...

    async def get(self, digest: str) -> bytes:
        """Return the bytes, verified by their hash.

        Raises StoreUnavailable if they are missing, StoreDamaged if they were altered.
        """
        ...

    async def put_many(self, contents: Sequence[bytes]) -> list[str]:
        """Save all in one transaction, durable when it returns. Return their hashes in hexadecimal."""
        ...

    async def put_files(self, paths: Sequence[Path], *, anew: bool = False) -> list[str | None]:
        """Like `put_many`, for the files as they are now; None for a file that cannot be read.

        anew: replace contents that exist here already, because they are damaged.
        """
        ...

    async def missing(self, digests: Sequence[str]) -> list[str]:
        """Return those that are not here, in their order."""
        ...

    async def unreadable(
        self, digests: Sequence[str], *, large: Collection[str] = (), read: Collection[str] = ()
    ) -> list[str]:
        """Return those that are missing on disk, or that are damaged, as far as `read` names them.

        large: those that are larger than a row of the database.
        Raises StoreError if the database as a whole cannot be read.
        """
        ...

    async def touch(self, digests: Sequence[str]) -> list[str]:
        """Return those that are not here. The others are protected from a clean-up for a day."""
        ...

    async def sizes(self) -> Mapping[str, int]:
        """Return every content here, with the bytes that it takes on disk."""
        ...

    async def removable(self, unused_since: datetime) -> Mapping[str, int]:
        """Like `sizes`, for contents not requested since then, whose stores are known."""
        ...

    async def delete(self, digests: Sequence[str], *, unused_since: datetime | None = None) -> int:
        """Remove these contents. Return the bytes that were freed.

        unused_since: only those that are still removable, as in `removable`.
        """
        ...

    async def tidy(self, unused_since: datetime) -> int:
        """Remove older files that no content needs, and free unused space. Return the bytes of both."""
        ...

    async def used_by(self) -> list[str]:
        """Return the addresses of the stores that refer to contents here."""
        ...

    async def set_used_by(self, store_url: str, *, used: bool = True) -> None:
        """Record that the store refers to contents here, or no longer does."""
        ...

    async def close(self) -> None:
        """Release the database."""
        ...
