"""Usage in the graph: summed from the steps, and from calls that are not steps."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from ragforge.domain.errors import StoreUnavailable
from ragforge.domain.usage import NO_MODEL, Purpose, Spent, StatisticsGroup, Usage
from ragforge.store.base_conversations import PersonUsage, StatisticsRow, UsageRow
from ragforge.store.neo4j.memory_rows import spent_row
from ragforge.store.neo4j.nodes import Nodes, valid_ids
from ragforge.store.neo4j.outbox import Rows
from ragforge.store.neo4j.rows import Label, utc

PURPOSE = f"coalesce(t.purpose, '{Purpose.CHAT}')"
"""Of a turn; older ones, from before there were others, have none."""

BY_SESSION = f"""
UNWIND $ids AS id
CALL (id) {{
  MATCH (t:{Label.TURN} {{sessionId: id}})<-[:PART_OF]-(n:{Label.STEP})
  RETURN n.costUsd AS cost
  UNION ALL
  MATCH (n:{Label.USAGE} {{sessionId: id}}) RETURN n.costUsd AS cost
}}
WITH id, count(*) AS calls, count(cost) AS priced, sum(cost) AS cost
RETURN id, CASE WHEN priced = calls THEN cost END AS cost
"""
GROUPED_BY = {
    StatisticsGroup.USER: "person",
    StatisticsGroup.MODEL: "model",
    StatisticsGroup.PROJECT: "project",
    StatisticsGroup.DAY: "toString(date(at + $offset))",
}
OF_PROJECT = "{0}.projectId = $project AND {0}.timestamp IS NOT NULL"


class Neo4jUsageLog:
    """Implements `UsageLog`."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes

    async def by_model(
        self,
        *,
        session_id: str | None = None,
        project_id: str | None = None,
        since: datetime | None = None,
        person: str | None = None,
    ) -> list[UsageRow]:
        """Return sums by model and purpose; first unknown prices (maybe the highest), then most expensive."""
        await self._nodes.settle()
        conditions = _conditions(session_id=session_id, project_id=project_id, since=since, person=person)
        if session_id is not None:
            index = "sessionId"
        elif project_id is not None:
            index = "projectId, timestamp"
        else:
            index = ""
            if since is not None:
                index = "timestamp" if person is None else "person, timestamp"
        query = _sums(conditions, "name", "purpose", index=index)
        moment = None if since is None else utc(since)
        try:
            found = await self._nodes.ask(
                query, session=session_id, project=project_id, since=moment, person=person
            )
        except StoreUnavailable:
            return await self._nodes.here.usage.by_model(
                session_id=session_id, project_id=project_id, since=since, person=person
            )
        sums = [
            UsageRow(each["name"], Purpose(each["purpose"]), each["calls"], _usage(each), each["cost"])
            for each in found
        ]
        return sorted(sums, key=lambda row: (_dearest_first(row), row.model, row.purpose))

    async def by_person(self, *, project_id: str | None = None) -> list[PersonUsage]:
        """Return sums by user; first unknown prices (maybe the highest), then most expensive."""
        await self._nodes.settle()
        query = _sums(
            [OF_PROJECT] if project_id else [], "person", index="projectId, timestamp" if project_id else ""
        )
        try:
            found = await self._nodes.ask(query, project=project_id)
        except StoreUnavailable:
            return await self._nodes.here.usage.by_person(project_id=project_id)
        sums = [PersonUsage(each["person"], each["calls"], _usage(each), each["cost"]) for each in found]
        return sorted(sums, key=lambda row: (_dearest_first(row), row.person))

    async def statistics(
        self,
        group: StatisticsGroup,
        *,
        project_id: str | None = None,
        since: datetime | None = None,
        person: str | None = None,
        offset: timedelta = timedelta(),
    ) -> list[StatisticsRow]:
        await self._nodes.settle()
        conditions = _conditions(project_id=project_id, since=since, person=person)
        moment = None if since is None else utc(since)
        query = _statistics(conditions, GROUPED_BY[group])
        try:
            found = await self._nodes.ask(
                query, project=project_id, since=moment, person=person, offset=offset
            )
        except StoreUnavailable:
            return await self._nodes.here.usage.statistics(
                group, project_id=project_id, since=since, person=person, offset=offset
            )
        return [
            StatisticsRow(
                name=each["name"],
                sessions=each["sessions"],
                prompts=each["prompts"],
                undone=each["undone"],
                versions=each["versions"],
                calls=each["calls"],
                usage=_usage(each),
                cost_usd=each["cost"],
            )
            for each in found
        ]

    async def by_session(self, session_ids: Sequence[str]) -> dict[str, float | None]:
        await self._nodes.settle()
        try:
            found = await self._nodes.ask(BY_SESSION, ids=valid_ids(session_ids))
        except StoreUnavailable:
            return await self._nodes.here.usage.by_session(session_ids)
        return dict.fromkeys(session_ids, 0.0) | {each["id"]: each["cost"] for each in found}

    async def add(self, spent: Spent) -> None:
        """Store a model call that is not a step of a turn; one of the same id stays as it is."""

        def write(rows: Rows) -> None:
            if rows.get(Label.USAGE, spent.id) is None:
                rows.put(Label.USAGE, spent.id, spent_row(spent))

        await self._nodes.write(write)


def _conditions(
    *,
    session_id: str | None = None,
    project_id: str | None = None,
    since: datetime | None = None,
    person: str | None = None,
) -> list[str]:
    return [
        *(["{0}.sessionId = $session"] if session_id is not None else []),
        *([OF_PROJECT] if project_id is not None else []),
        *(["{0}.timestamp >= $since"] if since is not None else []),
        *(["{0}.person = $person"] if person is not None else []),
    ]


def _dearest_first(row: UsageRow | PersonUsage) -> float:
    return float("-inf") if row.cost_usd is None else -row.cost_usd


def _usage(row: Mapping[str, Any]) -> Usage:
    return Usage(row["input"], row["cached"], row["output"], row["thought"])


def _sums(conditions: Sequence[str], *keys: str, index: str) -> str:
    """Return the query for sums by these keys. conditions: on the turn of a step, or another call, as `{0}`.

    index: the properties of the index to use, empty if all are summed.
    """
    scope, names = " AND ".join(conditions) or "true", ", ".join(keys)
    # Named, because a server that has seen few turns reads them all.
    named = f"USING INDEX SEEK {{0}}:{{1}}({index}) " if index else ""
    of_turns, of_others = (
        f"{named}WHERE {scope}".format(*each) for each in (("t", Label.TURN), ("n", Label.USAGE))
    )
    return f"""
CALL () {{
  MATCH (t:{Label.TURN}) {of_turns} WITH t
  MATCH (t)<-[:PART_OF]-(n:{Label.STEP}) WHERE n.provider <> '{NO_MODEL}'
  RETURN n.provider + ':' + n.model AS name, {PURPOSE} AS purpose,
    coalesce(t.person, '') AS person, n
  UNION ALL
  MATCH (n:{Label.USAGE}) {of_others}
  RETURN n.model AS name, n.purpose AS purpose, coalesce(n.person, '') AS person, n
}}
WITH {names}, count(*) AS calls, count(n.costUsd) AS priced,
  sum(n.inputTokens) AS input, sum(n.cachedTokens) AS cached, sum(n.outputTokens) AS output,
  sum(n.thoughtTokens) AS thought, sum(n.costUsd) AS cost
RETURN {names}, calls, input, cached, output, thought, CASE WHEN priced = calls THEN cost END AS cost
"""


def _statistics(conditions: Sequence[str], name: str) -> str:
    """Return the query of `statistics`: every step, version and other call as a row, summed by the name."""
    scope = " AND ".join(conditions) or "true"
    of_turn = "coalesce(t.person, '') AS person, t.projectId AS project, t.timestamp AS at"
    tokens = ("inputTokens", "cachedTokens", "outputTokens", "thoughtTokens", "costUsd")
    sums = ", ".join(f"sum(n.{each}) AS {short}" for each, short in zip(tokens, _SUMMED, strict=True))
    return f"""
CALL () {{
  MATCH (t:{Label.TURN}) WHERE {scope.format("t")}
  OPTIONAL MATCH (t)<-[:PART_OF]-(n:{Label.STEP}) WHERE n.provider <> '{NO_MODEL}'
  RETURN coalesce(n.provider + ':' + n.model, t.model, '') AS model, {of_turn}, t.sessionId AS session,
    CASE WHEN {PURPOSE} = '{Purpose.CHAT}' THEN t.id END AS turn,
    CASE WHEN t.left AND {PURPOSE} = '{Purpose.CHAT}' THEN t.id END AS undone, 0 AS version, n
  UNION ALL
  MATCH (t:{Label.TURN}) WHERE {scope.format("t")} MATCH (t)<-[:MADE_IN]-(v:{Label.VERSION})
  RETURN v.by AS model, {of_turn}, null AS session, null AS turn, null AS undone, 1 AS version, null AS n
  UNION ALL
  MATCH (n:{Label.USAGE}) WHERE {scope.format("n")}
  RETURN n.model AS model, coalesce(n.person, '') AS person, n.projectId AS project, n.timestamp AS at,
    CASE WHEN EXISTS {{ (:{Label.SESSION} {{sessionId: n.sessionId}}) }} THEN n.sessionId END AS session,
    null AS turn, null AS undone, 0 AS version, n
}}
WITH {name} AS name, count(DISTINCT session) AS sessions, count(DISTINCT turn) AS prompts,
  count(DISTINCT undone) AS undone, sum(version) AS versions, count(n) AS calls, count(n.costUsd) AS priced,
  {sums}
RETURN name, sessions, prompts, undone, versions, calls, input, cached, output, thought,
  CASE WHEN priced = calls THEN cost END AS cost ORDER BY name
"""


_SUMMED = ("input", "cached", "output", "thought", "cost")
