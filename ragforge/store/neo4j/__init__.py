"""The store in a Neo4j graph: one server, Aura or a cluster, shared by people and machines."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain import timeouts
from ragforge.domain.errors import StoreUnavailable
from ragforge.domain.ids import new_id
from ragforge.store.base import Link, StoreStatus
from ragforge.store.files import outbox_file, servers_file
from ragforge.store.neo4j import migrations
from ragforge.store.neo4j.address import Address
from ragforge.store.neo4j.archive import Neo4jArchive
from ragforge.store.neo4j.calls import Neo4jToolCalls
from ragforge.store.neo4j.carrier import Carrier
from ragforge.store.neo4j.check import findings
from ragforge.store.neo4j.claims import Claims
from ragforge.store.neo4j.connection import Graph
from ragforge.store.neo4j.derivations import Neo4jDerived
from ragforge.store.neo4j.errors import LoginRefused
from ragforge.store.neo4j.identity import KnownServers
from ragforge.store.neo4j.leases import Neo4jLeases
from ragforge.store.neo4j.memories import Neo4jMemories
from ragforge.store.neo4j.nodes import Nodes
from ragforge.store.neo4j.orphans import Stranded, discard, find_stranded, note_address, take_over
from ragforge.store.neo4j.outbox import Outbox, Rows, open_outbox
from ragforge.store.neo4j.projects import Neo4jProjects
from ragforge.store.neo4j.retrieval import Neo4jSearch
from ragforge.store.neo4j.sessions import Neo4jSessions
from ragforge.store.neo4j.status import status
from ragforge.store.neo4j.summaries import Neo4jSummaries
from ragforge.store.neo4j.turns import Neo4jTurns
from ragforge.store.neo4j.usage import Neo4jUsageLog
from ragforge.store.neo4j.vectors import Neo4jVectors
from ragforge.store.neo4j.versions import Neo4jVersions


class Here(Struct, frozen=True):
    """The folder in which this machine stores its files for a database."""

    outbox: Outbox
    database_id: str
    machine: str
    lock_dir: Path
    stranded: tuple[Stranded, ...] = ()
    """The rows that wait for other databases that answered at the same address before."""


class Neo4jStore:
    """Implements `Store` on a server's database, with an outbox on this machine."""

    def __init__(
        self, url: str, graph: Graph, here: Here, *, away: str = "", abandoned_stale: bool = False
    ) -> None:
        """away: why the server cannot be reached; empty if it can. abandoned_stale: see `Carrier`."""
        outbox = here.outbox
        self.url = url
        self._graph = graph
        self._outbox = outbox
        self._here = here
        self._database_id = here.database_id
        self._carrier = Carrier(graph, outbox, reach=self._reach, fenced=self._fenced, away=away)
        self._nodes = Nodes(graph, outbox, self._carrier)
        self._carrier.abandoned_stale = abandoned_stale
        self._claims = Claims(self._nodes, here.lock_dir, here.machine)
        self.projects = Neo4jProjects(self._nodes)
        self.sessions = Neo4jSessions(self._nodes, self._claims)
        self.turns = Neo4jTurns(self._nodes)
        self.calls = Neo4jToolCalls(self._nodes)
        self.usage = Neo4jUsageLog(self._nodes)
        self.summaries = Neo4jSummaries(self._nodes)
        self.vectors = Neo4jVectors(self._nodes)
        self.memories = Neo4jMemories(self._nodes)
        self.derivations = Neo4jDerived(self._nodes)
        self.leases = Neo4jLeases(self._nodes)
        self.versions = Neo4jVersions(self._nodes)
        self.search = Neo4jSearch(self._nodes)
        self.archive = Neo4jArchive(self._nodes)
        self._closed = False
        self._carrier.start()

    @property
    def link(self) -> Link:
        """The rows that wait to be carried to the server, and whether it can be reached."""
        return replace(self._carrier.link, stranded=sum(each.rows for each in self._here.stranded))

    async def drain(self, *, timeout_s: float) -> Link:
        await self._carrier.drain(timeout_s)
        return self.link

    async def planned(self, *, timeout_s: float) -> bool:
        if not self._graph.is_planning or not await self._carrier.reached(timeouts.NEO4J_ANSWER_S_MAX):
            return False
        return await self._graph.planned(timeout_s=timeout_s)

    @property
    def stranded(self) -> tuple[Stranded, ...]:
        """The rows that waited here for other databases at this address when the store was opened."""
        return self._here.stranded

    async def take_stranded(self) -> int:
        """Queue the rows that waited for other databases for this one; return their number."""
        taken = 0
        for each in self._here.stranded:
            taken += await take_over(each, self._outbox, lock_dir=self._here.lock_dir)
        self._here = replace(self._here, stranded=())
        # The heads were written before their turns.
        self._carrier.abandoned_stale = True
        self._carrier.nudge()
        return taken

    async def discard_stranded(self) -> None:
        """Remove the rows that waited for other databases, permanently."""
        for each in self._here.stranded:
            await discard(each, lock_dir=self._here.lock_dir)
        self._here = replace(self._here, stranded=())

    async def changes(self) -> object | None:
        """Return None, because asking the server would take as long as searching."""
        return None

    async def status(self) -> StoreStatus:
        await self._nodes.arrive()
        info = await migrations.database_info(self._graph)
        if info is None:
            raise StoreUnavailable(f"{self._graph.address.shown} is no longer a ragforge database.")
        return await status(self._graph, info)

    async def check(self, *, repair: bool = False) -> list[str]:
        """Return the database's problems as sentences; empty if there are none."""
        if repair:
            await self._outbox.write(Rows.retry_refused)
        await self._nodes.arrive()
        await self._nodes.settle_abandoned()
        refused = await self._outbox.read(Rows.refused)
        found = await findings(self._graph, repair=repair)
        if repair:
            # Indexes may have been rebuilt.
            self._carrier.cool()
        return [
            *(
                f"{label} {identifier} waits here: the server refused it: {why}"
                for label, identifier, why in refused
            ),
            *found,
        ]

    async def close(self) -> None:
        """Carry what waits, for at most 5 s, and release everything, claims included.

        An unreachable server is hardly waited for: what waits is carried after the next start.
        """
        if self._closed:
            return
        self._closed = True
        is_away = self._carrier.away
        await self._carrier.drain(timeouts.NEO4J_DRAIN_AWAY_S_MAX if is_away else timeouts.NEO4J_DRAIN_S_MAX)
        await self._nodes.settle_abandoned()
        await self._claims.release_all()
        await self._carrier.close()
        bookmarks = "\n".join(self._graph.bookmarks)
        await self._outbox.write(lambda rows: rows.set_fact("bookmarks", bookmarks))
        await self._outbox.close()
        await self._graph.close()

    async def _reach(self) -> None:
        """Check that the server answers, and that it still has the database that the rows belong to."""
        await self._graph.connect()
        info = await migrations.database_info(self._graph)
        if info is None or info.id != self._database_id:
            raise StoreUnavailable(
                f"{self._graph.address.shown} answers with a different database than before. Waiting rows "
                "are kept for the previous one: restart ragforge, then `ragforge db waiting` shows them."
            )
        self._carrier.abandoned_stale |= info.abandoned_stale

    async def _fenced(self, session_ids: tuple[str, ...]) -> None:
        await self._claims.fenced(session_ids)


async def open_store(url: str, *, machine_dir: Path, password: str = "", adopt: bool = False) -> Neo4jStore:
    """Return the store of the database at this address.

    If a server that was reached before is unreachable now, what is written waits here.

    Raises UsageError for a wrong address, StoreUnavailable for a server that was never reached, StoreForeign,
    StoreOlder or StoreNewer.
    """
    address = Address.from_url(url, password)
    known = KnownServers(servers_file(machine_dir))
    expected = await asyncio.to_thread(known.find, address.shown)
    here = await _here(machine_dir, expected, address) if expected else None
    bookmarks = await here.outbox.read(lambda rows: rows.fact("bookmarks")) if here else ""
    graph = Graph(address, bookmarks=bookmarks.split())
    away, abandoned_stale = "", False
    try:
        try:
            await graph.connect()
            info = await migrations.prepare(graph, adopt=adopt)
            found, abandoned_stale = info.id, info.abandoned_stale
            await asyncio.to_thread(known.remember, address.shown, found)
            if here is None or here.database_id != found:
                if here:
                    await here.outbox.close()
                here = await _here(machine_dir, found, address)
        except LoginRefused:
            raise
        except StoreUnavailable as error:
            if here is None:
                raise StoreUnavailable(
                    f"{error} This server was never reached before, so nothing can be kept for it yet."
                ) from error
            away = str(error)
        here = replace(here, stranded=await asyncio.to_thread(_stranded, here, address, known))
        return Neo4jStore(url, graph, here, away=away, abandoned_stale=abandoned_stale)
    except BaseException:
        await graph.close()
        raise


async def migrate_store(
    url: str, *, machine_dir: Path, password: str = "", tell: Callable[[str], None]
) -> int:
    """Migrate the database to the schema of this version; return the number of steps taken."""
    del machine_dir  # nothing is stored here
    graph = Graph(Address.from_url(url, password))
    try:
        await graph.connect()
        return await migrations.migrate(graph, tell)
    finally:
        await graph.close()


def _stranded(here: Here, address: Address, known: KnownServers) -> tuple[Stranded, ...]:
    folder = here.outbox.path.parent
    return tuple(find_stranded(folder, address.shown, here=here.database_id, known=known.ids()))


async def _here(machine_dir: Path, database_id: str, address: Address) -> Here:
    lock_dir = machine_dir / "locks"
    path = outbox_file(machine_dir, database_id).path
    outbox = await asyncio.to_thread(open_outbox, path, lock_dir=lock_dir)

    def prepare(rows: Rows) -> str:
        rows.prune()
        note_address(rows, address.shown)
        if not rows.fact("machine"):
            rows.set_fact("machine", new_id())
        return rows.fact("machine")

    return Here(outbox, database_id, await outbox.write(prepare), lock_dir)
