"""The sessions in SQLite, with their heads."""

from datetime import datetime
from pathlib import Path

from ragforge.domain.ids import now
from ragforge.domain.turns import SESSION, ConversationSession
from ragforge.store.base_conversations import Deleted, SessionRow
from ragforge.store.json_text import storable
from ragforge.store.sqlite.abandonment import head_moved
from ragforge.store.sqlite.claims import FileClaim
from ragforge.store.sqlite.connection import Connection, Database, Row
from ragforge.store.sqlite.deletion import delete_session
from ragforge.store.sqlite.recovery import interrupt_running_turns
from ragforge.store.sqlite.rows import RecordTable, key_of, one, project_key, to_ms

SESSIONS = RecordTable(SESSION, joined={"project_id": "project.id", "head": "head.id"})

SELECT = f"""
SELECT {SESSIONS.select}, head.depth, head.first_words
FROM session JOIN project ON project.key = session.project LEFT JOIN turn AS head ON head.key = session.head
"""


class SqliteSessions:
    """Implements `Sessions`."""

    def __init__(self, database: Database, lock_dir: Path) -> None:
        self._database = database
        self._lock_dir = lock_dir
        self._claims: dict[str, FileClaim] = {}

    async def add(self, session: ConversationSession) -> None:

        def write(connection: Connection) -> None:
            head = None if session.head is None else key_of(connection, "turn", session.head)
            if insert_session(connection, session, head):
                head_moved(connection, None, head)

        await self._database.write(write)

    async def get(self, session_id: str) -> ConversationSession | None:

        def read(connection: Connection) -> ConversationSession | None:
            row = one(connection, f"{SELECT} WHERE session.id = ?", (session_id,))
            return None if row is None else SESSIONS.record(row)

        return await self._database.read(read)

    async def rename(self, session_id: str, title: str) -> None:
        """Set its title. Raises Conflict if there is no such session."""
        await self._set(session_id, title=storable(title), changed_at=to_ms(now()))

    async def set_model(self, session_id: str, model: str) -> None:
        """Record its model. Raises Conflict if there is no such session."""
        await self._set(session_id, model=storable(model))

    async def set_mode(self, session_id: str, mode: str) -> None:
        """Record its consent mode. Raises Conflict if there is no such session."""
        await self._set(session_id, mode=str(mode))

    async def set_archived(self, session_id: str, at: datetime | None) -> None:
        """Archive it, or with None list it again. Raises Conflict if there is no such session."""
        await self._set(session_id, archived_at=None if at is None else to_ms(at), changed_at=to_ms(now()))

    async def set_head(self, session_id: str, turn_id: str | None) -> None:
        """Move the head. Raises Conflict if there is no such session or turn."""

        def write(connection: Connection) -> None:
            head = None if turn_id is None else key_of(connection, "turn", turn_id)
            session = key_of(connection, "session", session_id)
            (old,) = next(connection.execute("SELECT head FROM session WHERE key = ?", (session,)))
            connection.execute("UPDATE session SET head = ? WHERE key = ?", (head, session))
            head_moved(connection, old, head)

        await self._database.write(write)

    async def recent(
        self,
        *,
        project_id: str | None = None,
        with_id_part: str = "",
        archived: bool | None = None,
        limit: int = 1000,
    ) -> list[SessionRow]:
        """Return sessions, the last active first. Of each, its own row and its head's are read."""
        state = "" if archived is None else f"AND archived_at IS {'NOT ' if archived else ''}NULL "

        def read(connection: Connection) -> list[SessionRow]:
            rows = connection.execute(
                f"{SELECT} WHERE (:project IS NULL OR project.id = :project) AND (:part = '' "
                "OR substr(session.id, 1, length(:part)) = :part "
                "OR substr(session.id, -length(:part)) = :part "
                f"OR substr(session.id, -8, length(:part)) = :part) {state}"
                "ORDER BY session.last_activity_at DESC, session.key DESC LIMIT max(0, :limit)",
                {"project": project_id, "part": storable(with_id_part).lower(), "limit": limit},
            )
            return [_session_row(row) for row in rows]

        return await self._database.read(read)

    async def of_others(self, person: str, *, project_id: str | None = None) -> set[str]:

        def read(connection: Connection) -> set[str]:
            rows = connection.execute(
                "SELECT session.id FROM session JOIN project ON project.key = session.project "
                "WHERE (?1 IS NULL OR project.id = ?1) AND person NOT IN ('', ?2)",
                (project_id, storable(person)),
            )
            return {identifier for (identifier,) in rows}

        return await self._database.read(read)

    async def delete(self, session_id: str, *, dry_run: bool = False) -> Deleted:
        """Remove it with its turns and calls, except turns that another session depends on.

        Those go to the oldest session that depends on them. Deleting a missing session has no effect.
        Raises SessionBusy while another process writes it.
        """
        if dry_run:
            return await self._database.read(
                lambda connection: delete_session(connection, session_id, dry_run=True)
            )
        guard = None if session_id in self._claims else await FileClaim.obtain(self._lock_dir, session_id)
        try:
            return await self._database.write(lambda connection: delete_session(connection, session_id))
        finally:
            if guard is not None:
                await guard.release()

    async def claim(self, session_id: str) -> FileClaim:
        """Become its only writer; turns that a dead writer left running become interrupted.

        Raises Conflict if there is no such session.
        """
        claim = await FileClaim.obtain(
            self._lock_dir, session_id, on_release=lambda: self._claims.pop(session_id, None)
        )
        self._claims[session_id] = claim
        try:
            await self._database.write(lambda connection: interrupt_running_turns(connection, session_id))
        except BaseException:
            await claim.release()
            raise
        return claim

    async def release_all(self) -> None:
        """Release every claim."""
        for claim in list(self._claims.values()):
            await claim.release()

    async def _set(self, session_id: str, **values: str | int | None) -> None:
        def write(connection: Connection) -> None:
            connection.execute(
                f"UPDATE session SET {', '.join(f'{column} = ?' for column in values)} WHERE key = ?",
                (*values.values(), key_of(connection, "session", session_id)),
            )

        await self._database.write(write)


def insert_session(connection: Connection, session: ConversationSession, head: int | None) -> bool:
    """Save the session with that turn as its head; return whether it was new, else it is unchanged."""
    connection.execute(
        f"INSERT OR IGNORE INTO session (project, head, {SESSIONS.columns}) VALUES (?, ?, {SESSIONS.marks})",
        (project_key(connection, session.project_id), head, *SESSIONS.values(session)),
    )
    return bool(connection.changes())


def _session_row(row: Row) -> SessionRow:
    *_, depth, first_words = row
    return SessionRow(
        SESSIONS.record(row), turns=0 if depth is None else depth + 1, last_message=first_words or ""
    )
