"""Deleting a session from the graph without breaking any other."""

from collections.abc import Mapping
from dataclasses import dataclass

from ragforge.domain.search import HitKind
from ragforge.store.base import Deleted
from ragforge.store.neo4j.connection import Transaction
from ragforge.store.neo4j.nodes import Nodes
from ragforge.store.neo4j.outbox import Rows
from ragforge.store.neo4j.rows import Label
from ragforge.store.neo4j.search_words import scope_tokens

DELETE_DEADLINE_S = 30.0
BATCH = 500

OWN = f"""
MATCH (t:{Label.TURN} {{sessionId: $id}}) RETURN t.id AS id, t.parentId AS parent
"""

# Where another session rests on this one's turns: its head lies here, or a turn of its own is a child of
# one here. The latter holds for turns that an undo left behind too: they must not lose their root.
RESTING = f"""
CALL () {{
  MATCH (s:{Label.SESSION}) WHERE s.sessionId <> $id AND s.headId IS NOT NULL
  MATCH (t:{Label.TURN} {{id: s.headId}}) WHERE t.sessionId = $id
  RETURN t, s
  UNION
  MATCH (t:{Label.TURN} {{sessionId: $id}})-[:NEXT]->(child:{Label.TURN}) WHERE child.sessionId <> $id
  MATCH (s:{Label.SESSION} {{sessionId: child.sessionId}})
  RETURN t, s
}}
RETURN DISTINCT t.id AS entry, s.sessionId AS heir, s.projectId AS project, s.startTime AS started
ORDER BY started, heir
"""

COUNT_CALLS = f"""
MATCH (t:{Label.TURN})-[:HAS_TOOL_CALL]->(c:{Label.CALL}) WHERE t.id IN $turns RETURN count(c) AS calls
"""

HAND_OVER = f"""
UNWIND $rows AS row
MATCH (t:{Label.TURN} {{id: row.turn}})
MATCH (heir:{Label.SESSION} {{sessionId: row.heir}})
OPTIONAL MATCH (:{Label.SESSION})-[old:HAS_TURN]->(t) DELETE old
WITH DISTINCT t, heir, row
MERGE (heir)-[:HAS_TURN]->(t)
SET t.sessionId = row.heir, t.projectId = row.project, t.searchScope = row.turnScope
WITH t, row
OPTIONAL MATCH (t)-[:HAS_TOOL_CALL]->(c:{Label.CALL})
SET c.sessionId = row.heir, c.projectId = row.project, c.searchScope = row.callScope
WITH DISTINCT t, row
OPTIONAL MATCH (t)<-[:PART_OF]-(s:{Label.STEP})
SET s.sessionId = row.heir
"""

REMOVE_TURNS = f"""
MATCH (t:{Label.TURN}) WHERE t.id IN $turns
OPTIONAL MATCH (t)<-[:PART_OF]-(part)
DETACH DELETE part, t
"""

# Its own, those of what goes, and all that stand on one of them, whoever has it.
SUMMARIES = f"""
CALL () {{
  MATCH (x:{Label.SUMMARY} {{sessionId: $id}}) RETURN x
  UNION
  MATCH (t:{Label.TURN})<-[:SUMMARIZES]-(x:{Label.SUMMARY}) WHERE t.id IN $turns RETURN x
}}
MATCH (x)<-[:SUMMARIZES*0..]-(gone:{Label.SUMMARY})
RETURN collect(DISTINCT gone.id) AS ids
"""

# The turns that stay need another summary, and a vector without the words of the one that went.
REMOVE_SUMMARIES = f"""
MATCH (x:{Label.SUMMARY}) WHERE x.id IN $ids
CALL (x) {{ OPTIONAL MATCH (x)-[:SUMMARIZES]->(t:{Label.TURN}) SET t.embeddingStale = true }}
DETACH DELETE x
"""

REMOVE_SESSION = f"MATCH (s:{Label.SESSION} {{sessionId: $id}}) DETACH DELETE s"


@dataclass(frozen=True, slots=True)
class _Plan:
    """What goes, and to whom the rest goes."""

    gone: tuple[str, ...]
    heirs: Mapping[str, tuple[str, str]]
    """For each turn that stays, its next session and that one's project."""


async def delete_session(nodes: Nodes, session_id: str, *, dry_run: bool = False) -> Deleted:
    """Remove the session and what no other session rests on; hand the rest to the oldest that does.

    Decided and done in one transaction of the server. Raises StoreUnavailable while it is away.
    """
    await nodes.arrive()

    async def work(transaction: Transaction) -> tuple[Deleted, _Plan]:
        plan = await _plan(transaction, session_id)
        (calls,) = await transaction.run(COUNT_CALLS, turns=list(plan.gone))
        if not dry_run:
            await _carry_out(transaction, session_id, plan)
        return Deleted(len(plan.gone), len(plan.heirs), calls["calls"]), plan

    deleted, plan = await nodes.graph.transaction(work, deadline_s=DELETE_DEADLINE_S)
    if not dry_run:

        def forget(rows: Rows) -> None:
            rows.forget_turns((*plan.gone, *plan.heirs))
            rows.forget_session(session_id, waiting_too=True)

        await nodes.outbox.write(forget)
    return deleted


async def _plan(transaction: Transaction, session_id: str) -> _Plan:
    own = {each["id"]: each["parent"] for each in await transaction.run(OWN, id=session_id)}
    heirs: dict[str, tuple[str, str]] = {}
    for found in await transaction.run(RESTING, id=session_id):
        turn = found["entry"]
        while turn in own and turn not in heirs:
            heirs[turn] = found["heir"], found["project"]
            turn = own[turn]
    return _Plan(tuple(turn for turn in own if turn not in heirs), heirs)


async def _carry_out(transaction: Transaction, session_id: str, plan: _Plan) -> None:
    (summaries,) = await transaction.run(SUMMARIES, id=session_id, turns=list(plan.gone))
    await transaction.run(REMOVE_SUMMARIES, ids=summaries["ids"])
    rows = [
        {
            "turn": turn,
            "heir": heir,
            "project": project,
            "turnScope": scope_tokens(project, heir, HitKind.TURN),
            "callScope": scope_tokens(project, heir, HitKind.TOOL_CALL),
        }
        for turn, (heir, project) in plan.heirs.items()
    ]
    for start in range(0, len(rows), BATCH):
        await transaction.run(HAND_OVER, rows=rows[start : start + BATCH])
    for start in range(0, len(plan.gone), BATCH):
        await transaction.run(REMOVE_TURNS, turns=list(plan.gone[start : start + BATCH]))
    await transaction.run(REMOVE_SESSION, id=session_id)
