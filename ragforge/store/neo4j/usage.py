"""What was used, in the graph: summed from the steps, and from calls that are not steps."""

from datetime import datetime

from ragforge.domain.errors import StoreUnavailable
from ragforge.domain.usage import Purpose, Spent, Usage
from ragforge.store.base_conversations import UsageRow
from ragforge.store.neo4j.memory_rows import spent_row
from ragforge.store.neo4j.nodes import Nodes
from ragforge.store.neo4j.outbox import Rows
from ragforge.store.neo4j.rows import Label, utc


class Neo4jUsageLog:
    """Implements `UsageLog`."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes

    async def by_model(
        self, *, session_id: str | None = None, project_id: str | None = None, since: datetime | None = None
    ) -> list[UsageRow]:
        """Sums a model and purpose, most expensive first; an unknown price may be the highest: it leads."""
        await self._nodes.settle()
        conditions = [
            *(["{0}.sessionId = $session"] if session_id is not None else []),
            *(["{0}.projectId = $project AND {0}.timestamp IS NOT NULL"] if project_id is not None else []),
            *(["{0}.timestamp >= $since"] if since is not None else []),
        ]
        scope = " AND ".join(conditions) or "true"
        # Named, for a server that has seen few projects reads those of all.
        index = "USING INDEX SEEK {0}:{1}(projectId, timestamp) " if project_id and not session_id else ""
        turns, others = (
            f"{index}WHERE {scope}".format(*each) for each in (("t", Label.TURN), ("n", Label.USAGE))
        )
        query = _sums(of_turns=turns, of_others=others)
        moment = None if since is None else utc(since)
        try:
            found = await self._nodes.ask(query, session=session_id, project=project_id, since=moment)
        except StoreUnavailable:
            return await self._nodes.here.usage.by_model(
                session_id=session_id, project_id=project_id, since=since
            )
        sums = [
            UsageRow(
                each["name"],
                Purpose(each["purpose"]),
                each["calls"],
                Usage(each["input"], each["cached"], each["output"], each["thought"]),
                each["cost"],
            )
            for each in found
        ]
        return sorted(sums, key=_dearest_first)

    async def add(self, spent: Spent) -> None:
        """Keep a model call that is not a step of a turn; one of the same id stays as it is."""

        def write(rows: Rows) -> None:
            if rows.get(Label.USAGE, spent.id) is None:
                rows.put(Label.USAGE, spent.id, spent_row(spent))

        await self._nodes.outbox.write(write)
        self._nodes.carrier.nudge()


def _dearest_first(row: UsageRow) -> tuple[float, str, str]:
    return (float("-inf") if row.cost_usd is None else -row.cost_usd, row.model, row.purpose)


def _sums(*, of_turns: str, of_others: str) -> str:
    """The query, with index and conditions of the turn `t` of a step, and of another call `n`."""
    return f"""
CALL () {{
  MATCH (t:{Label.TURN}) {of_turns} WITH t
  MATCH (t)<-[:PART_OF]-(n:{Label.STEP})
  RETURN n.provider + ':' + n.model AS name, '{Purpose.CHAT}' AS purpose, n
  UNION ALL
  MATCH (n:{Label.USAGE}) {of_others}
  RETURN n.model AS name, n.purpose AS purpose, n
}}
WITH name, purpose, count(*) AS calls, count(n.costUsd) AS priced,
  sum(n.inputTokens) AS input, sum(n.cachedTokens) AS cached, sum(n.outputTokens) AS output,
  sum(n.thoughtTokens) AS thought, sum(n.costUsd) AS cost
RETURN name, purpose, calls, input, cached, output, thought, CASE WHEN priced = calls THEN cost END AS cost
"""
