"""The projects in the graph."""

from ragforge.domain.errors import StoreUnavailable
from ragforge.domain.turns import Project
from ragforge.store.base_conversations import ProjectMove
from ragforge.store.json_text import storable
from ragforge.store.neo4j.nodes import Nodes, fields
from ragforge.store.neo4j.outbox import Rows
from ragforge.store.neo4j.rows import Label, project_of, project_row

NEWEST_FIRST = f"RETURN {fields('n', Label.PROJECT)} AS n ORDER BY n.createdAt DESC, n.id DESC"
EVERY = f"MATCH (n:{Label.PROJECT}) {NEWEST_FIRST}"
FIND = f"""
MATCH (n:{Label.PROJECT})
WHERE ($remote <> '' AND n.gitRemote = $remote) OR ($commit <> '' AND n.firstCommit = $commit)
{NEWEST_FIRST}
"""


class Neo4jProjects:
    """Implements `Projects`."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes

    async def add(self, project: Project) -> None:

        def write(rows: Rows) -> None:
            rows.put(Label.PROJECT, project.id, project_row(project), surely=True)

        await self._nodes.write(write)

    async def get(self, project_id: str) -> Project | None:
        found = await self._nodes.get(Label.PROJECT, project_id)
        if found is None:
            return None
        project = project_of(found)
        if not self._nodes.carrier.away:
            # Stored here, because the next start may be without the server.
            await self._keep(project)
        return project

    async def every(self) -> list[Project]:
        """Return all projects, newest first. While the server is unreachable, those that are here."""
        await self._nodes.settle()
        try:
            return [project_of(each["n"]) for each in await self._nodes.ask(EVERY)]
        except StoreUnavailable:
            return await self._every_here()

    async def find(self, *, git_remote: str = "", first_commit: str = "") -> list[Project]:
        git_remote, first_commit = storable(git_remote), storable(first_commit)
        await self._nodes.settle()
        try:
            found = await self._nodes.ask(FIND, remote=git_remote, commit=first_commit)
        except StoreUnavailable:
            return await self._find_here(git_remote, first_commit)
        return [project_of(each["n"]) for each in found]

    async def sessions(self, project_id: str) -> list[str]:
        """Return the ids of the sessions with anything filed under the project. Raises StoreUnavailable."""
        from ragforge.store.neo4j.project_moves import sessions_of  # seldom needed

        return await sessions_of(self._nodes, project_id)

    async def joined_sessions(self, project_id: str) -> list[tuple[str, str]]:
        """Return pairs of sessions that share turns. Raises StoreUnavailable."""
        from ragforge.store.neo4j.project_moves import joined_sessions  # likewise

        return await joined_sessions(self._nodes, project_id)

    async def move(self, move: ProjectMove) -> None:
        """Move all of it at once. Raises Conflict, StoreUnavailable."""
        from ragforge.store.neo4j.project_moves import move_between  # likewise

        await move_between(self._nodes, move)

    async def _keep(self, project: Project) -> None:
        row = await self._nodes.outbox.read(lambda rows: rows.get(Label.PROJECT, project.id))
        if row is None or project_of(row.props) != project:
            await self._nodes.outbox.write(lambda rows: rows.keep(Label.PROJECT, [project_row(project)]))

    async def _find_here(self, git_remote: str, first_commit: str) -> list[Project]:
        return [
            each
            for each in await self._every_here()
            if (git_remote and each.git_remote == git_remote)
            or (first_commit and each.first_commit == first_commit)
        ]

    async def _every_here(self) -> list[Project]:
        rows = await self._nodes.outbox.read(lambda rows: rows.of_label(Label.PROJECT))
        projects = [project_of(row.props) for row in rows]
        return sorted(projects, key=lambda each: (each.created_at, each.id), reverse=True)
