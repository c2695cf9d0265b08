"""The projects in SQLite."""

from ragforge.domain.turns import PROJECT, Project
from ragforge.store.base_conversations import ProjectMove
from ragforge.store.json_text import storable
from ragforge.store.sqlite.connection import Connection, Database
from ragforge.store.sqlite.rows import RecordTable, one

PROJECTS = RecordTable(PROJECT)
NEWEST_FIRST = "created_at DESC, key DESC"


class SqliteProjects:
    """Implements `Projects`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, project: Project) -> None:

        def write(connection: Connection) -> None:
            if not insert_project(connection, project):
                connection.execute(
                    f"UPDATE project SET ({PROJECTS.columns}) = ({PROJECTS.marks}) WHERE id = ?",
                    (*PROJECTS.values(project), project.id),
                )

        await self._database.write(write)

    async def get(self, project_id: str) -> Project | None:

        def read(connection: Connection) -> Project | None:
            row = one(connection, f"SELECT {PROJECTS.select} FROM project WHERE id = ?", (project_id,))
            return None if row is None else PROJECTS.record(row)

        return await self._database.read(read)

    async def every(self) -> list[Project]:

        def read(connection: Connection) -> list[Project]:
            rows = connection.execute(f"SELECT {PROJECTS.select} FROM project ORDER BY {NEWEST_FIRST}")
            return [PROJECTS.record(row) for row in rows]

        return await self._database.read(read)

    async def find(self, *, git_remote: str = "", first_commit: str = "") -> list[Project]:

        def read(connection: Connection) -> list[Project]:
            rows = connection.execute(
                f"SELECT {PROJECTS.select} FROM project WHERE (?1 != '' AND git_remote = ?1) "
                f"OR (?2 != '' AND first_commit = ?2) ORDER BY {NEWEST_FIRST}",
                (storable(git_remote), first_commit),
            )
            return [PROJECTS.record(row) for row in rows]

        return await self._database.read(read)

    async def sessions(self, project_id: str) -> list[str]:
        """Return the ids of the project's sessions."""

        def read(connection: Connection) -> list[str]:
            rows = connection.execute(
                "SELECT session.id FROM session JOIN project ON project.key = project WHERE project.id = ? "
                "ORDER BY session.key",
                (project_id,),
            )
            return [session for (session,) in rows]

        return await self._database.read(read)

    async def joined_sessions(self, project_id: str) -> list[tuple[str, str]]:

        def read(connection: Connection) -> list[tuple[str, str]]:
            from ragforge.store.sqlite.project_moves import JOINED  # rarely needed

            return [(one, other) for one, other in connection.execute(JOINED, (project_id, project_id))]

        return await self._database.read(read)

    async def move(self, move: ProjectMove) -> None:
        """Move all of it at once. Raises Conflict if a project is not stored."""
        from ragforge.store.sqlite.project_moves import carry_out  # rarely needed

        await self._database.write(lambda connection: carry_out(connection, move))


def insert_project(connection: Connection, project: Project) -> bool:
    """Save it; return whether it was new. One of the same id is kept as it is."""
    connection.execute(
        f"INSERT OR IGNORE INTO project ({PROJECTS.columns}) VALUES ({PROJECTS.marks})",
        PROJECTS.values(project),
    )
    return bool(connection.changes())
