"""Memories as rows of SQLite, with their evidence, their row of words and their vector's filter values."""

import json
from collections.abc import Iterable, Sequence

from ragforge.domain.memories import MEMORY, Memory
from ragforge.store.json_text import storable
from ragforge.store.memory_rules import TOLD, was_forgotten_since
from ragforge.store.sqlite.abandonment import MEMORY_ABANDONED, REPLACED
from ragforge.store.sqlite.connection import Connection
from ragforge.store.sqlite.index import index_memory
from ragforge.store.sqlite.owed import owe_memory, owe_nothing
from ragforge.store.sqlite.rows import RecordTable, key_of, new_key, one, to_ms
from ragforge.store.sqlite.vectors import drop_embeddings, move_embeddings

EVIDENCE = (
    "(SELECT json_group_array(turn ORDER BY position) FROM evidence WHERE evidence.memory = memory.key)"
)
MEMORIES = RecordTable(
    MEMORY,
    joined={
        "project_id": "project.id",
        "turns": EVIDENCE,
        "replaced": f"{REPLACED.format('memory.key')} AS is_replaced",
        "abandoned": f"{MEMORY_ABANDONED.format('memory')} AS is_abandoned",
    },
)

SELECT = f"SELECT {MEMORIES.select} FROM memory JOIN project ON project.key = memory.project"


def memory_by_id(connection: Connection, identifier: str) -> Memory | None:
    """Return the memory, or None."""
    row = one(connection, f"{SELECT} WHERE memory.id = ?", (identifier,))
    return None if row is None else MEMORIES.record(row)


def put_memory(connection: Connection, memory: Memory) -> None:
    """Save it, replacing the one with its id, and mark what must be embedded.

    Raises Conflict if its project is not stored.
    """
    found = one(connection, f"SELECT key, {', '.join(TOLD)} FROM memory WHERE id = ?", (memory.id,))
    key = new_key(connection) if found is None else found[0]
    connection.execute(
        f"INSERT INTO memory (key, project, {MEMORIES.columns}) VALUES (?, ?, {MEMORIES.marks}) "
        f"ON CONFLICT (id) DO UPDATE SET project = excluded.project, {MEMORIES.excluded}",
        (key, key_of(connection, "project", memory.project_id), *MEMORIES.values(memory)),
    )
    put_evidence(connection, key, memory.turns)
    place_memory(connection, key)
    changed = found is None or list(found[1:]) != [storable(getattr(memory, name)) for name in TOLD]
    if changed and memory.forgotten_at is not None:
        # Forgotten ones need nothing: outdated vectors must not come back with them.
        drop_embeddings(connection, [key])
    if changed or _lacks_vector(connection, key):
        owe_memory(connection, key)


def put_evidence(connection: Connection, memory: int, turns: Iterable[str]) -> None:
    """Base it on these turns only."""
    connection.execute("DELETE FROM evidence WHERE memory = ?", (memory,))
    connection.executemany(
        "INSERT INTO evidence VALUES (?, ?, ?)",
        [(memory, position, storable(turn)) for position, turn in enumerate(dict.fromkeys(turns))],
    )


def place_memory(connection: Connection, memory: int) -> None:
    """Update its search entries: a forgotten one has none."""
    index_memory(connection, memory)
    move_embeddings(connection, [memory])


def set_forgotten(connection: Connection, ids: Sequence[str], at: int | None) -> None:
    """Forget those that are not, or restore those that are."""
    rows = connection.execute(
        "SELECT memory.key FROM memory JOIN json_each(?) ON value = memory.id "
        "WHERE (forgotten_at IS NULL) = ?",
        (json.dumps(list(ids)), at is not None),
    )
    for (key,) in list(rows):
        connection.execute("UPDATE memory SET forgotten_at = ? WHERE key = ?", (at, key))
        place_memory(connection, key)
        if at is not None:
            owe_nothing(connection, [key])
        elif _lacks_vector(connection, key):
            owe_memory(connection, key)


def forget_too(connection: Connection, memory: Memory) -> bool:
    """Forget the stored memory if this one was forgotten since it was saved; return whether it was."""
    if not was_forgotten_since(memory) or memory.forgotten_at is None:
        return False
    known = one(connection, "SELECT 1 FROM memory WHERE id = ? AND forgotten_at IS NULL", (memory.id,))
    set_forgotten(connection, [memory.id], to_ms(memory.forgotten_at))
    return known is not None


def _lacks_vector(connection: Connection, memory: int) -> bool:
    return one(connection, "SELECT 1 FROM embedding WHERE owner = ?", (memory,)) is None


def drop_memories(connection: Connection, memories: Sequence[int]) -> None:
    """Remove these with everything that depends on them."""
    for sql in (
        "DELETE FROM words WHERE rowid = ?",
        "DELETE FROM evidence WHERE memory = ?",
        "DELETE FROM association WHERE source = ?1 OR target = ?1",
        "DELETE FROM memory WHERE key = ?",
    ):
        connection.executemany(sql, [(memory,) for memory in memories])
    drop_embeddings(connection, memories)
    owe_nothing(connection, memories)
