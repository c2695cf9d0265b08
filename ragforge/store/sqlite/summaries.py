"""The summaries in SQLite, with what they cover."""

import json
from collections.abc import Sequence

from ragforge.domain.errors import Conflict
from ragforge.domain.summaries import SUMMARY, Summary, SummaryMethod
from ragforge.domain.turns import Turn
from ragforge.store.json_text import storable
from ragforge.store.memory_rules import check_summary
from ragforge.store.sqlite.connection import Connection, Database
from ragforge.store.sqlite.index import index_summary
from ragforge.store.sqlite.owed import owe_summary, owe_turns
from ragforge.store.sqlite.rows import RecordTable, key_of, new_key, one
from ragforge.store.sqlite.turns import SELECT as SELECT_TURN
from ragforge.store.sqlite.turns import TURNS
from ragforge.store.sqlite.vectors import move_embeddings

COVERED = "(SELECT json_group_array(covered ORDER BY position) FROM cover WHERE cover.summary = summary.key)"
SUMMARIES = RecordTable(
    SUMMARY, joined={"project_id": "project.id", "session_id": "session.id", "covers": COVERED}
)

SELECT = f"""
SELECT {SUMMARIES.select} FROM summary
JOIN session ON session.key = summary.session JOIN project ON project.key = session.project
"""

OF_SESSION = f"""
{SELECT} WHERE session.id = :session AND (:level IS NULL OR level = :level)
    AND NOT (:uncovered AND EXISTS (SELECT 1 FROM cover WHERE covered = summary.id))
ORDER BY level, at, summary.id
"""

COVERING = """
WITH RECURSIVE up (turn, summary) AS (
    SELECT wanted.value, cover.summary FROM json_each(?) AS wanted JOIN cover ON covered = wanted.value
    UNION
    SELECT up.turn, cover.summary FROM up JOIN summary ON key = up.summary JOIN cover ON covered = summary.id
)
SELECT turn, key FROM up JOIN summary ON key = up.summary ORDER BY level, at, id
"""

LACKING = f"""
{SELECT_TURN} WHERE turn.key IN (
    SELECT owed.key FROM owed JOIN session ON session.key = owed.session
    WHERE summary AND (:project IS NULL OR project = (SELECT key FROM project WHERE id = :project))
    ORDER BY at, owed.key LIMIT max(0, :limit)
) ORDER BY turn.started_at, turn.key
"""


OF_PROJECT = "(:project IS NULL OR +session.project = (SELECT key FROM project WHERE id = :project))"

STAND_INS = f"""
{SELECT} WHERE level = 1 AND method = 'extractive' AND {OF_PROJECT}
ORDER BY at DESC, summary.id DESC LIMIT max(0, :limit)
"""

UPPER_STAND_INS = f"""
{SELECT} WHERE level > 1 AND method = 'extractive' AND {OF_PROJECT} AND NOT EXISTS (
    SELECT 1 FROM cover JOIN summary AS child ON child.id = covered
    WHERE cover.summary = summary.key AND child.method = 'extractive'
)
ORDER BY level, at, summary.id LIMIT max(0, :limit)
"""

OUTDATED = f"{SELECT} WHERE outdated AND {OF_PROJECT} ORDER BY level, at, summary.id LIMIT max(0, :limit)"

# A turn is pending until a level 2 summary covers it: level 1 only retells it. Those are the turns that lack
# a summary, which are listed, and those under one that nothing covers: no other turn is read.
# In bytes, which SQLite knows without reading the text; never fewer than there are characters.
TO_ROLL_UP = f"""
WITH uncovered AS (
    SELECT * FROM summary WHERE NOT EXISTS (SELECT 1 FROM cover WHERE covered = summary.id)
), loose (session, level, chars) AS (
    SELECT turn.session, 0, octet_length(user) + octet_length(assistant)
    FROM owed CROSS JOIN turn ON turn.key = owed.key WHERE owed.summary
    UNION ALL
    SELECT turn.session, 0, octet_length(user) + octet_length(assistant)
    FROM uncovered CROSS JOIN cover ON cover.summary = uncovered.key CROSS JOIN turn ON turn.id = covered
    WHERE level = 1
    UNION ALL
    SELECT session, level, octet_length(text) FROM uncovered
)
SELECT session.id FROM session WHERE {OF_PROJECT} AND key IN (
    SELECT session FROM loose GROUP BY session, level HAVING sum(chars) > :chars
) ORDER BY session.started_at, session.key LIMIT max(0, :limit)
"""


class SqliteSummaries:
    """Implements `Summaries`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def save(self, summary: Summary) -> None:
        """Save it, or replace the one with its id.

        Raises Conflict if its session or something it covers is not stored, UsageError for a summary
        of nothing or of a level below 1.
        """
        check_summary(summary)

        def write(connection: Connection) -> None:
            check_covered(connection, summary)
            put_summary(connection, summary)

        await self._database.write(write)

    async def roll_up(self, summary: Summary) -> bool:
        """Keep it if no other of its level covers any of what it covers; whether it was kept."""
        check_summary(summary)

        def write(connection: Connection) -> bool:
            check_covered(connection, summary)
            taken = one(
                connection,
                "SELECT 1 FROM json_each(?) AS wanted JOIN cover ON covered = wanted.value "
                "JOIN summary ON summary.key = cover.summary WHERE summary.id != ? AND summary.level = ?",
                (json.dumps(summary.covers), summary.id, summary.level),
            )
            if taken is None:
                put_summary(connection, summary)
            return taken is None

        return await self._database.write(write)

    async def get(self, ids: Sequence[str]) -> list[Summary]:

        def read(connection: Connection) -> list[Summary]:
            rows = connection.execute(
                f"{SELECT} JOIN json_each(?) AS wanted ON wanted.value = summary.id ORDER BY wanted.key",
                (json.dumps(list(ids)),),
            )
            return [SUMMARIES.record(row) for row in rows]

        return await self._database.read(read) if ids else []

    async def of_session(
        self, session_id: str, *, level: int | None = None, uncovered: bool = False
    ) -> list[Summary]:

        def read(connection: Connection) -> list[Summary]:
            values = {"session": session_id, "level": level, "uncovered": uncovered}
            return [SUMMARIES.record(row) for row in connection.execute(OF_SESSION, values)]

        return await self._database.read(read)

    async def covering(self, turn_ids: Sequence[str]) -> dict[str, list[Summary]]:

        def read(connection: Connection) -> dict[str, list[Summary]]:
            pairs = list(connection.execute(COVERING, (json.dumps(list(turn_ids)),)))
            summaries = {key: summary_by_key(connection, key) for _, key in pairs}
            found: dict[str, list[Summary]] = {turn: [] for turn in turn_ids}
            for turn, key in pairs:
                found[turn].append(summaries[key])
            return found

        return await self._database.read(read) if turn_ids else {}

    async def stand_ins(self, *, project_id: str | None = None, limit: int = 100) -> list[Summary]:
        """Return extractive summaries of level 1, newest first."""
        return await self._database.read(
            lambda connection: _of_project(connection, STAND_INS, project_id, limit=limit)
        )

    async def upper_stand_ins(self, *, project_id: str | None = None, limit: int = 100) -> list[Summary]:
        """Return extractive ones above level 1 that cover only a model's, lowest level first, then oldest."""
        return await self._database.read(
            lambda connection: _of_project(connection, UPPER_STAND_INS, project_id, limit=limit)
        )

    async def outdated(self, *, project_id: str | None = None, limit: int = 100) -> list[Summary]:
        return await self._database.read(
            lambda connection: _of_project(connection, OUTDATED, project_id, limit=limit)
        )

    async def sessions_to_roll_up(
        self, chars_min: int, *, project_id: str | None = None, limit: int = 100
    ) -> list[str]:
        """Return ids of sessions with more pending characters on one level, oldest first."""

        def read(connection: Connection) -> list[str]:
            values = {"chars": chars_min, "project": project_id, "limit": limit}
            return [identifier for (identifier,) in connection.execute(TO_ROLL_UP, values)]

        return await self._database.read(read)

    async def lacking(self, *, project_id: str | None = None, limit: int = 100) -> list[Turn]:
        """Return ended turns without a level 1 summary, oldest first. Reads no others."""

        def read(connection: Connection) -> list[Turn]:
            rows = connection.execute(LACKING, {"project": project_id, "limit": limit})
            return [TURNS.record(row) for row in rows]

        return await self._database.read(read)


def _of_project(connection: Connection, sql: str, project_id: str | None, *, limit: int) -> list[Summary]:
    rows = connection.execute(sql, {"project": project_id, "limit": limit})
    return [SUMMARIES.record(row) for row in rows]


def check_covered(connection: Connection, summary: Summary) -> None:
    """Raise Conflict if something that it covers is not stored, or is not one level below."""
    table, level = ("turn", 0) if summary.level == 1 else ("summary", summary.level - 1)
    missing = one(
        connection,
        f"SELECT value FROM json_each(?) WHERE NOT EXISTS (SELECT 1 FROM {table} WHERE id = value"
        f"{' AND level = ?2' if level else ''})",
        (json.dumps(summary.covers), level) if level else (json.dumps(summary.covers),),
    )
    if missing is not None:
        kind = f"summary of level {level}" if level else "turn"
        raise Conflict(f"Summary {summary.id} covers {missing[0]}, which is no {kind} in the store.")


def put_summary(connection: Connection, summary: Summary) -> None:
    """Save it with its covers and its row of words, and record what must be embedded again."""
    values = (key_of(connection, "session", summary.session_id), *SUMMARIES.values(summary))
    found = one(
        connection,
        f"SELECT key, text, method, session, {SUMMARIES.columns} FROM summary WHERE id = ?",
        (summary.id,),
    )
    key = new_key(connection) if found is None else found[0]
    covered = _covered(connection, key)
    if found is not None:
        _, text, method, *stored = found
        if summary.method is SummaryMethod.EXTRACTIVE and method == SummaryMethod.MODEL:
            return
        # Its writer knew what it covers now.
        connection.execute("UPDATE summary SET outdated = 0 WHERE key = ? AND outdated", (key,))
        if tuple(stored) == values and covered == summary.covers:
            return
        if text != storable(summary.text):
            _outdate_above(connection, summary.id)
    connection.execute(
        f"INSERT INTO summary (key, session, {SUMMARIES.columns}) VALUES (?, ?, {SUMMARIES.marks}) "
        f"ON CONFLICT (id) DO UPDATE SET session = excluded.session, {SUMMARIES.excluded}",
        (key, *values),
    )
    connection.execute("DELETE FROM cover WHERE summary = ?", (key,))
    connection.executemany(
        "INSERT INTO cover (summary, position, covered) VALUES (?, ?, ?)",
        [(key, position, identifier) for position, identifier in enumerate(summary.covers)],
    )
    index_summary(connection, key)
    move_embeddings(connection, [key])
    owe_summary(connection, key)
    # A turn is embedded together with its summary.
    owe_turns(connection, [*covered, *summary.covers])


def _outdate_above(connection: Connection, identifier: str) -> None:
    connection.execute(
        "UPDATE summary SET outdated = 1 WHERE key IN (SELECT summary FROM cover WHERE covered = ?)",
        (identifier,),
    )


def _covered(connection: Connection, summary: int) -> tuple[str, ...]:
    rows = connection.execute("SELECT covered FROM cover WHERE summary = ? ORDER BY position", (summary,))
    return tuple(row[0] for row in rows)


def summary_by_key(connection: Connection, key: int) -> Summary:
    """Return the summary, which exists."""
    return SUMMARIES.record(next(connection.execute(f"{SELECT} WHERE summary.key = ?", (key,))))
