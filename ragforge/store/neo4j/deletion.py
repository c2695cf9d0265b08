"""Delete a session from the graph without breaking any other."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from ragforge.domain import timeouts
from ragforge.domain.search import HitKind
from ragforge.domain.usage import NO_MODEL
from ragforge.store.base_conversations import Deleted
from ragforge.store.neo4j.abandonment import MEMORY_ABANDONED, SETTLE_THESE
from ragforge.store.neo4j.connection import Transaction
from ragforge.store.neo4j.index_rows import version_props
from ragforge.store.neo4j.memory_state import CHANGED
from ragforge.store.neo4j.nodes import Nodes, fields
from ragforge.store.neo4j.outbox import ASSOCIATION, Rows
from ragforge.store.neo4j.rows import Label, Props
from ragforge.store.neo4j.search_words import EVERYWHERE, scope_tokens
from ragforge.store.neo4j.usage import PURPOSE

BATCH = 500

OWN = f"""
MATCH (t:{Label.TURN} {{sessionId: $id}}) RETURN t.id AS id, t.parentId AS parent
"""
HEAD = f"MATCH (s:{Label.SESSION} {{sessionId: $id}}) RETURN s.headId AS head"

# Where another session depends on this one's turns: its head is here, or a turn of its own is a child of
# one here. The latter includes turns that an undo abandoned: they must not lose their root.
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
SET heir.carriedAt = datetime.realtime()
SET t.sessionId = row.heir, t.projectId = row.project, t.searchScope = row.turnScope
WITH t, row
OPTIONAL MATCH (t)-[:HAS_TOOL_CALL]->(c:{Label.CALL})
SET c.sessionId = row.heir, c.projectId = row.project, c.searchScope = row.callScope
WITH DISTINCT t, row
OPTIONAL MATCH (t)<-[:PART_OF]-(s:{Label.STEP})
SET s.sessionId = row.heir
WITH DISTINCT t, row
OPTIONAL MATCH (d:{Label.DERIVED} {{ownerId: t.id}}) WHERE d.ownerKind = 'turn'
SET d.projectId = row.project
"""

# What their model calls cost is kept, without their texts. A step's id is that of its turn and a number.
KEEP_COSTS = f"""
MATCH (t:{Label.TURN})<-[:PART_OF]-(n:{Label.STEP}) WHERE t.id IN $turns AND n.provider <> '{NO_MODEL}'
MERGE (u:{Label.USAGE} {{id: n.id}})
ON CREATE SET u.projectId = t.projectId, u.sessionId = t.sessionId, u.timestamp = t.timestamp,
  u.model = n.provider + ':' + n.model, u.purpose = {PURPOSE}, u.person = coalesce(t.person, ''),
  u.inputTokens = n.inputTokens, u.cachedTokens = n.cachedTokens, u.outputTokens = n.outputTokens,
  u.thoughtTokens = n.thoughtTokens, u.costUsd = n.costUsd
"""

REMOVE_TURNS = f"""
MATCH (t:{Label.TURN}) WHERE t.id IN $turns
OPTIONAL MATCH (t)<-[:PART_OF]-(part)
DETACH DELETE part, t
"""

# People with no turns left.
REMOVE_PEOPLE = f"MATCH (p:{Label.PERSON}) WHERE NOT EXISTS {{ (p)-[:WROTE]->() }} DELETE p"

# Its own, those of removed turns, and all that are built on one of them, whoever's they are.
SUMMARIES = f"""
CALL () {{
  MATCH (x:{Label.SUMMARY} {{sessionId: $id}}) RETURN x
  UNION
  MATCH (t:{Label.TURN})<-[:SUMMARIZES]-(x:{Label.SUMMARY}) WHERE t.id IN $turns RETURN x
}}
MATCH (x)<-[:SUMMARIZES*0..]-(gone:{Label.SUMMARY})
RETURN collect(DISTINCT gone.id) AS ids
"""

# The turns that stay need another summary, and a vector without the removed one's words.
REMOVE_SUMMARIES = f"""
MATCH (x:{Label.SUMMARY}) WHERE x.id IN $ids
CALL (x) {{ OPTIONAL MATCH (x)-[:SUMMARIZES]->(t:{Label.TURN}) SET t.embeddingStale = true }}
CALL (x) {{
  MATCH (x)-[:SUMMARIZES]->(below)
  MATCH (s:{Label.SESSION} {{sessionId: below.sessionId}}) SET s.carriedAt = datetime.realtime()
}}
DETACH DELETE x
"""

# Those of the session alone, and those attested only by abandoned turns that are removed: without its turns,
# what the user undid would count as never doubted.
MEMORIES = f"""
CALL () {{
  MATCH (n:{Label.MEMORY} {{sessionId: $id}}) WHERE n.scope = 'session' RETURN n
  UNION
  MATCH (t:{Label.TURN})<-[:EVIDENCE]-(n:{Label.MEMORY}) WHERE t.id IN $turns
  WITH DISTINCT n WHERE {MEMORY_ABANDONED.format("n")} AND NOT EXISTS {{
    UNWIND n.evidence AS proof MATCH (t:{Label.TURN} {{id: proof}}) WHERE NOT t.id IN $turns }}
  RETURN n
}}
WITH n, n.id AS id
DETACH DELETE n
RETURN id
"""

# Links from an abandoned turn that is removed would count again.
REMOVE_LINKS = f"""
MATCH (t:{Label.TURN}) WHERE t.id IN $turns AND t.left
WITH collect(t.id) AS turns
MATCH (a:{Label.MEMORY})-[r:UPDATES]->(b:{Label.MEMORY}) WHERE r.turn IN turns
WITH r, 'updates/' + a.id + '/' + b.id + '/' + r.turn AS id
DELETE r
RETURN id
"""

REMOVE_EVIDENCE = f"""
MATCH (t:{Label.TURN})<-[:EVIDENCE]-(n:{Label.MEMORY}) WHERE t.id IN $turns
WITH DISTINCT n
SET n.evidence = [turn IN n.evidence WHERE NOT turn IN $turns]
RETURN n.id AS id
"""

REMOVE_DERIVED = f"""
MATCH (n:{Label.DERIVED}) WHERE n.ownerId IN $owners AND n.ownerKind IN ['session', 'turn']
WITH n, n.id AS id
DETACH DELETE n
RETURN id
"""

# No stored session is their origin, so they are found in none.
REMOVE_ORIGIN = f"""
MATCH (n:{Label.MEMORY} {{sessionId: $id}})
SET n.sessionId = '', n.searchScope = replace(n.searchScope, $token, '')
RETURN n.id AS id
"""

# The version tree stays, because others depend on it.
HAND_OVER_VERSIONS = f"""
UNWIND $rows AS row
MATCH (n:{Label.VERSION} {{turnId: row.turn}})
SET n.sessionId = row.heir, n.searchScope = head(split(n.searchScope, ' ')) + row.scope
RETURN n.id AS id
"""

VERSIONS = f"""
CALL () {{
  MATCH (n:{Label.VERSION} {{sessionId: $id}}) RETURN n
  UNION
  MATCH (n:{Label.VERSION}) WHERE n.turnId IN $turns RETURN n
}}
RETURN n.id AS id
"""
READ_VERSIONS = f"MATCH (n:{Label.VERSION}) WHERE n.id IN $ids RETURN {fields('n', Label.VERSION)} AS n"
CHANGE_VERSIONS = f"""
UNWIND $rows AS row
MATCH (n:{Label.VERSION} {{id: row.id}})
SET n += row.set
WITH n
MATCH (n)-[made:MADE_IN]->()
DELETE made
"""

REMOVE_MOVES = f"""
MATCH (n:{Label.MOVE} {{sessionId: $id}})
WITH n, n.id AS id
DETACH DELETE n
RETURN id
"""

REMOVE_SESSION = f"MATCH (s:{Label.SESSION} {{sessionId: $id}}) DETACH DELETE s"


class _Plan(Struct, frozen=True):
    """What is removed, and which sessions get the rest."""

    gone: tuple[str, ...]
    lowest: str | None
    """The first turn on the way up from the head that stays."""
    heirs: Mapping[str, tuple[str, str]]
    """For each turn that stays, its next session and that session's project."""


class _Changed(Struct, frozen=True):
    """Ids of what else was removed or changed."""

    memories: Sequence[str] = ()
    links: Sequence[str] = ()
    derived: Sequence[str] = ()
    versions: Sequence[str] = ()
    moves: Sequence[str] = ()


async def delete_session(nodes: Nodes, session_id: str, *, dry_run: bool = False) -> Deleted:
    """Remove the session and what no other session depends on; give the rest to the oldest that does.

    Decided and done in one transaction of the server. Raises StoreUnavailable if it is unreachable.
    """
    await nodes.arrive()

    await nodes.settle_abandoned()

    async def work(transaction: Transaction) -> tuple[Deleted, _Plan, _Changed]:
        plan = await _plan(transaction, session_id)
        (calls,) = await transaction.run(COUNT_CALLS, turns=list(plan.gone))
        changed = _Changed() if dry_run else await _carry_out(transaction, session_id, plan)
        return Deleted(len(plan.gone), len(plan.heirs), calls["calls"]), plan, changed

    deleted, plan, changed = await nodes.graph.transaction(work, deadline_s=timeouts.NEO4J_DELETE_S_MAX)
    if not dry_run:

        def forget(rows: Rows) -> None:
            rows.forget_turns((*plan.gone, *plan.heirs))
            rows.forget_session(session_id, waiting_too=True)
            rows.forget(Label.MEMORY, changed.memories)
            rows.forget(ASSOCIATION, changed.links)
            rows.forget(Label.DERIVED, changed.derived)
            rows.forget(Label.VERSION, changed.versions)
            rows.forget(Label.MOVE, changed.moves)

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
    gone = {turn: parent for turn, parent in own.items() if turn not in heirs}
    found = await transaction.run(HEAD, id=session_id)
    lowest = found[0]["head"] if found else None
    while lowest in gone:
        lowest = gone[lowest]
    return _Plan(tuple(gone), lowest, heirs)


async def _carry_out(transaction: Transaction, session_id: str, plan: _Plan) -> _Changed:
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
    for batch in _batches(rows):
        await transaction.run(HAND_OVER, rows=batch)
    memories = await transaction.run(MEMORIES, id=session_id, turns=list(plan.gone))
    links = await transaction.run(REMOVE_LINKS, turns=list(plan.gone))
    memories += await transaction.run(REMOVE_EVIDENCE, turns=list(plan.gone))
    heirs = {turn: heir for turn, (heir, _) in plan.heirs.items()}
    derived = await transaction.run(REMOVE_DERIVED, owners=[session_id, *plan.gone])
    versions = await _hand_over_versions(transaction, heirs)
    versions += await _leave_versions(transaction, session_id, plan.gone)
    for batch in _batches(plan.gone):
        await transaction.run(KEEP_COSTS, turns=batch)
        await transaction.run(REMOVE_TURNS, turns=batch)
    await transaction.run(REMOVE_SESSION, id=session_id)
    await transaction.run(REMOVE_PEOPLE)
    # `s<session> `, wherever it is among the words of the scope.
    token = scope_tokens("", session_id, HitKind.MEMORY).split()[1] + " "
    memories += await transaction.run(REMOVE_ORIGIN, id=session_id, token=token)
    moves = await _remove_moves(transaction, session_id)
    await transaction.run(SETTLE_THESE, ids={"of": [plan.lowest]})
    await transaction.run(CHANGED)
    return _Changed(
        [each["id"] for each in memories],
        [each["id"] for each in links],
        [each["id"] for each in derived],
        versions,
        moves,
    )


async def _hand_over_versions(transaction: Transaction, heirs: Mapping[str, str]) -> list[str]:
    """Give the versions of these turns to the turns' new sessions; return their ids."""
    rows = [
        # After the project: `s<session> kv`.
        {
            "turn": turn,
            "heir": heir,
            "scope": scope_tokens("", heir, HitKind.VERSION).removeprefix(EVERYWHERE),
        }
        for turn, heir in heirs.items()
    ]
    ids: list[str] = []
    for batch in _batches(rows):
        ids += [each["id"] for each in await transaction.run(HAND_OVER_VERSIONS, rows=batch)]
    return ids


async def _leave_versions(transaction: Transaction, session_id: str, turns: Sequence[str]) -> list[str]:
    """Remove the session and these turns from its versions; return their ids."""
    found = await transaction.run(VERSIONS, id=session_id, turns=list(turns))
    ids = [each["id"] for each in found]
    for batch in _batches(ids):
        read = await transaction.run(READ_VERSIONS, ids=batch)
        await transaction.run(
            CHANGE_VERSIONS, rows=[{"id": each["n"]["id"], "set": _alone(each["n"])} for each in read]
        )
    return ids


async def _remove_moves(transaction: Transaction, session_id: str) -> list[str]:
    """Remove the moves that the session made; return their ids."""
    return [each["id"] for each in await transaction.run(REMOVE_MOVES, id=session_id)]


def _alone(version: Props) -> Props:
    """Return the changes of a version whose session is removed."""
    without: Props = {"sessionId": None, "turnId": None}
    if version.get("turnId"):
        # It was the first words of the turn's message.
        without["title"] = ""
    return without | version_props(version | without)


def _batches(rows: Sequence[Any]) -> Iterator[list[Any]]:
    return (list(rows[start : start + BATCH]) for start in range(0, len(rows), BATCH))
