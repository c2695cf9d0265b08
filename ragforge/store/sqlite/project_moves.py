"""Move what belongs to a project to another one."""

import json
from collections.abc import Sequence

from ragforge.store.base_conversations import ProjectMove
from ragforge.store.json_text import storable
from ragforge.store.sqlite.connection import Connection
from ragforge.store.sqlite.index import index_call, index_summary, index_turn, index_version
from ragforge.store.sqlite.memory_rows import place_memory
from ragforge.store.sqlite.rows import key_of
from ragforge.store.sqlite.vectors import move_embeddings

KEYS = "SELECT {0}.key FROM json_each(?) JOIN {0} ON {0}.id = value"

# The head of a session, or one of its turns, depends on a turn of another one.
JOINED = """
SELECT DISTINCT session.id, other.id FROM project JOIN session ON session.project = project.key
    JOIN turn ON turn.session = session.key JOIN turn AS above ON above.key = turn.parent
    JOIN session AS other ON other.key = above.session
WHERE project.id = ? AND other.key != session.key
UNION
SELECT session.id, other.id FROM project JOIN session ON session.project = project.key
    JOIN turn ON turn.key = session.head JOIN session AS other ON other.key = turn.session
WHERE project.id = ? AND other.key != session.key
"""

DERIVED = """
UPDATE derived SET project = ?1 WHERE owner_kind = 'session' AND owner IN (SELECT value FROM json_each(?2))
    OR owner_kind = 'turn' AND owner IN (
        SELECT turn.id FROM json_each(?2) JOIN session ON session.id = value
        JOIN turn ON turn.session = session.key)
"""


def carry_out(connection: Connection, move: ProjectMove) -> None:
    """Move all of it. Raises Conflict if a project is not stored."""
    key_of(connection, "project", move.source)
    project = key_of(connection, "project", move.target)
    _move_sessions(connection, move, project)
    for version in _keys(connection, "version", move.versions):
        connection.execute("UPDATE version SET project = ? WHERE key = ?", (project, version))
        index_version(connection, version)
    for name, called in move.branches.items():
        connection.execute(
            "UPDATE branch SET project = ?, name = ? WHERE name = ? "
            "AND project = (SELECT key FROM project WHERE id = ?)",
            (project, storable(called), storable(name), move.source),
        )
    connection.executemany(
        "UPDATE move SET project = ? WHERE id = ?", [(project, each) for each in move.moves]
    )
    for memory, called in move.memories.items():
        for key in _keys(connection, "memory", [memory]):
            connection.execute("UPDATE memory SET project = ?, id = ? WHERE key = ?", (project, called, key))
            place_memory(connection, key)


def _move_sessions(connection: Connection, move: ProjectMove, project: int) -> None:
    ids = json.dumps([storable(each) for each in move.sessions])
    sessions = _keys(connection, "session", move.sessions)
    connection.executemany(
        "UPDATE session SET project = ? WHERE key = ?", [(project, session) for session in sessions]
    )
    connection.execute(DERIVED, (project, ids))
    connection.execute(
        "UPDATE spent SET project = ? WHERE session IN (SELECT value FROM json_each(?))", (move.target, ids)
    )
    # Their scope changed: they are found in the other project.
    turns, summaries = (
        _of_sessions(connection, "turn", sessions),
        _of_sessions(connection, "summary", sessions),
    )
    for turn in turns:
        index_turn(connection, turn)
        for (call,) in list(connection.execute("SELECT key FROM tool_call WHERE turn = ?", (turn,))):
            index_call(connection, call)
    for summary in summaries:
        index_summary(connection, summary)
    move_embeddings(connection, [*turns, *summaries])


def _keys(connection: Connection, table: str, ids: Sequence[str]) -> list[int]:
    """Return the keys of those that are stored."""
    wanted = json.dumps([storable(each) for each in ids])
    return [key for (key,) in connection.execute(KEYS.format(table), (wanted,))]


def _of_sessions(connection: Connection, table: str, sessions: Sequence[int]) -> list[int]:
    rows = connection.execute(
        f"SELECT {table}.key FROM json_each(?) JOIN {table} ON {table}.session = value",
        (json.dumps(sessions),),
    )
    return [key for (key,) in rows]
