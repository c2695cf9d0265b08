"""What was used, summed from the steps in SQLite."""

from datetime import datetime

from ragforge.domain.usage import Usage
from ragforge.store.base import UsageRow
from ragforge.store.sqlite.connection import Connection, Database
from ragforge.store.sqlite.rows import to_ms

BY_MODEL = """
SELECT step.provider || ':' || step.model AS name, count(*), sum(step.input_tokens), sum(step.cached_tokens),
    sum(step.output_tokens), sum(step.thought_tokens),
    -- One unknown price makes the sum unknown.
    CASE WHEN count(*) = count(step.cost_usd) THEN sum(step.cost_usd) END AS cost
FROM step JOIN turn ON turn.key = step.turn JOIN session ON session.key = turn.session
WHERE (:session IS NULL OR session.id = :session)
    AND (:project IS NULL OR session.project = (SELECT key FROM project WHERE id = :project))
    AND (:since IS NULL OR turn.started_at >= :since)
GROUP BY name ORDER BY cost DESC NULLS FIRST, name
"""


class SqliteUsageLog:
    """Implements `UsageLog`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def by_model(
        self, *, session_id: str | None = None, project_id: str | None = None, since: datetime | None = None
    ) -> list[UsageRow]:
        """Sums a model, most expensive first; an unknown price may be the highest, so it comes first."""

        def read(connection: Connection) -> list[UsageRow]:
            rows = connection.execute(
                BY_MODEL,
                {
                    "session": session_id,
                    "project": project_id,
                    "since": None if since is None else to_ms(since),
                },
            )
            return [UsageRow(row[0], "chat", row[1], Usage(*row[2:6]), row[6]) for row in rows]

        return await self._database.read(read)
