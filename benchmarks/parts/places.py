"""Where stores are measured: SQLite in a temporary folder, graphs in databases that may be emptied."""

import statistics
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from ragforge.store.base import Store
from ragforge.store.neo4j.address import Address
from ragforge.store.neo4j.connection import Graph
from ragforge.store.neo4j.rows import Label
from ragforge.store.open import open_store

OURS = "|".join(
    (
        *(Label.PROJECT, Label.SESSION, Label.TURN, Label.STEP, Label.CALL, Label.SUMMARY),
        *(Label.MEMORY, Label.USAGE, Label.LEASE),
    )
)


PATIENCE_S = 60


@asynccontextmanager
async def opened(kind: str, url: str) -> AsyncIterator[Store]:
    """A store, with this machine's data about it in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        address = f"sqlite://{folder}/ragforge.db" if kind == "sqlite" else url
        store = await open_store(address, machine_dir=Path(folder))
        try:
            yield store
        finally:
            await store.close()


@asynccontextmanager
async def empty_graph(url: str) -> AsyncIterator[Graph]:
    """Yield the database at the address, which is emptied at the end. Exits if it has data of ours."""
    graph = Graph(Address.from_url(url))
    try:
        # The first answer of a server that was just started may take long.
        (row,) = await graph.read(f"MATCH (n:{OURS}) RETURN count(n) AS nodes", deadline_s=PATIENCE_S)
        await graph.connect()
        if row["nodes"]:
            raise SystemExit(
                f"{graph.address.shown} holds {row['nodes']} nodes. Name a database that is empty."
            )
        try:
            yield graph
        finally:
            await emptied(graph)
    finally:
        await graph.close()


async def emptied(graph: Graph) -> None:
    """Remove everything stored; the indexes stay."""
    await graph.run(f"MATCH (n:{OURS}) CALL (n) {{ DETACH DELETE n }} IN TRANSACTIONS", deadline_s=600)


def ratios(ours: Sequence[float], bare: Sequence[float]) -> str:
    """Return the ratio to the bare operation, by their minimum and by their median."""
    return f"{min(ours) / min(bare):6.2f} {statistics.median(ours) / statistics.median(bare):6.2f}"
