"""The status of a graph for `db status`."""

import time

from ragforge.store.base import StoreStatus
from ragforge.store.neo4j.archive_read import counts
from ragforge.store.neo4j.connection import Graph
from ragforge.store.neo4j.migrations import DatabaseInfo
from ragforge.store.neo4j.schema import find, wanted_now


async def status(graph: Graph, info: DatabaseInfo) -> StoreStatus:
    """Return the server, its contents, and the state of its indexes. Raises StoreUnavailable."""
    # The first query of a connection includes the time to connect.
    (row,) = await graph.read("CALL db.info() YIELD name RETURN name")
    began = time.perf_counter()
    await graph.read("RETURN 1")
    latency_ms = (time.perf_counter() - began) * 1000
    stands = await find(graph, wanted_now(graph, info.embedder, info.dimensions))
    embedder = f"{info.embedder}, {info.dimensions} dimensions" if info.embedder else "none yet"
    return StoreStatus(
        kind=f"Neo4j {graph.version_text} {graph.edition}",
        place=graph.address.shown,
        schema=info.schema,
        latency_ms=latency_ms,
        counts=await counts(graph),
        indexes={wanted.name: found.words if found else "missing" for wanted, found in stands},
        details={"database": row["name"], "database id": info.id, "embedder": embedder},
    )
