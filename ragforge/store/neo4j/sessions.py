"""The sessions in the graph, with their heads."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ragforge.domain.errors import StoreUnavailable
from ragforge.domain.ids import now
from ragforge.domain.turns import ConversationSession
from ragforge.store.base_conversations import Deleted, SessionRow
from ragforge.store.json_text import storable
from ragforge.store.neo4j.claims import Claims, GraphClaim
from ragforge.store.neo4j.deletion import delete_session
from ragforge.store.neo4j.nodes import Nodes, fields
from ragforge.store.neo4j.outbox import Rows
from ragforge.store.neo4j.rows import Label, session_of, session_row, utc
from ragforge.store.neo4j.turns import YOUNG

FIRST_WORDS_CHARS = 200

PART = """
  AND (s.sessionId STARTS WITH $part OR s.sessionId ENDS WITH $part
    OR right(s.sessionId, 8) STARTS WITH $part)"""

OF_OTHERS = f"""
MATCH (s:{Label.SESSION}) WHERE ($project IS NULL OR s.projectId = $project)
  AND NOT coalesce(s.person, '') IN ['', $person]
RETURN s.sessionId AS id
"""


class Neo4jSessions:
    """Implements `Sessions`."""

    def __init__(self, nodes: Nodes, claims: Claims) -> None:
        self._nodes = nodes
        self._claims = claims

    async def add(self, session: ConversationSession) -> None:
        """Store a new session (a fork too: it comes with a head on shared turns).

        Raises Conflict if its project or its head is not stored.
        """
        await self._nodes.need(Label.PROJECT, session.project_id)
        await self._nodes.need(Label.TURN, session.head)
        if await self._was_added(session):
            return

        def write(rows: Rows) -> None:
            if rows.get(Label.SESSION, session.id) is None:
                rows.put(Label.SESSION, session.id, session_row(session))

        await self._nodes.write(write)

    async def get(self, session_id: str) -> ConversationSession | None:
        found = await self._nodes.get(Label.SESSION, session_id)
        return None if found is None else session_of(found)

    async def rename(self, session_id: str, title: str) -> None:
        """Set its title. Raises Conflict if there is no such session."""
        await self._set(session_id, {"title": storable(title), "changedAt": utc(now())})

    async def set_model(self, session_id: str, model: str) -> None:
        """Set the model that it uses. Raises Conflict if there is no such session."""
        await self._set(session_id, {"model": storable(model)})

    async def set_mode(self, session_id: str, mode: str) -> None:
        """Set its consent mode. Raises Conflict if there is no such session."""
        await self._set(session_id, {"mode": str(mode)})

    async def set_archived(self, session_id: str, at: datetime | None) -> None:
        """Archive it, or with None list it again. Raises Conflict if there is no such session."""
        changes = {"archivedAt": None if at is None else utc(at), "changedAt": utc(now())}
        await self._set(session_id, changes)

    async def set_head(self, session_id: str, turn_id: str | None) -> None:
        """Move the head. Raises Conflict if there is no such session or turn."""
        if turn_id is not None:
            await self._nodes.need_whole(turn_id)
        await self._set(session_id, {"headId": turn_id})

    async def recent(
        self,
        *,
        project_id: str | None = None,
        with_id_part: str = "",
        archived: bool | None = None,
        limit: int = 1000,
    ) -> list[SessionRow]:
        """Return sessions, the last active first. While the server is unreachable, those that are here."""
        part = storable(with_id_part).lower()
        await self._nodes.settle()
        try:
            query = _recent(in_project=project_id is not None, with_part=bool(part), archived=archived)
            found = await self._nodes.ask(query, project=project_id, part=part, limit=max(0, limit))
        except StoreUnavailable:
            here = self._nodes.here
            rows = await here.sessions.recent(
                project_id=project_id, with_id_part=part, archived=archived, limit=limit
            )
            return [row for row in rows if row.session.id not in here.missing]
        return [_session_row(each["session"], each) for each in found]

    async def of_others(self, person: str, *, project_id: str | None = None) -> set[str]:
        """Return the ids of other people's sessions. Without the server, of those that are here."""
        await self._nodes.settle()
        try:
            found = await self._nodes.ask(OF_OTHERS, project=project_id, person=storable(person))
        except StoreUnavailable:
            return await self._nodes.here.sessions.of_others(person, project_id=project_id)
        return {each["id"] for each in found}

    async def delete(self, session_id: str, *, dry_run: bool = False) -> Deleted:
        """Remove it with its turns and calls, except for turns that another session depends on.

        Those move to the oldest session that depends on them. Deleting a missing session removes nothing.
        Raises SessionBusy while another process writes it, StoreUnavailable if the server is unreachable.
        """
        if dry_run or self._claims.holds(session_id) or not await self._is_there(session_id):
            return await delete_session(self._nodes, session_id, dry_run=dry_run)
        claim = await self._claims.take(session_id)
        try:
            return await delete_session(self._nodes, session_id)
        finally:
            await claim.release()

    async def claim(self, session_id: str) -> GraphClaim:
        """Become its only writer; turns that a dead writer left running become interrupted."""
        return await self._claims.take(session_id)

    async def _is_there(self, session_id: str) -> bool:
        found = await self._nodes.insist(
            f"MATCH (s:{Label.SESSION} {{sessionId: $id}}) RETURN true AS there", id=session_id
        )
        return bool(found)

    async def _was_added(self, session: ConversationSession) -> bool:
        """Whether it was added before; the graph is not asked about one that began just now."""
        if await self._nodes.outbox.read(lambda rows: rows.get(Label.SESSION, session.id)):
            return True
        if abs(now() - session.started_at) < YOUNG:
            return False
        try:
            return await self._nodes.get(Label.SESSION, session.id) is not None
        except StoreUnavailable:
            return False

    async def _set(self, session_id: str, changes: Mapping[str, Any]) -> None:
        await self._nodes.need(Label.SESSION, session_id)
        # Data here about a session that others write may be outdated.
        await self._nodes.write(lambda rows: rows.put(Label.SESSION, session_id, changes, surely=True))


def _recent(*, in_project: bool, with_part: bool, archived: bool | None) -> str:
    """Return the query: of each session it reads only its own node and its head's, however long it is.

    Conditions on all properties of the index let it be read from its end. The index is named: with old
    statistics the planner may expect few sessions that are not archived, and read all of them.
    """
    project, order = ("s.projectId = $project AND ", "s.projectId DESC, ") if in_project else ("", "")
    state = "" if archived is None else f"\n  AND s.archivedAt IS {'NOT ' if archived else ''}NULL"
    index = f"USING INDEX s:{Label.SESSION}(projectId, lastActivity) " if in_project and not archived else ""
    return f"""
MATCH (s:{Label.SESSION}) {index}WHERE {project}s.lastActivity IS NOT NULL{PART if with_part else ""}{state}
WITH s ORDER BY {order}s.lastActivity DESC, s.sessionId DESC LIMIT $limit
OPTIONAL MATCH (h:{Label.TURN} {{id: s.headId}})
RETURN {fields("s", Label.SESSION)} AS session, h.turnIndex AS depth,
  left(h.userMessage, {FIRST_WORDS_CHARS}) AS words
ORDER BY s.lastActivity DESC, s.sessionId DESC
"""


def _session_row(session: Mapping[str, Any], head: Mapping[str, Any]) -> SessionRow:
    depth = head["depth"]
    return SessionRow(
        session_of(session), turns=0 if depth is None else depth + 1, last_message=head["words"] or ""
    )
