"""The version tree in SQLite: versions, branches, and the moves of heads."""

import json
from collections.abc import Sequence

from ragforge.domain.versions import Branch, CheckoutLog, Version
from ragforge.store.base_versions import VersionRow
from ragforge.store.json_text import storable
from ragforge.store.sqlite.connection import Bindings, Connection, Database
from ragforge.store.sqlite.index import index_version
from ragforge.store.sqlite.rows import key_of
from ragforge.store.sqlite.version_rows import (
    BRANCHES,
    MOVES,
    SELECT,
    SELECT_BRANCH,
    SELECT_MOVE,
    SELECT_SHORT,
    VERSIONS,
    put_branch,
    put_move,
    put_version,
    version_row_of,
)

OLDEST_FIRST = "ORDER BY version.at, version.id"
NEWEST_FIRST = "ORDER BY version.at DESC, version.id DESC"

# Keys first, only from the index of the order: so a page costs no more than its rows.
PAGE = """
SELECT key FROM version WHERE project = (SELECT key FROM project WHERE id = :project)
ORDER BY at DESC, id DESC LIMIT max(0, :limit)
"""
NEXT_PAGE = """
SELECT key FROM version WHERE project = (SELECT key FROM project WHERE id = :project)
    AND (at, id) < (SELECT at, id FROM version WHERE id = :before)
ORDER BY at DESC, id DESC LIMIT max(0, :limit)
"""

# Both by an index: that of the order contains the ids.
NAMED = """
SELECT key FROM version WHERE project = (SELECT key FROM project WHERE id = :project)
    AND (substr(id, 1, length(:part)) = :part OR substr(id, -length(:part)) = :part
        OR substr(id, -8, length(:part)) = :part)
UNION
SELECT key FROM version WHERE project = (SELECT key FROM project WHERE id = :project)
    AND label = :label AND label != ''
"""

LINE = f"""
WITH RECURSIVE up (key, place) AS (
    SELECT key, 0 FROM version WHERE id = :version
    UNION ALL
    SELECT parent, place + 1 FROM up JOIN descent ON descent.version = up.key AND position = 0
    LIMIT :limit
)
{SELECT} JOIN up ON up.key = version.key ORDER BY up.place
"""

CHILDREN = f"""
{SELECT} WHERE version.key IN (
    SELECT descent.version FROM version AS above JOIN descent ON descent.parent = above.key WHERE above.id = ?
) {OLDEST_FIRST}
"""

UNVERSIONED = """
SELECT turn.id FROM unversioned CROSS JOIN turn ON turn.key = unversioned.turn
WHERE turn.session = (SELECT key FROM session WHERE id = ?)
ORDER BY turn.started_at, turn.depth, turn.id LIMIT max(0, ?)
"""


class SqliteVersions:
    """Implements `Versions`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, version: Version) -> None:
        """Save a new version; one of the same id is kept as it is.

        Raises Conflict if something that it names is not stored, or a parent is another project's.
        """
        await self._database.write(lambda connection: put_version(connection, version))

    async def get(self, ids: Sequence[str]) -> list[Version]:
        wanted = json.dumps([storable(each) for each in dict.fromkeys(ids)])
        return await self._versions(
            f"{SELECT} JOIN json_each(?) AS wanted ON wanted.value = version.id ORDER BY wanted.key",
            (wanted,),
        )

    async def of_turns(self, turn_ids: Sequence[str]) -> list[Version]:
        """Return the versions of these turns, complete, oldest first."""
        wanted = json.dumps([storable(each) for each in turn_ids])
        return await self._versions(
            f"{SELECT} WHERE version.turn IN "
            f"(SELECT turn.key FROM json_each(?) JOIN turn ON turn.id = value) {OLDEST_FIRST}",
            (wanted,),
        )

    async def unversioned(self, session_id: str, *, limit: int = 100) -> list[str]:
        """Return turns of the session that ended here without a version, oldest first."""
        return await self._ids(UNVERSIONED, (session_id, limit))

    async def rows(self, project_id: str, *, limit: int = 200, before: str | None = None) -> list[VersionRow]:
        """Return the project's, newest first by (time, id); with `before`, those that follow that one."""
        page = PAGE if before is None else NEXT_PAGE
        values = {"project": project_id, "before": before, "limit": limit}

        def read(connection: Connection) -> list[VersionRow]:
            rows = connection.execute(f"{SELECT_SHORT} WHERE version.key IN ({page}) {NEWEST_FIRST}", values)
            return [version_row_of(row) for row in rows]

        return await self._database.read(read)

    async def with_id_part(self, project_id: str, part: str, *, limit: int = 5) -> list[Version]:
        """Return those whose id matches or that have this label; newest first, without their contents."""
        label = storable(part)
        values = {"project": project_id, "part": label.lower(), "label": label, "limit": limit}

        def read(connection: Connection) -> list[Version]:
            rows = connection.execute(
                f"{SELECT_SHORT} WHERE version.key IN ({NAMED}) {NEWEST_FIRST} LIMIT max(0, :limit)", values
            )
            return [version_row_of(row).version for row in rows]

        return await self._database.read(read) if part else []

    async def line(self, version_id: str, *, limit: int | None = None) -> list[Version]:
        # To SQLite a negative limit means no limit.
        return await self._versions(
            LINE, {"version": version_id, "limit": -1 if limit is None else max(0, limit)}
        )

    async def children(self, version_id: str) -> list[Version]:
        return await self._versions(CHILDREN, (version_id,))

    async def label(self, version_id: str, label: str) -> None:

        def write(connection: Connection) -> None:
            key = key_of(connection, "version", version_id)
            connection.execute("UPDATE version SET label = ? WHERE key = ?", (storable(label), key))
            index_version(connection, key)

        await self._database.write(write)

    async def set_branch(self, branch: Branch) -> None:
        """Point the name to the version. Raises Conflict if that is not one of the project's."""
        await self._database.write(lambda connection: put_branch(connection, branch))

    async def delete_branch(self, project_id: str, name: str) -> bool:

        def write(connection: Connection) -> bool:
            connection.execute(
                "DELETE FROM branch WHERE name = ? AND project = (SELECT key FROM project WHERE id = ?)",
                (storable(name), project_id),
            )
            return bool(connection.changes())

        return await self._database.write(write)

    async def branches(self, project_id: str) -> list[Branch]:

        def read(connection: Connection) -> list[Branch]:
            rows = connection.execute(
                f"{SELECT_BRANCH} WHERE project.id = ? ORDER BY branch.name", (project_id,)
            )
            return [BRANCHES.record(row) for row in rows]

        return await self._database.read(read)

    async def add_move(self, move: CheckoutLog) -> None:
        """Save a move of heads; one of the same id is kept. Raises Conflict for an unknown project."""
        await self._database.write(lambda connection: put_move(connection, move))

    async def moves(
        self, project_id: str, *, session_id: str | None = None, limit: int | None = 100
    ) -> list[CheckoutLog]:
        """Return the project's moves, or those of a session, newest first by (time, id)."""
        # The plus makes SQLite use the session's index.
        where = "move.project" if session_id is None else "move.session = :session AND +move.project"
        most = -1 if limit is None else max(0, limit)
        values = {"project": project_id, "session": session_id, "limit": most}

        def read(connection: Connection) -> list[CheckoutLog]:
            rows = connection.execute(
                f"{SELECT_MOVE} WHERE {where} = (SELECT key FROM project WHERE id = :project) "
                "ORDER BY move.at DESC, move.id DESC LIMIT :limit",
                values,
            )
            return [MOVES.record(row) for row in rows]

        return await self._database.read(read)

    async def all_ids(self, project_id: str | None = None) -> list[str]:
        """Return the ids of all versions, or of the project's, oldest first."""
        if project_id is None:
            return await self._ids("SELECT id FROM version ORDER BY at, id", ())
        sql = "SELECT id FROM version WHERE project = (SELECT key FROM project WHERE id = ?) ORDER BY at, id"
        return await self._ids(sql, (project_id,))

    async def _versions(self, sql: str, values: Bindings) -> list[Version]:
        return await self._database.read(
            lambda connection: [VERSIONS.record(row) for row in connection.execute(sql, values)]
        )

    async def _ids(self, sql: str, values: Bindings) -> list[str]:
        return await self._database.read(
            lambda connection: [identifier for (identifier,) in connection.execute(sql, values)]
        )
