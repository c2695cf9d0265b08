"""Memories found by their metadata in SQLite: project, types, importance, person, order.

    python benchmarks/memories.py [MEMORIES]

100,000 memories in 8 projects, the first of which has half of them, are asked for as the block, `/memory` and
the recall tool ask; then the same without the indexes of `memory`. Processor time, of 50 questions each.
"""

import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec.structs import replace

from ragforge.domain.memories import Memory, MemoryFilter, MemoryScope, MemorySort, MemoryType
from ragforge.domain.turns import ConversationSession, Project
from ragforge.store.base import Store
from ragforge.store.open import open_store
from ragforge.store.sqlite.connection import connect
from ragforge.store.sqlite.memory_rows import MEMORIES

MEMORIES_COUNT = 100_000
PROJECTS = 8
QUESTIONS = 50
GOAL_MS = 5.0
START = datetime(2025, 1, 6, 9, tzinfo=UTC)
# Most are facts and events; few say who somebody is.
TYPES = (*[MemoryType.FACT] * 10, *[MemoryType.EVENT] * 6, *[MemoryType.DECISION] * 4, *MemoryType)
STANDING = (MemoryType.PREFERENCE, MemoryType.IDENTITY)


def made_memories(count: int) -> list[Memory]:
    """Memories of all projects, types and times; the same each time."""
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
            created_at=(at := START + timedelta(minutes=number)),
            updated_at=at,
        )
        for number in range(count)
    ]


def questions() -> Mapping[str, MemoryFilter]:
    """What is asked for in each way."""
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
        "another project (global ones alone)": replace(small, project_id="p8"),
    }


async def fill(store: Store, path: Path, count: int) -> None:
    """All of them as rows, without words and vectors, which nothing here looks at."""
    for number in range(PROJECTS + 1):
        await store.projects.add(Project(f"p{number}", f"project {number}", START))
    await store.sessions.add(ConversationSession("s", "p0", "/", START, START))
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


async def measured(store: Store, wanted: MemoryFilter) -> tuple[int, float, float]:
    """How many are found, and milliseconds of the processor: the median and p95."""
    times: list[float] = []
    found: list[Memory] = []
    for _ in range(QUESTIONS):
        began = time.process_time()
        found = await store.memories.find(wanted)
        times.append((time.process_time() - began) * 1000)
    times.sort()
    return len(found), times[len(times) // 2], times[len(times) * 95 // 100]


async def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else MEMORIES_COUNT
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ragforge.db"
        store = await open_store(f"sqlite://{path}", machine_dir=Path(folder))
        await fill(store, path, count)
        with_index = {name: await measured(store, wanted) for name, wanted in questions().items()}
        connection = connect(path)
        for (name,) in list(
            connection.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'memory' "
                "AND sql IS NOT NULL"
            )
        ):
            connection.execute(f"DROP INDEX {name}")
        connection.close()
        without = {name: await measured(store, wanted) for name, wanted in questions().items()}
        await store.close()
    print(f"{count} memories{'':<22} {'found':>6} {'p50 ms':>8} {'p95 ms':>8} {'without indexes':>18}")
    for name, (found, median, late) in with_index.items():
        mark = "" if late <= GOAL_MS else f"  above {GOAL_MS:g} ms"
        bare = f"{without[name][1]:9.1f} {without[name][2]:8.1f}"
        print(f"{name:<37} {found:6} {median:8.2f} {late:8.2f} {bare}{mark}")


if __name__ == "__main__":
    asyncio.run(main())
