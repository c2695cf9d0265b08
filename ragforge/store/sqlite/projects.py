"""The projects in SQLite."""

from ragforge.domain.turns import Project
from ragforge.store.json_text import storable
from ragforge.store.sqlite.connection import Connection, Database, Row
from ragforge.store.sqlite.rows import from_ms, one, to_ms

COLUMNS = "id, name, created_at, git_remote, first_commit"


class SqliteProjects:
    """Implements `Projects`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, project: Project) -> None:
        """Keep a new project; one of the same id is replaced."""

        def write(connection: Connection) -> None:
            connection.execute(
                f"INSERT INTO project ({COLUMNS}) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
                "name = excluded.name, created_at = excluded.created_at, "
                "git_remote = excluded.git_remote, first_commit = excluded.first_commit",
                (
                    project.id,
                    storable(project.name),
                    to_ms(project.created_at),
                    storable(project.git_remote),
                    project.first_commit,
                ),
            )

        await self._database.write(write)

    async def get(self, project_id: str) -> Project | None:
        """The project, or None."""

        def read(connection: Connection) -> Project | None:
            row = one(connection, f"SELECT {COLUMNS} FROM project WHERE id = ?", (project_id,))
            return None if row is None else _project(row)

        return await self._database.read(read)

    async def find(self, *, git_remote: str = "", first_commit: str = "") -> list[Project]:
        """Projects with the same remote or first commit, newest first; empty values match nothing."""

        def read(connection: Connection) -> list[Project]:
            rows = connection.execute(
                f"SELECT {COLUMNS} FROM project WHERE (?1 != '' AND git_remote = ?1) "
                "OR (?2 != '' AND first_commit = ?2) ORDER BY created_at DESC, key DESC",
                (storable(git_remote), first_commit),
            )
            return [_project(row) for row in rows]

        return await self._database.read(read)


def _project(row: Row) -> Project:
    identifier, name, created_at, git_remote, first_commit = row
    return Project(identifier, name, from_ms(created_at), git_remote, first_commit)
