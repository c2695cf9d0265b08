"""Versions, branches and moves as rows of SQLite."""

import json
from collections.abc import Sequence

from msgspec.structs import replace

from ragforge.domain.errors import Conflict
from ragforge.domain.versions import (
    BRANCH,
    MOVE,
    VERSION,
    Branch,
    CheckoutLog,
    Version,
    files_touched,
)
from ragforge.store.base_versions import VersionRow
from ragforge.store.json_text import storable
from ragforge.store.sqlite.connection import Connection, Row
from ragforge.store.sqlite.index import index_version
from ragforge.store.sqlite.rows import RecordTable, from_ms, key_of, new_key, one, project_key, to_ms
from ragforge.store.version_text import FORMS, moment_after

_JOINED = {
    "project_id": "project.id",
    "parents": "(SELECT json_group_array(above.id ORDER BY position) FROM descent "
    "JOIN version AS above ON above.key = descent.parent WHERE descent.version = version.key)",
    "session_id": "coalesce(session.id, '')",
    "turn_id": "coalesce(turn.id, '')",
}
VERSIONS = RecordTable(VERSION, joined=_JOINED, forms=FORMS)
SHORT = RecordTable(VERSION, joined={**_JOINED, "words": "''", "changes": "'[]'"}, forms=FORMS)
"""Without words and changes, which are long."""
BRANCHES = RecordTable(BRANCH, joined={"project_id": "project.id", "version_id": "version.id"})
MOVES = RecordTable(MOVE, joined={"project_id": "project.id"}, forms=FORMS)

_FROM = """
FROM version JOIN project ON project.key = version.project
LEFT JOIN session ON session.key = version.session LEFT JOIN turn ON turn.key = version.turn
"""
SELECT = f"SELECT {VERSIONS.select} {_FROM}"
SELECT_SHORT = f"SELECT {SHORT.select}, files {_FROM}"

SELECT_BRANCH = f"""
SELECT {BRANCHES.select} FROM branch
JOIN project ON project.key = branch.project JOIN version ON version.key = branch.version
"""

SELECT_MOVE = f"SELECT {MOVES.select} FROM move JOIN project ON project.key = move.project"


def put_version(connection: Connection, version: Version) -> bool:
    """Save it; return whether it was new. One of the same id is kept as it is.

    Raises Conflict if something that it names is not stored, or a parent is another project's.
    """
    if one(connection, "SELECT 1 FROM version WHERE id = ?", (version.id,)) is not None:
        return False
    project = project_key(connection, version.project_id)
    session, turn = _made_in(connection, version)
    parents = [_parent(connection, parent, version, project) for parent in version.parents]
    times = [(at, identifier) for identifier, (_, at) in zip(version.parents, parents, strict=True)]
    key = new_key(connection)
    at = from_ms(moment_after(to_ms(version.at), version.id, times))
    connection.execute(
        f"INSERT INTO version (key, project, session, turn, files, {VERSIONS.columns}) "
        f"VALUES (?, ?, ?, ?, ?, {VERSIONS.marks})",
        (
            *(key, project, session, turn, files_touched(version.changes)),
            *VERSIONS.values(replace(version, at=at)),
        ),
    )
    connection.executemany(
        "INSERT INTO descent VALUES (?, ?, ?)",
        [(key, position, parent) for position, (parent, _) in enumerate(parents)],
    )
    connection.execute("DELETE FROM unversioned WHERE turn = ?", (turn,))
    index_version(connection, key)
    return True


def take_origin(connection: Connection, version: Version) -> bool:
    """Give a stored version without a session the session, turn and title of this one; return whether it did.

    Its session was deleted here and is back. Raises Conflict if they are not stored.
    """
    found = one(connection, "SELECT key, session, turn FROM version WHERE id = ?", (version.id,))
    if found is None or found[1:] != (None, None) or not version.session_id:
        return False
    session, turn = _made_in(connection, version)
    connection.execute(
        "UPDATE version SET session = ?, turn = ?, title = ? WHERE key = ?",
        (session, turn, storable(version.title), found[0]),
    )
    connection.execute("DELETE FROM unversioned WHERE turn = ?", (turn,))
    index_version(connection, found[0])
    return True


def put_branch(connection: Connection, branch: Branch, *, only_newer: bool = False) -> bool:
    """Save it; return whether anything changed. Raises Conflict if its version is another project's."""
    project = project_key(connection, branch.project_id)
    found = one(connection, "SELECT key, project FROM version WHERE id = ?", (branch.version_id,))
    if found is None or found[1] != project:
        raise Conflict(
            f"Branch {branch.name} cannot point to version {branch.version_id}: "
            f"project {branch.project_id} has no version with that id."
        )
    connection.execute(
        f"INSERT INTO branch (project, version, {BRANCHES.columns}) VALUES (?, ?, {BRANCHES.marks}) "
        f"ON CONFLICT (project, name) DO UPDATE SET version = excluded.version, {BRANCHES.excluded} "
        f"WHERE {'excluded.at > at' if only_newer else '(version, at) != (excluded.version, excluded.at)'}",
        (project, found[0], *BRANCHES.values(branch)),
    )
    return bool(connection.changes())


def put_move(connection: Connection, move: CheckoutLog) -> bool:
    """Save it; return whether it was new, else it is unchanged. Raises Conflict for an unknown project."""
    connection.execute(
        f"INSERT OR IGNORE INTO move (project, {MOVES.columns}) VALUES (?, {MOVES.marks})",
        (project_key(connection, move.project_id), *MOVES.values(move)),
    )
    return bool(connection.changes())


def turn_ended(connection: Connection, turn: int) -> None:
    """Record that it lacks a version, unless it has one."""
    connection.execute(
        "INSERT OR IGNORE INTO unversioned "
        "SELECT ?1 WHERE NOT EXISTS (SELECT 1 FROM version WHERE turn = ?1)",
        (turn,),
    )


def turn_runs_on(connection: Connection, turn: int) -> None:
    """Record that it has not ended any more."""
    connection.execute("DELETE FROM unversioned WHERE turn = ?", (turn,))


def hand_over_versions(connection: Connection, turn: int, heir: int) -> None:
    """Assign the turn's versions to the session that has the turn now."""
    connection.execute("UPDATE version SET session = ? WHERE turn = ?", (heir, turn))
    for (version,) in list(connection.execute("SELECT key FROM version WHERE turn = ?", (turn,))):
        index_version(connection, version)


def session_went(connection: Connection, session: int, session_id: str, turns: Sequence[int]) -> None:
    """Prepare for removing the session and these turns: its versions name neither, its moves are removed."""
    gone = json.dumps(turns)
    rows = connection.execute(
        "SELECT key FROM version WHERE session = ? UNION "
        "SELECT version.key FROM json_each(?) CROSS JOIN version ON version.turn = value",
        (session, gone),
    )
    versions = [(key,) for (key,) in rows]
    # The title is the first words of the turn's message, if there was one.
    connection.executemany(
        "UPDATE version SET session = NULL, turn = NULL, title = iif(turn IS NULL, title, '') WHERE key = ?",
        versions,
    )
    for (version,) in versions:
        index_version(connection, version)
    connection.execute("DELETE FROM unversioned WHERE turn IN (SELECT value FROM json_each(?))", (gone,))
    connection.execute("DELETE FROM move WHERE session = ?", (session_id,))


def version_row_of(row: Row) -> VersionRow:
    """Return the line of the log of a row of SELECT_SHORT."""
    return VersionRow(SHORT.record(row), row[-1])


def _made_in(connection: Connection, version: Version) -> tuple[int | None, int | None]:
    """Return the keys of its session and turn. Raises Conflict if they are not stored."""
    session = key_of(connection, "session", version.session_id) if version.session_id else None
    turn = key_of(connection, "turn", version.turn_id) if version.turn_id else None
    return session, turn


def _parent(connection: Connection, parent: str, version: Version, project: int) -> tuple[int, int]:
    """Return its key and time. Raises Conflict if it is not stored or another project's."""
    found = one(connection, "SELECT key, at, project FROM version WHERE id = ?", (parent,))
    if found is None:
        raise Conflict(f"Version {version.id} is a child of {parent}, which is not in the store.")
    key, at, of = found
    if of != project:
        raise Conflict(f"Version {version.id} is a child of {parent}, which belongs to another project.")
    return key, at
