"""The summaries in the graph."""

from collections.abc import Mapping, Sequence
from typing import Any

from ragforge.domain import timeouts
from ragforge.domain.errors import Conflict, StoreUnavailable
from ragforge.domain.summaries import Summary, SummaryMethod
from ragforge.domain.turns import Turn, TurnStatus
from ragforge.store.memory_rules import check_summary
from ragforge.store.neo4j.carry import InTransaction, carry, whole_rows
from ragforge.store.neo4j.connection import PLAN_ONCE, Transaction
from ragforge.store.neo4j.index_rows import outdate_vector, summary_props
from ragforge.store.neo4j.marks import mark_owed
from ragforge.store.neo4j.nodes import Nodes, fields, valid_ids
from ragforge.store.neo4j.outbox import Rows
from ragforge.store.neo4j.rows import Label, summary_of, summary_row, turn_of

GET = f"MATCH (n:{Label.SUMMARY}) WHERE n.id IN $ids RETURN {fields('n', Label.SUMMARY)} AS n"

OF_SESSION = f"""
MATCH (n:{Label.SUMMARY} {{sessionId: $session}})
WHERE ($level IS NULL OR n.level = $level)
  AND (NOT $uncovered OR NOT EXISTS {{ (n)<-[:SUMMARIZES]-(:{Label.SUMMARY}) }})
RETURN {fields("n", Label.SUMMARY)} AS n ORDER BY n.level, n.timestamp, n.id
"""

COVERING = f"""
MATCH (t:{Label.TURN}) WHERE t.id IN $ids
MATCH (t)<-[:SUMMARIZES*1..]-(n:{Label.SUMMARY})
WITH DISTINCT t, n
RETURN t.id AS turn, {fields("n", Label.SUMMARY)} AS n ORDER BY n.level, n.timestamp, n.id
"""

# A project narrows them at `AND true`. If there are none of the kind, only the index is read.
LACKING = f"""{PLAN_ONCE}
MATCH (n:{Label.TURN}) USING INDEX SEEK n:{Label.TURN}(summaryDue)
WHERE n.summaryDue = true AND n.status IN $ended AND true
  AND NOT EXISTS {{ (n)<-[:SUMMARIZES]-(:{Label.SUMMARY} {{level: 1}}) }}
RETURN {fields("n", Label.TURN)} AS n ORDER BY n.timestamp, n.id LIMIT $limit
"""

STAND_INS = f"""{PLAN_ONCE}
MATCH (n:{Label.SUMMARY}) USING INDEX SEEK n:{Label.SUMMARY}(method, level)
WHERE n.method = 'extractive' AND n.level = 1 AND true
RETURN {fields("n", Label.SUMMARY)} AS n ORDER BY n.timestamp DESC, n.id DESC LIMIT $limit
"""

UPPER_STAND_INS = f"""{PLAN_ONCE}
MATCH (n:{Label.SUMMARY}) USING INDEX SEEK n:{Label.SUMMARY}(method, level)
WHERE n.method = 'extractive' AND n.level > 1 AND true
    AND NOT EXISTS {{ (n)-[:SUMMARIZES]->(:{Label.SUMMARY} {{method: 'extractive'}}) }}
RETURN {fields("n", Label.SUMMARY)} AS n ORDER BY n.level, n.timestamp, n.id LIMIT $limit
"""

OUTDATED = f"""{PLAN_ONCE}
MATCH (n:{Label.SUMMARY}) USING INDEX SEEK n:{Label.SUMMARY}(outdated) WHERE n.outdated = true AND true
RETURN {fields("n", Label.SUMMARY)} AS n ORDER BY n.level, n.timestamp, n.id LIMIT $limit
"""

TO_ROLL_UP = f"""{PLAN_ONCE}
MATCH (n:{Label.SESSION}) USING INDEX SEEK n:{Label.SESSION}(awaitsChars)
WHERE n.awaitsChars > $chars AND true
RETURN {{id: n.sessionId}} AS n ORDER BY n.startTime, n.sessionId LIMIT $limit
"""

# The lock comes first: the one that waits for it finds what the other has written.
LOCK = (
    f"MATCH (s:{Label.SESSION} {{sessionId: $id}}) SET s.carriedAt = datetime.realtime() RETURN s.sessionId"
)

COVERED = f"""
MATCH (x:{Label.SUMMARY} {{level: $level}})-[:SUMMARIZES]->(c)
WHERE c.id IN $covers AND x.id <> $id RETURN x.id AS id LIMIT 1
"""

PRESENT = f"""
OPTIONAL MATCH (t:{Label.TURN}) WHERE t.id IN $ids
WITH collect(t.id) AS turns
OPTIONAL MATCH (s:{Label.SUMMARY}) WHERE s.id IN $ids
RETURN turns, [each IN collect([s.id, s.level]) WHERE each[0] IS NOT NULL] AS summaries
"""

ENDED = [str(status) for status in TurnStatus if status not in (TurnStatus.RUNNING, TurnStatus.WAITING)]


class Neo4jSummaries:
    """Implements `Summaries`."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes

    async def save(self, summary: Summary) -> None:
        """Store it; one of the same id is replaced, which makes its vector outdated.

        Raises Conflict if its session, or something it covers, is not stored, UsageError for a summary of
        nothing or of a level below 1.
        """
        check_summary(summary)
        await self._nodes.need(Label.SESSION, summary.session_id)
        await self._check_covers(summary)
        before = await self._nodes.get(Label.SUMMARY, summary.id)
        props = summary_row(summary)
        is_same = before is not None and all(before.get(name) == value for name, value in props.items())
        if (is_same and summary.level == 1) or _is_better(before, summary):
            return

        def write(rows: Rows) -> None:
            if is_same:
                # Writing it again means that it is still current.
                again = props | {"outdated": None}
                rows.put(Label.SUMMARY, summary.id, again, notes=("outdated",), surely=True)
                return
            derived = summary_props(props) | {"embeddingStale": True, "outdated": None}
            rows.put(
                Label.SUMMARY,
                summary.id,
                props | derived,
                along=("embeddingStale", "covers", "outdated"),
                surely=before is not None,
            )
            outdate_vector(rows, "summary", summary.id)
            # Including those that it covered before; of a higher level these are no turns.
            for covered in {*summary.covers, *(before["covers"] if before else ())}:
                outdate_vector(rows, "turn", covered)

        await self._nodes.write(write)

    async def roll_up(self, summary: Summary) -> bool:
        """Store it if nothing that it covers is covered by another of its level; return whether it was.

        Raises as `save`, and StoreUnavailable if the server is unreachable.
        """
        check_summary(summary)
        await self._nodes.arrive()
        await self._check_covers(summary)

        async def work(transaction: Transaction) -> bool:
            if not await transaction.run(LOCK, id=summary.session_id):
                raise Conflict(f"The session {summary.session_id} is not in the store.")
            covered = await transaction.run(
                COVERED, level=summary.level, covers=list(summary.covers), id=summary.id
            )
            if covered:
                return False
            props = summary_row(summary)
            derived = summary_props(props) | {"embeddingStale": True, "outdated": None}
            rows = whole_rows([(Label.SUMMARY, props | derived)])
            await carry(
                InTransaction(transaction),
                rows,
                batch=0,
                deadline_s=timeouts.NEO4J_ROLL_UP_S_MAX,
                database=self._nodes.outbox.database_id,
            )
            return True

        return await self._nodes.graph.transaction(work, deadline_s=timeouts.NEO4J_ROLL_UP_S_MAX)

    async def get(self, ids: Sequence[str]) -> list[Summary]:
        if not ids:
            return []
        await self._nodes.settle()
        try:
            rows = [each["n"] for each in await self._nodes.ask(GET, ids=valid_ids(ids))]
        except StoreUnavailable:
            return await self._nodes.here.summaries.get(ids)
        found = {each["id"]: summary_of(each) for each in rows}
        return [found[each] for each in ids if each in found]

    async def of_session(
        self, session_id: str, *, level: int | None = None, uncovered: bool = False
    ) -> list[Summary]:
        await self._nodes.settle()
        try:
            found = await self._nodes.ask(OF_SESSION, session=session_id, level=level, uncovered=uncovered)
        except StoreUnavailable:
            return await self._nodes.here.summaries.of_session(session_id, level=level, uncovered=uncovered)
        return [summary_of(each["n"]) for each in found]

    async def covering(self, turn_ids: Sequence[str]) -> dict[str, list[Summary]]:
        covering: dict[str, list[Summary]] = {turn: [] for turn in turn_ids}
        if not turn_ids:
            return covering
        for each in await self._nodes.insist(COVERING, ids=valid_ids(turn_ids)):
            covering[each["turn"]].append(summary_of(each["n"]))
        return covering

    async def lacking(self, *, project_id: str | None = None, limit: int = 100) -> list[Turn]:
        await self._mark(project_id)
        return [turn_of(each) for each in await self._owed(LACKING, project_id, limit, ended=ENDED)]

    async def stand_ins(self, *, project_id: str | None = None, limit: int = 100) -> list[Summary]:
        """Return the extractive summaries of level 1, newest first."""
        return [summary_of(each) for each in await self._owed(STAND_INS, project_id, limit)]

    async def upper_stand_ins(self, *, project_id: str | None = None, limit: int = 100) -> list[Summary]:
        """Return extractive ones above level 1 that cover only a model's; lowest level, then oldest first."""
        return [summary_of(each) for each in await self._owed(UPPER_STAND_INS, project_id, limit)]

    async def outdated(self, *, project_id: str | None = None, limit: int = 100) -> list[Summary]:
        return [summary_of(each) for each in await self._owed(OUTDATED, project_id, limit)]

    async def sessions_to_roll_up(
        self, chars_min: int, *, project_id: str | None = None, limit: int = 100
    ) -> list[str]:
        """Return the ids of sessions that at one level have more to roll up than this, oldest first."""
        await self._mark(project_id)
        return [each["id"] for each in await self._owed(TO_ROLL_UP, project_id, limit, chars=chars_min)]

    async def _mark(self, project_id: str | None) -> None:
        await self._nodes.arrive()
        await mark_owed(self._nodes.graph, project_id)

    async def _owed(
        self, query: str, project_id: str | None, limit: int, **parameters: Any
    ) -> list[dict[str, Any]]:
        """Return the nodes that the query finds, in the project if one is named: one text for each case."""
        if project_id is not None:
            query = query.replace("AND true", "AND n.projectId = $project")
        rows = await self._nodes.insist(query, project=project_id, limit=max(0, limit), **parameters)
        return [each["n"] for each in rows]

    async def _check_covers(self, summary: Summary) -> None:
        """Raise Conflict for what is not stored; without the server, trust what is not here."""
        label = Label.TURN if summary.level == 1 else Label.SUMMARY

        def levels_here(rows: Rows) -> dict[str, int]:
            found = [row for each in summary.covers if (row := rows.get(label, each))]
            return {row.id: row.props.get("level", 0) for row in found}

        levels = await self._nodes.outbox.read(levels_here)
        if asked := sorted(set(summary.covers) - levels.keys()):
            try:
                (found,) = await self._nodes.ask(PRESENT, ids=valid_ids(asked))
            except StoreUnavailable:
                levels |= dict.fromkeys(asked, summary.level - 1)
            else:
                levels |= dict.fromkeys(found["turns"] if label is Label.TURN else (), 0)
                levels |= {each: level for each, level in found["summaries"] if label is Label.SUMMARY}
        for each in summary.covers:
            if levels.get(each) != summary.level - 1:
                kind = "turn" if summary.level == 1 else f"summary of level {summary.level - 1}"
                raise Conflict(f"Summary {summary.id} covers {each}, which is no {kind} in the store.")


def _is_better(before: Mapping[str, Any] | None, summary: Summary) -> bool:
    """Whether the existing one stays: an extract never replaces a model's."""
    return (
        before is not None
        and before["method"] == SummaryMethod.MODEL
        and summary.method is SummaryMethod.EXTRACTIVE
    )
