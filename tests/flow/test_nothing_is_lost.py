"""What other memory systems lost: writes that met, writes of many threads, rows of a migration."""

import asyncio
from pathlib import Path

import apsw

from ragforge.domain.memories import Memory, MemoryFilter
from ragforge.domain.search import HitKind, Query
from ragforge.store.base import Store
from ragforge.store.open import open_store
from ragforge.store.sqlite.connection import connect
from ragforge.store.sqlite.index import index_memory, index_turn
from ragforge.store.sqlite.migrations import STORE
from ragforge.store.sqlite.prepare import Schema, prepare
from tests.contract.builders import a_memory, new_session
from tests.contract.test_sqlite_schema import THIRD_ROWS

WAIT_S = 0.3
ALL = MemoryFilter(abandoned=True, limit=1_000)


async def opened(path: Path) -> Store:
    return await open_store(f"sqlite://{path}", machine_dir=path.parent)


async def contents(store: Store) -> set[str]:
    return {memory.content for memory in await store.memories.find(ALL)}


async def test_lost_writes_for_want_of_a_busy_timeout_or_wal(tmp_path: Path) -> None:
    """Another process writes, then another one reads: a memory waits for the first, not for the second."""
    path = tmp_path / "ragforge.db"
    store = await opened(path)
    session = await new_session(store)
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    saving = asyncio.create_task(store.memories.save(a_memory(session, "One")))
    done, _ = await asyncio.wait({saving}, timeout=WAIT_S)
    assert not done, "it neither fails nor gets in between"
    assert await contents(store) == set(), "and whoever reads meanwhile is answered"
    other.execute("COMMIT")
    await saving

    other.execute("BEGIN")
    assert list(other.execute("SELECT content FROM memory")) == [("One",)]
    await store.memories.save(a_memory(session, "Two"))
    assert await contents(store) == {"One", "Two"}
    other.close()
    await store.close()


async def test_one_shared_connection_under_threads_losing_127_of_500_writes(tmp_path: Path) -> None:
    """Many at once through one store, and through several on the same file, each with threads of its own."""
    path = tmp_path / "ragforge.db"
    stores = [await opened(path) for _ in range(4)]
    session = await new_session(stores[0])
    memories = [a_memory(session, f"Number {number}") for number in range(500)]

    async def save(number: int, memory: Memory) -> None:
        store = stores[number % len(stores)]
        await store.memories.save(memory)
        if number % 10 == 0:
            await store.search.words(Query(f"number {number}", kinds=(HitKind.MEMORY,), limit=1))

    await asyncio.gather(*(save(number, memory) for number, memory in enumerate(memories)))
    assert await contents(stores[0]) == {memory.content for memory in memories}
    assert await stores[0].check() == []
    for store in stores:
        await store.close()


async def test_a_migration_deleting_98_percent_of_rows(tmp_path: Path) -> None:
    """All that an older version kept is there after its file was brought up to date, and found."""
    path = tmp_path / "ragforge.db"
    prepare(path, Schema(STORE.application_id, STORE.steps[:3]), lock_dir=tmp_path)
    older = connect(path)
    older.execute(THIRD_ROWS)
    numbers = range(10, 110)
    older.executemany(
        "INSERT INTO turn SELECT ?1, 'turn' || ?1, session, iif(?1 = 10, NULL, ?1 - 1), ?1 - 10, started_at, "
        "ended_at, status, model, 0, 0, 0, 0, 0.0, first_words, '', user, 'Answer ' || ?1 FROM turn "
        "WHERE id = 't1'",
        [(number,) for number in numbers],
    )
    older.execute("UPDATE session SET head = 109")
    older.executemany(
        "INSERT INTO memory SELECT ?1 + 1000, 'memory' || ?1, type, scope, project, session, importance, "
        "confidence, created_at, updated_at, NULL, 0, NULL, source, topic, 'Fact ' || ?1 FROM memory "
        "WHERE id = 'm1'",
        [(number,) for number in numbers],
    )
    for number in numbers:
        index_turn(older, number)
        index_memory(older, number + 1000)
    older.close()

    store = await opened(path)
    await store.check(repair=True)
    assert (await store.status()).schema == len(STORE.steps) > 3
    assert await contents(store) == {"The zebra is fed.", *(f"Fact {number}" for number in numbers)}
    assert [turn.assistant for turn in await store.turns.path("turn109")] == [
        f"Answer {number}" for number in numbers
    ]
    (hit,) = await store.search.words(Query("fact 57", kinds=(HitKind.MEMORY,), limit=1))
    assert hit.text == "Fact 57"
    assert await store.check() == []
    await store.close()
