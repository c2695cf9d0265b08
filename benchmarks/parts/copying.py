"""The cost of a copy, beside the same rows through plain batched UNWIND.

The rows for the plain writes are read from the graph after the copy, so that they are identical. They are in
memory before the clock starts, and nothing is looked up, compared or read back: that is the least that a copy
could cost. Both alternate, each into an emptied database.
"""

import tempfile
import time
from array import array
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from seed import seeded, turn_id

from parts.places import OURS, emptied, empty_graph, opened
from ragforge.domain.vectors import Embedding, Owner, OwnerKind
from ragforge.store.base import Store
from ragforge.store.blobs import SqliteBlobs
from ragforge.store.neo4j.connection import Graph
from ragforge.store.open import open_store
from ragforge.store.transfer import TransferResult, copy

TURNS = 10_000
DIMENSIONS = 256
MODEL = "measured"
ROUNDS = 2
WARM_TURNS = 1_000
BATCH = 1_000
DEADLINE_S = 120
HEADER = "                                 seconds    ratio"

# In the order in which they refer to each other; a turn's parent has a smaller depth.
PLAIN: Mapping[str, str] = {
    "Project": "CREATE (n:Project) SET n = row",
    "ConversationSession": """
        MATCH (p:Project {id: row.projectId})
        CREATE (n:ConversationSession) SET n = row
        CREATE (p)-[:HAS_SESSION]->(n)""",
    "ConversationTurn": """
        MATCH (s:ConversationSession {sessionId: row.sessionId})
        CREATE (n:ConversationTurn) SET n = row
        CREATE (s)-[:HAS_TURN]->(n)
        WITH n, row
        MATCH (p:ConversationTurn {id: row.parentId})
        CREATE (p)-[:NEXT]->(n)""",
    "ConversationStep": """
        MATCH (t:ConversationTurn {id: row.turnId})
        CREATE (n:ConversationStep) SET n = row
        CREATE (n)-[:PART_OF]->(t)""",
    "ToolCall": """
        MATCH (t:ConversationTurn {id: row.turnId})
        CREATE (n:ToolCall) SET n = row
        CREATE (t)-[:HAS_TOOL_CALL]->(n), (n)-[:PART_OF]->(t)""",
}
VECTORS = """
UNWIND $rows AS row
MATCH (n:ConversationTurn {id: row.id})
SET n.embeddingModel = row.model, n.embeddingHash = row.hash
WITH n, row
CALL db.create.setNodeVectorProperty(n, 'embedding', row.vector)
"""

SHAPE = f"""
MATCH (n:{OURS})
RETURN labels(n)[0] AS kind, count(n) AS count, sum(size(keys(n))) AS keys
UNION ALL
MATCH (:{OURS})-[r]->() RETURN type(r) AS kind, count(r) AS count, 0 AS keys
"""


@dataclass(frozen=True, slots=True)
class Plain:
    """All rows of a graph, by label, and its vectors."""

    rows: Mapping[str, Sequence[Mapping[str, Any]]]
    vectors: Sequence[Mapping[str, Any]]


@dataclass(slots=True)
class Took:
    """Seconds, a list per method."""

    moved: list[float] = field(default_factory=list)
    verified: list[float] = field(default_factory=list)
    plain: list[float] = field(default_factory=list)


async def measure(urls: Sequence[str]) -> None:
    """Copy a whole history into a store in SQLite, then into each server."""
    async with _source(TURNS) as source, _source(WARM_TURNS) as small:
        async with opened("sqlite", "") as target:
            moved = await _copied(source, target)
            rows = sum(moved.counts.values())
            _say("SQLite copy", moved.move_s, f"        {rows} records")
            _say("SQLite verification", moved.verify_s)
        for url in urls:
            async with empty_graph(url) as graph:
                # A server that was just started plans and compiles for a while.
                await _round(graph, url, small, Took())
                took = Took()
                for _ in range(ROUNDS):
                    await _round(graph, url, source, took)
                    _say(
                        f"{graph.version_text} copy",
                        took.moved[-1],
                        f"{took.moved[-1] / took.plain[-1]:8.2f}",
                    )
                    _say("  plain UNWIND", took.plain[-1])
                    _say("  verification", took.verified[-1])


async def _round(graph: Graph, url: str, source: Store, took: Took) -> None:
    async with opened(url, url) as target:
        await target.vectors.use(MODEL, DIMENSIONS)
        moved = await _copied(source, target)
    took.moved.append(moved.move_s)
    took.verified.append(moved.verify_s)
    plain = await _plain(graph)
    shape = await _shape(graph)
    await emptied(graph)
    began = time.perf_counter()
    await _write(graph, plain)
    took.plain.append(time.perf_counter() - began)
    if (written := await _shape(graph)) != shape:
        raise SystemExit(f"What was written plainly is not the same: {written}, not {shape}.")
    await emptied(graph)


async def _copied(source: Store, target: Store) -> TransferResult:
    with tempfile.TemporaryDirectory() as folder:
        blobs = SqliteBlobs(Path(folder) / "blobs.db")
        try:
            return await copy(source, target, blobs, machine_dir=Path(folder))
        finally:
            await blobs.close()


async def _plain(graph: Graph) -> Plain:
    rows: dict[str, list[dict[str, Any]]] = {}
    for label in PLAIN:
        order = "ORDER BY n.turnIndex" if label == "ConversationTurn" else ""
        query = f"MATCH (n:{label}) WITH n {order} RETURN n"
        rows[label] = [row["n"] async for row in graph.stream(query, deadline_s=DEADLINE_S)]
    vectors: list[dict[str, Any]] = []
    for turn in rows["ConversationTurn"]:
        model, digest, vector = (turn.pop(f"embedding{name}") for name in ("Model", "Hash", ""))
        vectors.append({"id": turn["id"], "model": model, "hash": digest, "vector": vector})
    return Plain(rows, vectors)


async def _write(graph: Graph, plain: Plain) -> None:
    for label, creation in PLAIN.items():
        for start in range(0, len(plain.rows[label]), BATCH):
            rows = plain.rows[label][start : start + BATCH]
            await graph.write(f"UNWIND $rows AS row {creation}", rows=rows, deadline_s=DEADLINE_S)
    for start in range(0, len(plain.vectors), BATCH):
        await graph.write(VECTORS, rows=plain.vectors[start : start + BATCH], deadline_s=DEADLINE_S)


async def _shape(graph: Graph) -> dict[str, tuple[int, int]]:
    """Return how many nodes, properties and relationships there are."""
    rows = await graph.read(SHAPE, deadline_s=DEADLINE_S)
    return {row["kind"]: (row["count"], row["keys"]) for row in rows}


@asynccontextmanager
async def _source(turns: int) -> AsyncIterator[Store]:
    """Return a seeded store in SQLite, with a vector for each turn."""
    random = np.random.default_rng(turns)
    vectors = random.standard_normal((turns, DIMENSIONS)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    with tempfile.TemporaryDirectory() as folder:
        path = seeded(Path(folder) / "ragforge.db", turns=turns)
        store = await open_store(f"sqlite://{path}", machine_dir=Path(folder))
        try:
            await store.vectors.use(MODEL, DIMENSIONS)
            await store.vectors.save(
                [
                    Embedding(
                        Owner(OwnerKind.TURN, turn_id(number)),
                        MODEL,
                        str(number),
                        array("f", vector.tobytes()),
                    )
                    for number, vector in enumerate(vectors)
                ]
            )
            yield store
        finally:
            await store.close()


def _say(what: str, seconds: float, more: str = "") -> None:
    print(f"{what:<32} {seconds:7.2f} {more}", flush=True)
