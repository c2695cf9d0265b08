"""What is still to be made of the history: summaries of turns, vectors of turns, summaries and memories.

A list of its own, so that asking for it costs what is to do and not what the history weighs: a row is
written as a turn ends, and goes once the turn has its summary of level 1 and a vector of its present text.
"""

import json
from collections.abc import Iterable, Sequence

from ragforge.store.sqlite.connection import Connection

MEMORY_LEVEL = -1
"""Where turns have level 0 and summaries their own."""
FORGOTTEN_LEVEL = -2
"""Of the vector of a memory that is forgotten: kept, and never compared."""

REMEMBERED = "forgotten_at IS NULL"
"""Of a memory: it was not forgotten."""

EVERYWHERE = 0
"""In the place of a vector's project: it is compared in all of them."""

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
    """The turn's text changed: it needs a vector if it ended, and a summary where it has none."""
    connection.execute(TURN, (turn,))


def owe_turns(connection: Connection, ids: Sequence[str]) -> None:
    """The same for the turns among what has these ids."""
    rows = connection.execute(
        "SELECT turn.key FROM turn JOIN json_each(?) ON value = turn.id", (json.dumps(ids),)
    )
    for (turn,) in list(rows):
        owe_turn(connection, turn)


def owe_summary(connection: Connection, summary: int) -> None:
    """The summary's text changed: it needs a vector."""
    connection.execute(SUMMARY, (summary,))


def owe_memory(connection: Connection, memory: int) -> None:
    """The memory is new, or what is embedded of it changed; a forgotten one needs nothing."""
    connection.execute(MEMORY, (memory,))


def have_vectors(connection: Connection, owners: Sequence[int]) -> None:
    """The owners' present texts have vectors."""
    values = [(owner,) for owner in owners]
    connection.executemany("UPDATE owed SET vector = 0 WHERE key = ?", values)
    connection.executemany("DELETE FROM owed WHERE key = ? AND NOT summary AND NOT vector", values)


def owe_nothing(connection: Connection, keys: Iterable[int]) -> None:
    """These run again, are forgotten or gone."""
    connection.executemany("DELETE FROM owed WHERE key = ?", [(key,) for key in keys])


def list_afresh(connection: Connection) -> None:
    """Bring the list in line with all that is stored; what is listed as out of date stays so."""
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
