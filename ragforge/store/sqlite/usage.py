"""Usage in SQLite: summed from the steps, and from calls that are not steps."""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta

from ragforge.domain.usage import NO_MODEL, SPENT, Purpose, Spent, StatisticsGroup, Usage
from ragforge.store.base_conversations import PersonUsage, StatisticsRow, UsageRow
from ragforge.store.json_text import storable
from ragforge.store.sqlite.abandonment import TURN_ABANDONED
from ragforge.store.sqlite.connection import Connection, Database
from ragforge.store.sqlite.rows import EVER, RecordTable, to_ms

CALLS_APART = RecordTable(SPENT)

USED = f"""
WITH used (name, purpose, person, input, cached, output, thought, cost_usd) AS (
    SELECT step.provider || ':' || step.model, turn.purpose, turn.person, step.input_tokens,
        step.cached_tokens, step.output_tokens, step.thought_tokens, step.cost_usd
    FROM session CROSS JOIN turn ON turn.session = session.key CROSS JOIN step ON step.turn = turn.key
    WHERE (:session IS NULL OR session.id = :session)
        AND (:project IS NULL OR session.project = (SELECT key FROM project WHERE id = :project))
        -- No turn of a session began after what last happened there; but a fork may have inherited one.
        AND (session.last_activity_at >= :since OR session.forked_from IS NOT NULL)
        AND turn.started_at >= :since AND (:person IS NULL OR turn.person = :person)
        AND step.provider != '{NO_MODEL}'
    UNION ALL
    SELECT model, purpose, person, input_tokens, cached_tokens, output_tokens, thought_tokens, cost_usd
    FROM spent WHERE (:session IS NULL OR session = :session) AND (:project IS NULL OR project = :project)
        AND at >= :since AND (:person IS NULL OR person = :person)
)
"""
SUMS = """
count(*), sum(input), sum(cached), sum(output), sum(thought),
    -- One unknown price makes the sum unknown.
    CASE WHEN count(*) = count(cost_usd) THEN sum(cost_usd) END AS cost
"""
BY_MODEL = f"""
{USED} SELECT name, purpose, {SUMS}
FROM used GROUP BY name, purpose ORDER BY cost DESC NULLS FIRST, name, purpose
"""
BY_PERSON = f"{USED} SELECT person, {SUMS} FROM used GROUP BY person ORDER BY cost DESC NULLS FIRST, person"

STATISTICS = f"""
WITH done (model, person, project, at, session, turn, undone, version, call,
        input, cached, output, thought, cost_usd) AS (
    SELECT coalesce(step.provider || ':' || step.model, turn.model), turn.person, project.id, turn.started_at,
        session.id, CASE turn.purpose WHEN 'chat' THEN turn.key END,
        CASE WHEN turn.purpose = 'chat' AND {TURN_ABANDONED.format("turn.key")} THEN turn.key END, 0,
        step.turn IS NOT NULL, step.input_tokens, step.cached_tokens, step.output_tokens, step.thought_tokens,
        step.cost_usd
    FROM project CROSS JOIN session ON session.project = project.key
        CROSS JOIN turn ON turn.session = session.key
        LEFT JOIN step ON step.turn = turn.key AND step.provider != '{NO_MODEL}'
    WHERE (:project IS NULL OR project.id = :project)
        AND (session.last_activity_at >= :since OR session.forked_from IS NOT NULL)
        AND turn.started_at >= :since AND (:person IS NULL OR turn.person = :person)
    UNION ALL
    SELECT version.author, turn.person, project.id, turn.started_at, NULL, NULL, NULL, 1, 0, 0, 0, 0, 0, NULL
    FROM project CROSS JOIN version ON version.project = project.key
        CROSS JOIN turn ON turn.key = version.turn
    WHERE (:project IS NULL OR project.id = :project)
        AND turn.started_at >= :since AND (:person IS NULL OR turn.person = :person)
    UNION ALL
    SELECT model, person, project, at, (SELECT id FROM session WHERE id = spent.session), NULL, NULL, 0, 1,
        input_tokens, cached_tokens, output_tokens, thought_tokens, cost_usd
    FROM spent WHERE (:project IS NULL OR project = :project)
        AND at >= :since AND (:person IS NULL OR person = :person)
)
SELECT {{name}} AS name, count(DISTINCT session), count(DISTINCT turn), count(DISTINCT undone), sum(version),
    sum(call), total(input), total(cached), total(output), total(thought),
    CASE WHEN sum(call) = count(cost_usd) THEN total(cost_usd) END
FROM done GROUP BY 1 ORDER BY 1
"""
GROUPED_BY = {
    StatisticsGroup.USER: "person",
    StatisticsGroup.MODEL: "model",
    StatisticsGroup.PROJECT: "project",
    StatisticsGroup.DAY: "date((at + :offset) / 1000, 'unixepoch')",
}

BY_SESSION = """
WITH wanted (id) AS (SELECT value FROM json_each(?))
SELECT id, CASE WHEN count(*) = count(cost_usd) THEN sum(cost_usd) END FROM (
    SELECT wanted.id, step.cost_usd FROM wanted CROSS JOIN session ON session.id = wanted.id
        CROSS JOIN turn ON turn.session = session.key CROSS JOIN step ON step.turn = turn.key
    UNION ALL
    SELECT wanted.id, spent.cost_usd FROM wanted CROSS JOIN spent ON spent.session = wanted.id
) GROUP BY id
"""


class SqliteUsageLog:
    """Implements `UsageLog`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def by_model(
        self,
        *,
        session_id: str | None = None,
        project_id: str | None = None,
        since: datetime | None = None,
        person: str | None = None,
    ) -> list[UsageRow]:
        """Return sums by model and purpose, most expensive first; an unknown price may be the highest."""

        def read(connection: Connection) -> list[UsageRow]:
            rows = connection.execute(
                BY_MODEL,
                {
                    "session": session_id,
                    "project": project_id,
                    "person": person,
                    "since": EVER if since is None else to_ms(since),
                },
            )
            return [UsageRow(row[0], Purpose(row[1]), row[2], Usage(*row[3:7]), row[7]) for row in rows]

        return await self._database.read(read)

    async def by_person(self, *, project_id: str | None = None) -> list[PersonUsage]:
        """Return sums by user, most expensive first; an unknown price may be the highest: it leads."""

        def read(connection: Connection) -> list[PersonUsage]:
            scope = {"session": None, "project": project_id, "person": None, "since": EVER}
            rows = connection.execute(BY_PERSON, scope)
            return [PersonUsage(row[0], row[1], Usage(*row[2:6]), row[6]) for row in rows]

        return await self._database.read(read)

    async def statistics(
        self,
        group: StatisticsGroup,
        *,
        project_id: str | None = None,
        since: datetime | None = None,
        person: str | None = None,
        offset: timedelta = timedelta(),
    ) -> list[StatisticsRow]:
        scope = {
            "project": project_id,
            "person": person,
            "since": EVER if since is None else to_ms(since),
            "offset": offset // timedelta(milliseconds=1),
        }

        def read(connection: Connection) -> list[StatisticsRow]:
            rows = connection.execute(STATISTICS.format(name=GROUPED_BY[group]), scope)
            return [
                StatisticsRow(
                    row[0], row[1], row[2], row[3], row[4], row[5], Usage(*map(int, row[6:10])), row[10]
                )
                for row in rows
            ]

        return await self._database.read(read)

    async def by_session(self, session_ids: Sequence[str]) -> dict[str, float | None]:
        wanted = json.dumps([storable(each) for each in dict.fromkeys(session_ids)])

        def read(connection: Connection) -> dict[str, float | None]:
            return dict.fromkeys(session_ids, 0.0) | dict(connection.execute(BY_SESSION, (wanted,)))

        return await self._database.read(read)

    async def add(self, spent: Spent) -> None:
        """Save a model call that is not a step of a turn."""
        await self._database.write(lambda connection: insert_spent(connection, spent))


def insert_spent(connection: Connection, spent: Spent) -> bool:
    """Save it; return whether it was new. One of the same id is kept as it is."""
    connection.execute(
        f"INSERT OR IGNORE INTO spent ({CALLS_APART.columns}) VALUES ({CALLS_APART.marks})",
        CALLS_APART.values(spent),
    )
    return bool(connection.changes())
