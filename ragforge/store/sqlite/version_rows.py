"""Versions, branches and moves as rows of SQLite."""

import json
from collections.abc import Sequence

from ragforge.domain.errors import Conflict
from ragforge.domain.usage import Usage
from ragforge.domain.versions import Branch, Change, CheckoutLog, MoveAction, Version, files_touched
from ragforge.store.base_versions import VersionRow
from ragforge.store.json_text import storable, to_json
from ragforge.store.sqlite.connection import Connection, Row
from ragforge.store.sqlite.index import index_version
from ragforge.store.sqlite.rows import from_ms, key_of, new_key, one, to_ms, usage_values
from ragforge.store.version_text import (
    changes_from_json,
    changes_to_json,
    moment_after,
    nodes_from_json,
    nodes_to_json,
    uncovered_from_json,
    uncovered_to_json,
)

_SHORT = """
SELECT version.id, project.id,
    (SELECT json_group_array(above.id ORDER BY position) FROM descent JOIN version AS above
        ON above.key = descent.parent WHERE descent.version = version.key),
    version.at, author, coalesce(session.id, ''), coalesce(turn.id, ''), version.title, label, note,
    uncovered, lines_added, lines_removed, version.input_tokens, version.cached_tokens,
    version.output_tokens, version.thought_tokens, version.cost_usd, duration_ms, files{whole}
FROM version JOIN project ON project.key = version.project
LEFT JOIN session ON session.key = version.session LEFT JOIN turn ON turn.key = version.turn
"""
SELECT = _SHORT.format(whole=", words, changes")
SELECT_SHORT = _SHORT.format(whole="")
"""Without words and changes, which are long."""

SELECT_BRANCH = """
SELECT project.id, branch.name, version.id, branch.at FROM branch
JOIN project ON project.key = branch.project JOIN version ON version.key = branch.version
"""

MOVE_COLUMNS = (
    "move.id, session, move.at, action, from_version, to_version, from_turn, to_turn, "
    "command, undoes, turns, kept, aside"
)
SELECT_MOVE = f"SELECT project.id, {MOVE_COLUMNS} FROM move JOIN project ON project.key = move.project"


def put_version(connection: Connection, version: Version) -> bool:
    """Whether it was new; one of the same id stays as it is.

    Raises Conflict where something that it names is not stored, or a parent is another project's.
    """
    if one(connection, "SELECT 1 FROM version WHERE id = ?", (version.id,)) is not None:
        return False
    project = key_of(connection, "project", version.project_id)
    session, turn = _made_in(connection, version)
    parents = [_parent(connection, parent, version, project) for parent in version.parents]
    times = [(at, identifier) for identifier, (_, at) in zip(version.parents, parents, strict=True)]
    key = new_key(connection)
    connection.execute(
        "INSERT INTO version (key, id, project, session, turn, at, author, files, lines_added, "
        "lines_removed, input_tokens, cached_tokens, output_tokens, thought_tokens, cost_usd, duration_ms, "
        "label, title, note, uncovered, words, changes) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            key,
            version.id,
            project,
            session,
            turn,
            moment_after(to_ms(version.at), version.id, times),
            storable(version.by),
            files_touched(version.changes),
            version.lines_added,
            version.lines_removed,
            *usage_values(version.usage),
            version.cost_usd,
            version.duration_ms,
            storable(version.label),
            storable(version.title),
            storable(version.note),
            uncovered_to_json(version.uncovered),
            storable(version.words),
            changes_to_json(version.changes),
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
    """Let a stored version that names no session take session, turn and title of this one; whether it did.

    Its session was deleted here and has come back. Raises Conflict where they are not stored.
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
    """Whether anything changed. Raises Conflict where its version is not one of the project's."""
    project = key_of(connection, "project", branch.project_id)
    found = one(connection, "SELECT key, project FROM version WHERE id = ?", (branch.version_id,))
    if found is None or found[1] != project:
        raise Conflict(
            f"Branch {branch.name} cannot point to version {branch.version_id}: "
            f"project {branch.project_id} has none of that id."
        )
    connection.execute(
        "INSERT INTO branch (project, name, version, at) VALUES (?1, ?2, ?3, ?4) "
        "ON CONFLICT (project, name) DO UPDATE SET version = excluded.version, at = excluded.at "
        f"WHERE {'excluded.at > at' if only_newer else '(version, at) != (excluded.version, excluded.at)'}",
        (project, storable(branch.name), found[0], to_ms(branch.at)),
    )
    return bool(connection.changes())


def put_move(connection: Connection, move: CheckoutLog) -> bool:
    """Whether it was new; one of the same id stays as it is. Raises Conflict for an unknown project."""
    connection.execute(
        "INSERT OR IGNORE INTO move (project, id, session, at, action, from_version, to_version, from_turn, "
        "to_turn, command, undoes, turns, kept, aside) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            key_of(connection, "project", move.project_id),
            move.id,
            move.session_id,
            to_ms(move.at),
            move.action,
            move.from_version,
            move.to_version,
            move.from_turn,
            move.to_turn,
            move.command_id,
            move.undoes,
            to_json(move.turns),
            None if move.kept is None else nodes_to_json(move.kept),
            nodes_to_json(move.aside),
        ),
    )
    return bool(connection.changes())


def turn_ended(connection: Connection, turn: int) -> None:
    """Note that it lacks a version, unless it has one."""
    connection.execute(
        "INSERT OR IGNORE INTO unversioned "
        "SELECT ?1 WHERE NOT EXISTS (SELECT 1 FROM version WHERE turn = ?1)",
        (turn,),
    )


def turn_runs_on(connection: Connection, turn: int) -> None:
    """It has not ended any more."""
    connection.execute("DELETE FROM unversioned WHERE turn = ?", (turn,))


def hand_over_versions(connection: Connection, turn: int, heir: int) -> None:
    """The turn's versions are of the session that has the turn now."""
    connection.execute("UPDATE version SET session = ? WHERE turn = ?", (heir, turn))
    for (version,) in list(connection.execute("SELECT key FROM version WHERE turn = ?", (turn,))):
        index_version(connection, version)


def session_went(connection: Connection, session: int, session_id: str, turns: Sequence[int]) -> None:
    """Before the session and these turns are removed: its versions name neither, its moves go."""
    gone = json.dumps(turns)
    rows = connection.execute(
        "SELECT key FROM version WHERE session = ? UNION "
        "SELECT version.key FROM json_each(?) CROSS JOIN version ON version.turn = value",
        (session, gone),
    )
    versions = [(key,) for (key,) in rows]
    # The title is the first words of the turn's message, where there was one.
    connection.executemany(
        "UPDATE version SET session = NULL, turn = NULL, title = iif(turn IS NULL, title, '') WHERE key = ?",
        versions,
    )
    for (version,) in versions:
        index_version(connection, version)
    connection.execute("DELETE FROM unversioned WHERE turn IN (SELECT value FROM json_each(?))", (gone,))
    connection.execute("DELETE FROM move WHERE session = ?", (session_id,))


def version_of(row: Row) -> Version:
    """The version of a row of SELECT."""
    words, changes = row[20:]
    return _version(row, words, changes_from_json(changes))


def version_row_of(row: Row) -> VersionRow:
    """The line of the log of a row of SELECT_SHORT."""
    return VersionRow(_version(row), row[19])


def branch_of(row: Row) -> Branch:
    """The branch of a row of SELECT_BRANCH."""
    project, name, version, at = row
    return Branch(project, name, version, from_ms(at))


def move_of(row: Row) -> CheckoutLog:
    """The move of a row of SELECT_MOVE."""
    project, identifier, session, at, action, from_version, to_version, from_turn, to_turn, *operation = row
    command, undoes, turns, kept, aside = operation
    return CheckoutLog(
        id=identifier,
        project_id=project,
        session_id=session,
        action=MoveAction(action),
        at=from_ms(at),
        from_version=from_version,
        to_version=to_version,
        from_turn=from_turn,
        to_turn=to_turn,
        turns=tuple(json.loads(turns)),
        undoes=undoes,
        kept=None if kept is None else nodes_from_json(kept),
        aside=nodes_from_json(aside),
        command_id=command,
    )


def _made_in(connection: Connection, version: Version) -> tuple[int | None, int | None]:
    """The keys of its session and turn. Raises Conflict where they are not stored."""
    session = key_of(connection, "session", version.session_id) if version.session_id else None
    turn = key_of(connection, "turn", version.turn_id) if version.turn_id else None
    return session, turn


def _parent(connection: Connection, parent: str, version: Version, project: int) -> tuple[int, int]:
    """Its key and time. Raises Conflict where it is not stored or another project's."""
    found = one(connection, "SELECT key, at, project FROM version WHERE id = ?", (parent,))
    if found is None:
        raise Conflict(f"Version {version.id} is a child of {parent}, which is not in the store.")
    key, at, of = found
    if of != project:
        raise Conflict(f"Version {version.id} is a child of {parent}, which is another project's.")
    return key, at


def _version(row: Row, words: str = "", changes: tuple[Change, ...] = ()) -> Version:
    (
        identifier, project, parents, at, by, session, turn, title, label, note, uncovered, lines_added,
        lines_removed,
    ) = row[:13]  # fmt: skip
    return Version(
        id=identifier,
        project_id=project,
        parents=tuple(json.loads(parents)),
        at=from_ms(at),
        by=by,
        changes=changes,
        session_id=session,
        turn_id=turn,
        title=title,
        label=label,
        note=note,
        words=words,
        uncovered=uncovered_from_json(uncovered),
        lines_added=lines_added,
        lines_removed=lines_removed,
        usage=Usage(*row[13:17]),
        cost_usd=row[17],
        duration_ms=row[18],
    )
