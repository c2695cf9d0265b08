"""The store in a file of SQLite: the default, with nothing to install or start."""

import asyncio
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from ragforge.domain.errors import UsageError
from ragforge.domain.redact import hide_url_passwords
from ragforge.store.base import Link, StoreStatus
from ragforge.store.sqlite.connection import STORE_CACHE_KIB, Database
from ragforge.store.sqlite.migrations import STORE
from ragforge.store.sqlite.prepare import prepare
from ragforge.store.sqlite.projects import SqliteProjects
from ragforge.store.sqlite.search import SqliteSearch
from ragforge.store.sqlite.vectors import SqliteVectors

if TYPE_CHECKING:
    from ragforge.store.sqlite.archive import SqliteArchive
    from ragforge.store.sqlite.calls import SqliteToolCalls
    from ragforge.store.sqlite.derivations import SqliteDerived
    from ragforge.store.sqlite.leases import SqliteLeases
    from ragforge.store.sqlite.memories import SqliteMemories
    from ragforge.store.sqlite.sessions import SqliteSessions
    from ragforge.store.sqlite.summaries import SqliteSummaries
    from ragforge.store.sqlite.turns import SqliteTurns
    from ragforge.store.sqlite.usage import SqliteUsageLog
    from ragforge.store.sqlite.versions import SqliteVersions

LATER = {
    "turns": "SqliteTurns",
    "calls": "SqliteToolCalls",
    "usage": "SqliteUsageLog",
    "summaries": "SqliteSummaries",
    "memories": "SqliteMemories",
    "derivations": "SqliteDerived",
    "leases": "SqliteLeases",
    "versions": "SqliteVersions",
    "archive": "SqliteArchive",
}
"""What a search does not need, each in the file of its name: loaded on first use."""


class SqliteStore:
    """Implements `Store` on one file, shared by any number of processes."""

    sessions: "SqliteSessions"
    turns: "SqliteTurns"
    calls: "SqliteToolCalls"
    usage: "SqliteUsageLog"
    summaries: "SqliteSummaries"
    memories: "SqliteMemories"
    derivations: "SqliteDerived"
    leases: "SqliteLeases"
    versions: "SqliteVersions"
    archive: "SqliteArchive"

    def __init__(self, url: str, path: Path, lock_dir: Path) -> None:
        self.url = url
        self._database = Database(path, cache_kib=STORE_CACHE_KIB)
        self._lock_dir = lock_dir
        self.projects = SqliteProjects(self._database)
        self.vectors = SqliteVectors(self._database)
        self.search = SqliteSearch(self._database, self.vectors)

    def __getattr__(self, name: str) -> object:
        """The attribute, loaded on first use."""
        if name == "sessions":
            from ragforge.store.sqlite.sessions import SqliteSessions

            made: object = SqliteSessions(self._database, self._lock_dir)
        elif name in LATER:
            module = import_module(f"ragforge.store.sqlite.{name}")
            made = getattr(module, LATER[name])(self._database)
        else:
            raise AttributeError(f"{type(self).__name__} has no {name}")
        setattr(self, name, made)
        return made

    @property
    def link(self) -> Link:
        """Nothing waits, because there is no server."""
        return Link()

    async def drain(self, *, timeout_s: float) -> Link:
        """Nothing is left: every write is durable when it returns."""
        del timeout_s
        return Link()

    async def planned(self, *, timeout_s: float) -> bool:
        """There is no server that would have to prepare."""
        del timeout_s
        return False

    async def changes(self) -> object | None:
        """SQLite's data version of the reading connection, which changes when any other one commits."""
        return await self._database.read(lambda connection: connection.pragma("data_version"))

    async def status(self) -> StoreStatus:
        from ragforge.store.sqlite.status import status_of

        return await self._database.read(lambda connection: status_of(connection, self._database.path))

    async def check(self, *, repair: bool = False) -> list[str]:
        """Return what is wrong with the database, in sentences; empty if it is sound.

        With `repair`, what was repaired, then what is still wrong. Turns and calls are never touched.
        """
        # Rarely needed.
        from ragforge.store.sqlite.check import findings
        from ragforge.store.sqlite.repair import repaired

        done = await self._database.write(repaired) if repair else []
        # FTS5's integrity check trusts its connection's cache, and reports what another connection has merged
        # since then as damaged.
        return [*done, *await self._database.read_afresh(findings)]

    async def close(self) -> None:
        if "sessions" in vars(self):
            await self.sessions.release_all()
        await self._database.close()


async def open_store(url: str, *, machine_dir: Path, password: str = "", adopt: bool = False) -> SqliteStore:
    """Open the store of the file that `sqlite:///ABSOLUTE/PATH` names, created if it is missing.

    Raises UsageError for a URL without an absolute path, StoreUnavailable, StoreDamaged, StoreNewer.
    """
    del password, adopt  # a file has no password, and a foreign one is never used
    path, lock_dir = path_of(url), machine_dir / "locks"
    await asyncio.to_thread(prepare, path, STORE, lock_dir=lock_dir)
    return SqliteStore(url, path, lock_dir)


def path_of(url: str) -> Path:
    """Return the file that the URL names. Raises UsageError."""
    path = Path(url.removeprefix("sqlite://"))
    if not url.startswith("sqlite://") or not path.is_absolute() or "\0" in url:
        shown = hide_url_passwords(url)
        raise UsageError(f"Not a store's address: {shown!r}. Write it like sqlite:///home/me/ragforge.db.")
    return path
