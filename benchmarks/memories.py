"""Memories found by their metadata: project, types, importance, person, strength, order.

    python benchmarks/memories.py [MEMORIES] [bolt://HOST:PORT]

100,000 memories in 8 projects, the first of which contains half of them, are queried as the block, `/memory`
and the recall tool do; then the same without the indexes of memories. In SQLite, and in a Neo4j database,
which must be empty, and stays filled. 50 questions each: processor time in SQLite, elapsed time on a server.
"""

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec.structs import replace

from ragforge.domain.memories import Memory, MemoryFilter, MemoryScope, MemorySort, MemoryType, Strength
from ragforge.domain.turns import ConversationSession, Project
from ragforge.store.base import Store
from ragforge.store.neo4j.address import Address
from ragforge.store.neo4j.connection import Graph
from ragforge.store.neo4j.memory_rows import memory_row
from ragforge.store.neo4j.rows import Label
from ragforge.store.neo4j.schema import LASTING, Kind
from ragforge.store.open import open_store
from ragforge.store.sqlite.connection import connect
from ragforge.store.sqlite.memory_rows import MEMORIES

MEMORIES_COUNT = 100_000
PROJECTS = 8
QUESTIONS = 50
GOAL_MS, SERVER_GOAL_MS = 5.0, 50.0
BATCH = 2_000
START = datetime(2025, 1, 6, 9, tzinfo=UTC)
# Most are facts and events; few say who somebody is.
TYPES = (*[MemoryType.FACT] * 10, *[MemoryType.EVENT] * 6, *[MemoryType.DECISION] * 4, *MemoryType)
STANDING = (MemoryType.PREFERENCE, MemoryType.IDENTITY)


def made_memories(count: int) -> list[Memory]:
    """Return memories of all projects, types and times; the same each time."""
    chance = random.Random(15)
    return [
        Memory(
            id=f"{number:08}",
            type=chance.choice(TYPES),
            scope=MemoryScope.GLOBAL if chance.random() < 0.001 else MemoryScope.PROJECT,
            project_id=f"p{0 if chance.random() < 0.5 else chance.randrange(1, PROJECTS)}",
            session_id="s",
            content=f"Module {number} depends on module {chance.randrange(count)}.",
            importance=chance.random(),
            confidence=chance.random(),
            strength=Strength.MUST if number % 1_000 == 0 else Strength.NONE,
            created_at=(at := START + timedelta(minutes=number)),
            updated_at=at,
        )
        for number in range(count)
    ]


def questions() -> Mapping[str, MemoryFilter]:
    """Return the query of each kind."""
    large, small = MemoryFilter("p0"), MemoryFilter("p7")
    last_month = START + timedelta(minutes=0.6 * MEMORIES_COUNT)
    return {
        "half of all, most important 100": large,
        "a 14th of all, most important 100": small,
        "a 14th, standing, of one person": replace(small, types=STANDING, person="ada@desk"),
        "a 14th, todos, newest 20": replace(
            small, types=(MemoryType.TODO,), sort=MemorySort.CREATED, limit=20
        ),
        "a 14th, importance from .9, since": replace(small, importance_min=0.9, since=last_month),
        "half of all, what binds": replace(large, binding=True, sort=MemorySort.RECENT),
        "another project (global ones alone)": replace(small, project_id="p8"),
    }


async def begin(store: Store) -> None:
    """Add the projects and a session."""
    for number in range(PROJECTS + 1):
        await store.projects.add(Project(f"p{number}", f"project {number}", START))
    await store.sessions.add(ConversationSession("s", "p0", "/", START, START))


async def fill(store: Store, path: Path, count: int) -> None:
    """Add all of them as rows, without words and vectors, which are not used here."""
    await begin(store)
    connection = connect(path)
    keys = dict(connection.execute("SELECT id, key FROM project"))
    first = next(connection.execute("SELECT max(key) FROM session"))[0] + 1_000_000
    with connection:
        connection.executemany(
            f"INSERT INTO memory (key, project, {MEMORIES.columns}) VALUES (?, ?, {MEMORIES.marks})",
            [
                (first + number, keys[memory.project_id], *MEMORIES.values(memory))
                for number, memory in enumerate(made_memories(count))
            ],
        )
    connection.close()


async def fill_graph(graph: Graph, count: int) -> None:
    """The same as nodes."""
    rows = [memory_row(memory) for memory in made_memories(count)]
    for start in range(0, count, BATCH):
        await graph.run(
            "UNWIND $rows AS row MATCH (p:Project {id: row.projectId}) "
            "CREATE (p)-[:HAS_MEMORY]->(n:Memory) SET n = row",
            rows=rows[start : start + BATCH],
        )


async def measured(
    store: Store, wanted: MemoryFilter, clock: Callable[[], float]
) -> tuple[int, float, float]:
    """Return how many are found, and milliseconds: the median and p95."""
    times: list[float] = []
    found: list[Memory] = []
    await store.memories.find(wanted)
    for _ in range(QUESTIONS):
        began = clock()
        found = await store.memories.find(wanted)
        times.append((clock() - began) * 1000)
    times.sort()
    return len(found), times[len(times) // 2], times[len(times) * 95 // 100]


async def in_sqlite(count: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ragforge.db"
        store = await open_store(f"sqlite://{path}", machine_dir=Path(folder))
        await fill(store, path, count)

        async def drop() -> None:
            connection = connect(path)
            indexes = (
                "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'memory' AND sql != ''"
            )
            for (name,) in list(connection.execute(indexes)):
                connection.execute(f"DROP INDEX {name}")
            connection.close()

        await compare(f"{count} memories, SQLite", store, drop, time.process_time, GOAL_MS)
        await store.close()


async def in_graph(count: int, url: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = await open_store(url, machine_dir=Path(folder))
        await begin(store)
        graph = Graph(Address.from_url(url))
        await fill_graph(graph, count)

        async def drop() -> None:
            for each in LASTING:
                if each.kind is Kind.RANGE and each.labels == (Label.MEMORY,):
                    await graph.run(each.drop)

        await compare(f"{count} memories, Neo4j", store, drop, time.perf_counter, SERVER_GOAL_MS)
        await graph.close()
        await store.close()


async def compare(
    title: str,
    store: Store,
    drop: Callable[[], Awaitable[None]],
    clock: Callable[[], float],
    goal_ms: float,
) -> None:
    """Print the times of the questions, then without the indexes, which `drop` removes."""
    with_index = {name: await measured(store, wanted, clock) for name, wanted in questions().items()}
    await drop()
    print(f"{title:<37} {'found':>6} {'p50 ms':>8} {'p95 ms':>8} {'without indexes':>18}")
    for name, (found, median, late) in with_index.items():
        _, *bare = await measured(store, questions()[name], clock)
        mark = "" if late <= goal_ms else f"  above {goal_ms:g} ms"
        print(
            f"{name:<37} {found:6} {median:8.2f} {late:8.2f} {bare[0]:9.1f} {bare[1]:8.1f}{mark}", flush=True
        )


async def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("memories", nargs="?", type=int, default=MEMORIES_COUNT)
    parser.add_argument("url", nargs="?", metavar="bolt://HOST:PORT", help="an empty Neo4j database")
    chosen = parser.parse_args()
    await in_sqlite(chosen.memories)
    if chosen.url:
        await in_graph(chosen.memories, chosen.url)


if __name__ == "__main__":
    asyncio.run(main())
