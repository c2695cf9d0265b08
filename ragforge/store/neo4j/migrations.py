"""Build the schema and bring it up to date, in the numbered steps of `steps.py`.

Each completed step is in the graph as a RagforgeMigration node with its checksum; the node of version 0
is the lock against a second process. Schema and data are changed in separate transactions, every statement
can be repeated, and a step is recorded after its last: if the process is killed in between, the next one
continues once the lock has expired.
"""

import asyncio
import os
import socket
import time
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import asynccontextmanager, suppress

from msgspec import Struct

from ragforge.domain import timeouts
from ragforge.domain.errors import (
    StoreDamaged,
    StoreError,
    StoreForeign,
    StoreNewer,
    StoreOlder,
    StoreUnavailable,
)
from ragforge.domain.ids import new_id
from ragforge.store.neo4j.connection import Graph, Transaction
from ragforge.store.neo4j.errors import StatementRefused
from ragforge.store.neo4j.rows import Label
from ragforge.store.neo4j.schema import DEFAULT_DIMENSIONS, LASTING, await_online, vector_indexes
from ragforge.store.neo4j.steps import STEPS, Step, statements

NAMED_MAX = 5
"""How many foreign labels an error names."""

LOCKABLE = (
    "CREATE CONSTRAINT migration_version IF NOT EXISTS FOR (n:RagforgeMigration) REQUIRE n.version IS UNIQUE"
)
"""Before everything else: without it two processes that merge one node may create two."""


class DatabaseInfo(Struct, frozen=True):
    """The database's own node. schema: the last completed step."""

    id: str
    schema: int
    embedder: str = ""
    dimensions: int = DEFAULT_DIMENSIONS
    abandoned_stale: bool = False
    """Whether all turns must be checked to know which are abandoned; see `abandonment.py`."""


async def database_info(graph: Graph) -> DatabaseInfo | None:
    """Return the database's own node, or None if it is not ours (yet). Writes nothing."""
    rows = await graph.read(f"MATCH (d:{Label.DATABASE}) RETURN properties(d) AS d ORDER BY d.id LIMIT 1")
    if not rows:
        return None
    found = rows[0]["d"]
    return DatabaseInfo(
        id=found["id"],
        schema=found.get("schema", 0),
        embedder=found.get("embedder", ""),
        dimensions=found.get("dimensions", DEFAULT_DIMENSIONS),
        abandoned_stale="leftStale" in found,
    )


async def prepare(graph: Graph, *, adopt: bool, steps: tuple[Step, ...] = STEPS) -> DatabaseInfo:
    """Return the database, built if it is empty. adopt: also if it contains foreign data.

    Raises StoreOlder, StoreNewer, StoreForeign, and StoreDamaged for a step that is not one of ours.
    """
    info = await database_info(graph)
    if info is None:
        if not adopt and (foreign := await foreign_labels(graph)) and await database_info(graph) is None:
            # Otherwise another process is building it at this moment.
            raise _foreign(graph, foreign)
        await _take_steps(graph, steps, tell=lambda _: None)
        info = await database_info(graph)
        if info is None:
            raise StoreDamaged(
                f"The database at {graph.address.shown} lost its RagforgeDatabase node. Try again."
            )
    _check_version(graph, info, steps)
    await _check_checksums(graph, steps)
    if info.schema < len(steps) and await _is_unused(graph):
        # The process that started to build it was interrupted.
        await _take_steps(graph, steps, tell=lambda _: None)
        info = await database_info(graph) or info
    if info.schema < len(steps):
        raise StoreOlder(
            f"The database at {graph.address.shown} has schema {info.schema}, this ragforge needs "
            f"{len(steps)}. Others may be using it: update ragforge on every machine, then run once: "
            "ragforge db migrate."
        )
    return info


async def migrate(graph: Graph, tell: Callable[[str], None], *, steps: tuple[Step, ...] = STEPS) -> int:
    """Run the missing steps, and report each; return their number.

    Raises StoreUnavailable if there is no database of ours, and otherwise like `prepare`.
    """
    info = await database_info(graph)
    if info is None:
        raise StoreUnavailable(
            f"There is nothing to migrate at {graph.address.shown}: ragforge has not been used with it. "
            "Run ragforge db connect."
        )
    _check_version(graph, info, steps)
    return await _take_steps(graph, steps, tell=tell)


async def foreign_labels(graph: Graph) -> list[str]:
    """Return the labels in a database that is not ours, most frequent first; "" for unlabelled nodes."""
    rows = await graph.read(
        "CALL db.labels() YIELD label WITH label WHERE label <> $own "
        "CALL (label) { MATCH (n:$(label)) RETURN count(n) AS nodes } "
        "WITH label, nodes WHERE nodes > 0 RETURN label ORDER BY nodes DESC, label",
        own=str(Label.MIGRATION),
    )
    if rows:
        return [row["label"] for row in rows]
    # In this order, so that a node which another process of ours adds in between does not count as foreign.
    every = await graph.read("MATCH (n) RETURN count(n) AS nodes")
    own = await graph.read(f"MATCH (n:{Label.MIGRATION}) RETURN count(n) AS nodes")
    return [""] if every[0]["nodes"] > own[0]["nodes"] else []


async def _is_unused(graph: Graph) -> bool:
    """Whether nothing was ever stored in the database, so that nobody else can be using it."""
    kept = (Label.PROJECT, Label.SESSION, Label.MEMORY)
    found = await graph.read(f"RETURN {' OR '.join(f'EXISTS {{ (:{label}) }}' for label in kept)} AS used")
    return not found[0]["used"]


async def _take_steps(graph: Graph, steps: tuple[Step, ...], *, tell: Callable[[str], None]) -> int:
    """Run the missing steps; return their number."""
    taken = 0
    await graph.run(LOCKABLE, deadline_s=timeouts.NEO4J_MIGRATION_STATEMENT_S_MAX)
    async with _locked(graph) as holder:
        # Another process may have run steps while this one waited.
        await _check_checksums(graph, steps)
        done = {row["version"] for row in await _recorded(graph)}
        for version, step in enumerate(steps, start=1):
            if version in done:
                continue
            tell(f"Step {version} of {len(steps)}: {step.name}.")
            await _change_schema(graph, step)
            for statement in statements(step.data):
                await graph.run(statement, deadline_s=timeouts.NEO4J_MIGRATION_STATEMENT_S_MAX)
            await _record(graph, version, step, holder=holder)
            taken += 1
        await _await_indexes(graph, tell)
    return taken


async def _change_schema(graph: Graph, step: Step) -> None:
    """Run all statements of the step at once: five times faster than one by one."""
    current = ""

    async def work(transaction: Transaction) -> None:
        nonlocal current
        for current in statements(step.schema):
            await transaction.run(current)

    try:
        await graph.transaction(work, deadline_s=timeouts.NEO4J_MIGRATION_STATEMENT_S_MAX)
    except StatementRefused as error:
        raise StoreUnavailable(
            f"Cannot build the schema at {graph.address.shown}: {error} Something is in the way of: "
            f"{' '.join(current.split())[:120]}. Remove it, or choose another database."
        ) from error


async def _record(graph: Graph, version: int, step: Step, *, holder: str) -> None:
    """Record the step, if the lock is still ours; the first one makes the database ours."""
    rows = await graph.write(
        f"""
        MATCH (lock:{Label.MIGRATION} {{version: 0}})
        SET lock.seen = datetime.realtime()
        WITH lock WHERE lock.holder = $holder
        MERGE (m:{Label.MIGRATION} {{version: $version}})
        ON CREATE SET m.name = $name, m.checksum = $checksum, m.appliedAt = datetime.realtime()
        WITH lock
        CALL () {{ OPTIONAL MATCH (d:{Label.DATABASE}) RETURN count(d) AS databases }}
        FOREACH (_ IN CASE databases WHEN 0 THEN [1] ELSE [] END |
          CREATE (:{Label.DATABASE} {{id: $id, schema: 0, dimensions: $dimensions}}))
        WITH lock
        MATCH (d:{Label.DATABASE}) WHERE d.schema <= $version
        SET d.schema = $version
        RETURN d.id AS id
        """,
        deadline_s=timeouts.NEO4J_MIGRATION_STATEMENT_S_MAX,
        holder=holder,
        version=version,
        name=step.name,
        checksum=step.checksum,
        id=new_id(),
        dimensions=DEFAULT_DIMENSIONS,
    )
    if not rows:
        raise StoreUnavailable(
            f"Another process took over the migration of {graph.address.shown}, because this one did not "
            f"respond for {timeouts.NEO4J_MIGRATION_LEASE_S} s. Try again when it is done."
        )


async def _await_indexes(graph: Graph, tell: Callable[[str], None]) -> None:
    """Wait until the indexes are filled; if they are filled later, that is not an error."""
    wanted = (*LASTING, *vector_indexes(DEFAULT_DIMENSIONS, filters=False))
    until = time.monotonic() + timeouts.NEO4J_INDEXES_S_MAX
    while not await await_online(graph, wanted, wait_s=timeouts.NEO4J_INDEXES_SLICE_S):
        if time.monotonic() > until:
            tell("The indexes are still being filled; searches find more as they fill.")
            return
        tell("Waiting for the indexes.")


@asynccontextmanager
async def _locked(graph: Graph) -> AsyncGenerator[str, None]:
    """Hold the lock against other processes while the body runs; yields the name of the holder, us."""
    holder = f"{socket.gethostname()} {os.getpid()} {new_id()}"
    until = time.monotonic() + timeouts.NEO4J_MIGRATION_LOCK_S_MAX
    while other := await _take_lock(graph, holder, deadline_s=timeouts.NEO4J_MIGRATION_LOCK_S_MAX):
        if time.monotonic() > until:
            raise StoreUnavailable(
                f"The database at {graph.address.shown} is being prepared by another process, on "
                f"{other.rpartition(' ')[0]}. Wait until it is done and try again."
            )
        await asyncio.sleep(timeouts.NEO4J_MIGRATION_LOCK_POLL_S)
    beat = asyncio.create_task(_keep_lock(graph, holder))
    try:
        yield holder
    finally:
        beat.cancel()
        with suppress(asyncio.CancelledError):
            await beat
        # Otherwise it expires.
        with suppress(StoreError):
            await graph.write(
                f"MATCH (lock:{Label.MIGRATION} {{version: 0, holder: $holder}}) "
                "REMOVE lock.holder, lock.until",
                holder=holder,
            )


async def _take_lock(graph: Graph, holder: str, *, deadline_s: float) -> str:
    """Return who holds the lock instead of us; empty if it is ours."""
    rows = await graph.write(
        f"""
        MERGE (lock:{Label.MIGRATION} {{version: 0}})
        ON CREATE SET lock.name = 'lock'
        SET lock.seen = datetime.realtime()
        WITH lock, lock.holder = $holder OR coalesce(lock.until < datetime.realtime(), true) AS free
        SET lock.holder = CASE WHEN free THEN $holder ELSE lock.holder END,
          lock.until = CASE WHEN free
            THEN datetime.realtime() + duration({{seconds: $lease}}) ELSE lock.until END
        RETURN CASE WHEN free THEN '' ELSE lock.holder END AS other
        """,
        deadline_s=deadline_s,
        holder=holder,
        lease=timeouts.NEO4J_MIGRATION_LEASE_S,
    )
    return rows[0]["other"]


async def _keep_lock(graph: Graph, holder: str) -> None:
    while True:
        await asyncio.sleep(timeouts.NEO4J_MIGRATION_HEARTBEAT_S)
        # A heartbeat may fail; the lock is checked again with each step that is recorded.
        with suppress(StoreError):
            await _take_lock(graph, holder, deadline_s=timeouts.NEO4J_MIGRATION_HEARTBEAT_S)


async def _recorded(graph: Graph) -> list[dict[str, object]]:
    return await graph.read(
        f"MATCH (m:{Label.MIGRATION}) WHERE m.version > 0 "
        "RETURN m.version AS version, m.checksum AS checksum, m.name AS name ORDER BY version"
    )


async def _check_checksums(graph: Graph, steps: tuple[Step, ...]) -> None:
    for row in await _recorded(graph):
        version = row["version"]
        if not isinstance(version, int) or version > len(steps):
            raise _newer(graph, str(version))
        if row["checksum"] != steps[version - 1].checksum:
            raise StoreDamaged(
                f"Step {version} of the schema at {graph.address.shown} is not the one that this ragforge "
                "knows: an unreleased version made it. Back it up with that version, and restore the "
                "backup into an empty database."
            )


def _check_version(graph: Graph, info: DatabaseInfo, steps: tuple[Step, ...]) -> None:
    if info.schema > len(steps):
        raise _newer(graph, str(info.schema))


def _newer(graph: Graph, schema: str) -> StoreNewer:
    return StoreNewer(
        f"The database at {graph.address.shown} was written by a newer ragforge (schema {schema}). Update "
        "this one, or choose another database."
    )


def _foreign(graph: Graph, labels: Collection[str]) -> StoreForeign:
    named = [label or "nodes without a label" for label in labels][:NAMED_MAX]
    more = f" and {len(labels) - NAMED_MAX} more" if len(labels) > NAMED_MAX else ""
    return StoreForeign(
        f"The database at {graph.address.shown} contains other data: {', '.join(named)}{more}. Nothing was "
        "written. Choose a separate database for ragforge, or agree to share this one: ragforge db "
        "connect."
    )
