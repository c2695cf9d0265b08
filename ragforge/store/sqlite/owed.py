"""Pending derived data: summaries of turns, vectors of turns, summaries and memories.

A separate table, so that asking costs what is pending and not the size of the history: a row is written
when a turn ends, and removed once the turn has its level 1 summary and a vector of its present text.
"""

import json
from collections.abc import Iterable, Sequence

from ragforge.store.sqlite.connection import Connection

MEMORY_LEVEL = -1
"""Turns have level 0, summaries their own."""
FORGOTTEN_LEVEL = -2
"""Of the vector of a forgotten memory: stored, and never compared."""

REMEMBERED = "forgotten_at IS NULL"
"""Of a memory: it was not forgotten."""

EVERYWHERE = 0
"""In place of a vector's project: it is compared in all of them."""

TURN = """
INSERT OR REPLACE INTO owed
SELECT key, 0, session, started_at, NOT EXISTS (SELECT 1 FROM cover WHERE covered = turn.id), 1
FROM turn WHERE key = ? AND ended_at IS NOT NULL
"""

SUMMARY = "INSERT OR REPLACE INTO owed SELECT key, level, session, at, 0, 1 FROM summary WHERE key = ?"

# Its project is the memory's own, not a session's.
MEMORY = f"""
INSERT OR REPLACE INTO owed
SELECT key, {MEMORY_LEVEL}, 0, created_at, 0, 1 FROM memory WHERE key = ? AND {REMEMBERED}
"""

NO_VECTOR = """
(NOT EXISTS (SELECT 1 FROM embedding WHERE owner = {table}.key)
    OR EXISTS (SELECT 1 FROM owed WHERE owed.key = {table}.key AND vector))
"""


def owe_turn(connection: Connection, turn: int) -> None:
    """Record that the turn's text changed: if it ended it needs a vector, and a summary if it has none."""
    connection.execute(TURN, (turn,))


def owe_turns(connection: Connection, ids: Sequence[str]) -> None:
    """The same for the turns among what has these ids."""
    rows = connection.execute(
        "SELECT turn.key FROM turn JOIN json_each(?) ON value = turn.id", (json.dumps(ids),)
    )
    for (turn,) in list(rows):
        owe_turn(connection, turn)


def owe_summary(connection: Connection, summary: int) -> None:
    """Record that the summary's text changed: it needs a vector."""
    connection.execute(SUMMARY, (summary,))


def owe_memory(connection: Connection, memory: int) -> None:
    """Record a new memory, or a change of its embedded text; a forgotten one needs nothing."""
    connection.execute(MEMORY, (memory,))


def have_vectors(connection: Connection, owners: Sequence[int]) -> None:
    """Record that the owners' present texts have vectors."""
    values = [(owner,) for owner in owners]
    connection.executemany("UPDATE owed SET vector = 0 WHERE key = ?", values)
    connection.executemany("DELETE FROM owed WHERE key = ? AND NOT summary AND NOT vector", values)


def owe_nothing(connection: Connection, keys: Iterable[int]) -> None:
    """Record that these run again, are forgotten or deleted."""
    connection.executemany("DELETE FROM owed WHERE key = ?", [(key,) for key in keys])


def list_afresh(connection: Connection) -> None:
    """Update the table from all that is stored; rows marked as outdated stay so."""
    connection.execute(
        "DELETE FROM owed WHERE key NOT IN "
        "(SELECT key FROM turn WHERE ended_at IS NOT NULL UNION ALL SELECT key FROM summary "
        f"UNION ALL SELECT key FROM memory WHERE {REMEMBERED})"
    )
    connection.execute(
        "INSERT OR REPLACE INTO owed SELECT key, 0, session, started_at, "
        "NOT EXISTS (SELECT 1 FROM cover WHERE covered = turn.id) AS no_summary, "
        f"{NO_VECTOR.format(table='turn')} AS no_vector "
        "FROM turn WHERE ended_at IS NOT NULL AND (no_summary OR no_vector)"
    )
    connection.execute(
        f"INSERT OR REPLACE INTO owed SELECT key, level, session, at, 0, 1 FROM summary "
        f"WHERE {NO_VECTOR.format(table='summary')}"
    )
    connection.execute(
        f"INSERT OR REPLACE INTO owed SELECT key, {MEMORY_LEVEL}, 0, created_at, 0, 1 FROM memory "
        f"WHERE {REMEMBERED} AND {NO_VECTOR.format(table='memory')}"
    )
    connection.execute("DELETE FROM owed WHERE NOT summary AND NOT vector")
