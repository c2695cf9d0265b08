"""What was used, summed from the steps in the graph."""

from collections import defaultdict
from datetime import datetime

from ragforge.domain.errors import StoreUnavailable
from ragforge.domain.turns import Step
from ragforge.domain.usage import Usage, sum_costs
from ragforge.store.base import UsageRow
from ragforge.store.neo4j.nodes import Nodes
from ragforge.store.neo4j.outbox import Rows
from ragforge.store.neo4j.rows import Label, step_of, utc

SUMS = """
WITH s.provider + ':' + s.model AS name, count(*) AS steps, count(s.costUsd) AS priced,
  sum(s.inputTokens) AS input, sum(s.cachedTokens) AS cached, sum(s.outputTokens) AS output,
  sum(s.thoughtTokens) AS thought, sum(s.costUsd) AS cost
RETURN name, steps, input, cached, output, thought, CASE WHEN priced = steps THEN cost END AS cost
"""

TURNS = f"MATCH (t:{Label.TURN}) WHERE "
STEPS = f" MATCH (t)<-[:PART_OF]-(s:{Label.STEP}) "


class Neo4jUsageLog:
    """Implements `UsageLog`."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes

    async def by_model(
        self, *, session_id: str | None = None, project_id: str | None = None, since: datetime | None = None
    ) -> list[UsageRow]:
        """Sums a model, most expensive first; an unknown price may be the highest, so it comes first."""
        await self._nodes.settle()
        conditions = [
            *(["t.sessionId = $session"] if session_id is not None else []),
            *(["t.projectId = $project"] if project_id is not None else []),
            *(["t.timestamp >= $since"] if since is not None else []),
        ]
        query = TURNS + (" AND ".join(conditions) or "true") + STEPS + SUMS
        moment = None if since is None else utc(since)
        try:
            found = await self._nodes.ask(query, session=session_id, project=project_id, since=moment)
        except StoreUnavailable:
            return await self._here(session_id, project_id, moment)
        sums = [
            UsageRow(
                each["name"],
                "chat",
                each["steps"],
                Usage(each["input"], each["cached"], each["output"], each["thought"]),
                each["cost"],
            )
            for each in found
        ]
        return sorted(sums, key=_dearest_first)

    async def _here(
        self, session_id: str | None, project_id: str | None, since: datetime | None
    ) -> list[UsageRow]:
        """The sums of what is here, while the server is away."""

        def read(rows: Rows) -> list[Step]:
            turns = {
                row.id
                for row in rows.of_label(Label.TURN)
                if session_id in (None, row.props["sessionId"])
                and project_id in (None, row.props["projectId"])
                and (since is None or row.props["timestamp"] >= since)
            }
            return [step_of(row.props) for row in rows.of_label(Label.STEP) if row.props["turnId"] in turns]

        by_name: dict[str, list[Step]] = defaultdict(list)
        for step in await self._nodes.outbox.read(read):
            by_name[f"{step.message.provider}:{step.message.model}"].append(step)
        sums = [
            UsageRow(
                name,
                "chat",
                len(steps),
                sum((step.usage for step in steps), Usage()),
                sum_costs(step.cost_usd for step in steps),
            )
            for name, steps in by_name.items()
        ]
        return sorted(sums, key=_dearest_first)


def _dearest_first(row: UsageRow) -> tuple[float, str]:
    return (float("-inf") if row.cost_usd is None else -row.cost_usd, row.model)
