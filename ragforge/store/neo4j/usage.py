"""What was used, in the graph: summed from the steps, and from calls that are no steps."""

from collections import defaultdict
from datetime import datetime

from ragforge.domain.errors import StoreUnavailable
from ragforge.domain.usage import Purpose, Spent, Usage, sum_costs
from ragforge.store.base_conversations import UsageRow
from ragforge.store.neo4j.memory_rows import spent_row
from ragforge.store.neo4j.nodes import Nodes
from ragforge.store.neo4j.outbox import Rows
from ragforge.store.neo4j.outbox_row import OutboxRow
from ragforge.store.neo4j.rows import Label, usage_of, utc


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
            *(["{0}.projectId = $project"] if project_id is not None else []),
            *(["{0}.timestamp >= $since"] if since is not None else []),
        ]
        scope = " AND ".join(conditions) or "true"
        query = _sums(of_turns=scope.format("t"), of_others=scope.format("n"))
        moment = None if since is None else utc(since)
        try:
            found = await self._nodes.ask(query, session=session_id, project=project_id, since=moment)
        except StoreUnavailable:
            return await self._here(session_id, project_id, moment)
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
        """Keep a model call that is no step of a turn; one of the same id stays as it is."""

        def write(rows: Rows) -> None:
            if rows.get(Label.USAGE, spent.id) is None:
                rows.put(Label.USAGE, spent.id, spent_row(spent))

        await self._nodes.outbox.write(write)
        self._nodes.carrier.nudge()

    async def _here(
        self, session_id: str | None, project_id: str | None, since: datetime | None
    ) -> list[UsageRow]:
        """The sums of what is here, while the server is away."""

        def is_wanted(row: OutboxRow) -> bool:
            return (
                session_id in (None, row.props["sessionId"])
                and project_id in (None, row.props["projectId"])
                and (since is None or row.props["timestamp"] >= since)
            )

        def read(rows: Rows) -> dict[tuple[str, Purpose], list[tuple[Usage, float | None]]]:
            used: dict[tuple[str, Purpose], list[tuple[Usage, float | None]]] = defaultdict(list)
            turns = {row.id for row in rows.of_label(Label.TURN) if is_wanted(row)}
            for row in rows.of_label(Label.STEP):
                if row.props["turnId"] in turns:
                    name = f"{row.props['provider']}:{row.props['model']}"
                    used[name, Purpose.CHAT].append(usage_of(row.props))
            for row in rows.of_label(Label.USAGE):
                if is_wanted(row):
                    used[row.props["model"], Purpose(row.props["purpose"])].append(usage_of(row.props))
            return used

        sums = [
            UsageRow(
                name,
                purpose,
                len(used),
                sum((usage for usage, _ in used), Usage()),
                sum_costs(cost_usd for _, cost_usd in used),
            )
            for (name, purpose), used in (await self._nodes.outbox.read(read)).items()
        ]
        return sorted(sums, key=_dearest_first)


def _dearest_first(row: UsageRow) -> tuple[float, str, str]:
    return (float("-inf") if row.cost_usd is None else -row.cost_usd, row.model, row.purpose)


def _sums(*, of_turns: str, of_others: str) -> str:
    """The query, with conditions on the turn `t` of a step, and on another call `n`."""
    return f"""
CALL () {{
  MATCH (t:{Label.TURN})<-[:PART_OF]-(n:{Label.STEP}) WHERE {of_turns}
  RETURN n.provider + ':' + n.model AS name, '{Purpose.CHAT}' AS purpose, n
  UNION ALL
  MATCH (n:{Label.USAGE}) WHERE {of_others}
  RETURN n.model AS name, n.purpose AS purpose, n
}}
WITH name, purpose, count(*) AS calls, count(n.costUsd) AS priced,
  sum(n.inputTokens) AS input, sum(n.cachedTokens) AS cached, sum(n.outputTokens) AS output,
  sum(n.thoughtTokens) AS thought, sum(n.costUsd) AS cost
RETURN name, purpose, calls, input, cached, output, thought, CASE WHEN priced = calls THEN cost END AS cost
"""
