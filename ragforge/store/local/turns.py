"""What was recalled for turns and how it was used, and what of turns waits for the store."""

from collections.abc import Sequence
from datetime import datetime

import msgspec
from msgspec import Struct

from ragforge.domain.context import ContextBlock, RecallUse
from ragforge.store.local.database import LocalDatabase, ms
from ragforge.store.sqlite.connection import Connection

RECALLED_MAX = 1_000
"""How many turns keep what was recalled for them; some 8 MB at most."""
RECALL_USES_MAX = 1_000
"""For how many turns of a project the use of what was recalled is remembered."""


class Recalls:
    """The blocks of the newest turns, and whether they were opened, quoted or cited."""

    def __init__(self, database: LocalDatabase) -> None:
        self._database = database

    async def keep(self, turn_id: str, block: ContextBlock, *, session_id: str) -> None:
        """Save what was recalled for a turn's message; of very many turns only the newest."""
        text = msgspec.json.encode(block).decode()

        def job(connection: Connection) -> None:
            connection.execute(
                "INSERT OR REPLACE INTO recalled VALUES (?, ?, ?)", (turn_id, session_id, text)
            )
            connection.execute(
                "DELETE FROM recalled WHERE rowid <= "
                "(SELECT rowid FROM recalled ORDER BY rowid DESC LIMIT 1 OFFSET ?)",
                (RECALLED_MAX,),
            )

        await self._database.write(job)

    async def block(self, turn_id: str) -> ContextBlock | None:
        """Return what was recalled for the turn's message, or None if unknown."""
        text = await self._database.value("SELECT block FROM recalled WHERE turn = ?", turn_id)
        try:
            return msgspec.json.decode(text, type=ContextBlock) if text else None
        except msgspec.DecodeError:  # of another version: it is only shown
            return None

    async def keep_use(
        self, turn_id: str, use: RecallUse, *, project_id: str, session_id: str, at: datetime
    ) -> None:
        """Save how a turn used what was recalled for it; of very many turns only the newest.

        Once opened, it stays opened.
        """

        def job(connection: Connection) -> None:
            connection.execute(
                "INSERT INTO recall_use (turn, project, session, at, quoted, cited) "
                "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (turn) DO UPDATE "
                "SET quoted = excluded.quoted, cited = excluded.cited",
                (turn_id, project_id, session_id, ms(at), int(use.quoted), int(use.cited)),
            )
            connection.execute(
                "DELETE FROM recall_use WHERE project = ?1 AND at < "
                "(SELECT at FROM recall_use WHERE project = ?1 ORDER BY at DESC LIMIT 1 OFFSET ?2)",
                (project_id, RECALL_USES_MAX - 1),
            )

        await self._database.write(job)

    async def forget_use(self, turn_id: str) -> None:
        """Stop counting the turn: it had no result."""
        await self._database.write(
            lambda connection: connection.execute("DELETE FROM recall_use WHERE turn = ?", (turn_id,))
        )

    async def set_opened(self, turn_id: str) -> None:
        """Record that the user opened what was recalled for the turn."""
        await self._database.write(
            lambda connection: connection.execute(
                "UPDATE recall_use SET opened = 1 WHERE turn = ?", (turn_id,)
            )
        )

    async def uses(self, project_id: str) -> tuple[int, int]:
        """Return for how many of the project's newest turns something recalled was used, and for how many any
        was recalled."""

        def job(connection: Connection) -> tuple[int, int]:
            rows = connection.execute(
                "SELECT coalesce(sum(quoted OR cited OR opened), 0), count(*) FROM recall_use "
                "WHERE project = ?",
                (project_id,),
            )
            used, turns = next(rows)
            return used, turns

        return await self._database.read(job)

    async def forget(self, session_id: str) -> None:
        """Remove what was recalled in a session, and from it in others, and saved answers on its turns."""

        def job(connection: Connection) -> None:
            connection.execute("DELETE FROM recalled WHERE session = ?1 OR instr(block, ?1)", (session_id,))
            for table in ("recall_use", "answer"):
                connection.execute(f"DELETE FROM {table} WHERE session = ?", (session_id,))

        await self._database.write(job)


class TurnMarks:
    """After which turn a conversation was compacted, and which turns continued after their summary."""

    def __init__(self, database: LocalDatabase) -> None:
        self._database = database

    async def set_compacted(self, session_id: str, turn_id: str) -> None:
        """Record after which turn the user had the conversation compacted."""
        await self._database.write(
            lambda connection: connection.execute(
                "INSERT OR REPLACE INTO compacted VALUES (?, ?)", (session_id, turn_id)
            )
        )

    async def compacted(self, session_id: str) -> str:
        """Return after which turn the user last compacted the conversation, or nothing."""
        return await self._database.value("SELECT turn FROM compacted WHERE session = ?", session_id) or ""

    async def note_ran_on(self, turn_id: str, *, project_id: str) -> None:
        """Record that an ended turn continues: what was derived from its end is outdated now."""
        await self._database.write(
            lambda connection: connection.execute(
                "INSERT OR REPLACE INTO ran_on VALUES (?, ?, ?)", (turn_id, project_id, ms())
            )
        )

    async def ran_on(self, project_id: str) -> list[str]:
        """Return the project's turns that continued after something was derived from them, earliest first."""
        return await self._database.read(
            lambda connection: [
                turn
                for (turn,) in connection.execute(
                    "SELECT turn FROM ran_on WHERE project = ? ORDER BY at, turn", (project_id,)
                )
            ]
        )

    async def clear_ran_on(self, turn_id: str, *, until: datetime) -> None:
        """Forget that it continued, unless it did so later than this."""
        await self._database.write(
            lambda connection: connection.execute(
                "DELETE FROM ran_on WHERE turn = ? AND at <= ?", (turn_id, int(until.timestamp() * 1000))
            )
        )


ANSWERS_HELD_MAX = 1_000
"""For how many turns a model's answer can wait for the store."""


class HeldAnswer(Struct, frozen=True):
    """A model's answer about a turn that the store does not have yet.

    hash: of what the model was shown. answer: as JSON.
    """

    turn_id: str
    session_id: str
    hash: str
    answer: str


class HeldAnswers:
    """Answers that were paid for and are not in the store yet."""

    def __init__(self, database: LocalDatabase) -> None:
        self._database = database

    async def hold(self, answers: Sequence[HeldAnswer]) -> None:
        """Save a model's answers about turns until `drop`; of very many turns only the newest."""
        rows = [(each.turn_id, each.session_id, each.hash, each.answer) for each in answers]

        def job(connection: Connection) -> None:
            connection.executemany("INSERT OR REPLACE INTO answer VALUES (?, ?, ?, ?)", rows)
            connection.execute(
                "DELETE FROM answer WHERE rowid <= "
                "(SELECT rowid FROM answer ORDER BY rowid DESC LIMIT 1 OFFSET ?)",
                (ANSWERS_HELD_MAX,),
            )

        await self._database.write(job)

    async def held(self, turn_ids: Sequence[str]) -> list[HeldAnswer]:
        """Return the saved answers about these turns."""
        marks = ", ".join("?" * len(turn_ids))
        query = f"SELECT turn, session, hash, answer FROM answer WHERE turn IN ({marks})"
        return await self._database.read(
            lambda connection: [
                HeldAnswer(*map(str, row)) for row in connection.execute(query, tuple(turn_ids))
            ]
        )

    async def drop(self, turn_ids: Sequence[str]) -> None:
        """Remove the saved answers about these turns."""
        await self._database.write(
            lambda connection: connection.executemany(
                "DELETE FROM answer WHERE turn = ?", [(turn,) for turn in turn_ids]
            )
        )

    async def drop_of(self, session_id: str, prefix: str) -> None:
        """Remove the session's saved answers under keys with this prefix."""
        await self._database.write(
            lambda connection: connection.execute(
                "DELETE FROM answer WHERE session = ?1 AND substr(turn, 1, length(?2)) = ?2",
                (session_id, prefix),
            )
        )
