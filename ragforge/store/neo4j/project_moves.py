"""Move what belongs to a project to another one, in one transaction of the server."""

from collections.abc import Sequence

from ragforge.domain import timeouts
from ragforge.domain.errors import Conflict
from ragforge.domain.search import HitKind
from ragforge.store.base_conversations import ProjectMove
from ragforge.store.json_text import storable
from ragforge.store.neo4j.connection import Transaction
from ragforge.store.neo4j.memory_state import CHANGED
from ragforge.store.neo4j.nodes import Nodes
from ragforge.store.neo4j.outbox import Rows
from ragforge.store.neo4j.rows import Label
from ragforge.store.neo4j.search_words import scope_tokens
from ragforge.store.neo4j.version_rows import branch_key

SESSIONS = f"""
MATCH (s:{Label.SESSION} {{projectId: $project}}) RETURN s.sessionId AS id, s.startTime AS at
UNION
MATCH (t:{Label.TURN} {{projectId: $project}}) WITH DISTINCT t.sessionId AS session
MATCH (s:{Label.SESSION} {{sessionId: session}}) RETURN s.sessionId AS id, s.startTime AS at
"""

# The head of a session, or one of its turns, depends on a turn of another session.
JOINED = f"""
MATCH (s:{Label.SESSION} {{projectId: $project}})-[:HAS_TURN]->(t)<-[:NEXT]-(above:{Label.TURN})
WHERE above.sessionId <> t.sessionId
RETURN DISTINCT s.sessionId AS one, above.sessionId AS other
UNION
MATCH (s:{Label.SESSION} {{projectId: $project}}) MATCH (t:{Label.TURN} {{id: s.headId}})
WHERE t.sessionId <> s.sessionId
RETURN s.sessionId AS one, t.sessionId AS other
"""

BOTH = f"MATCH (p:{Label.PROJECT}) WHERE p.id IN [$source, $target] RETURN count(DISTINCT p.id) AS there"

# The maintenance of due work looks at sessions that something was carried to.
MOVE_SESSIONS = f"""
MATCH (s:{Label.SESSION}) WHERE s.sessionId IN $sessions
SET s.projectId = $target, s.carriedAt = datetime.realtime()
WITH s MATCH (p:{Label.PROJECT} {{id: $target}})
CALL (s, p) {{ MATCH (other)-[old:HAS_SESSION]->(s) WHERE other <> p DELETE old }}
MERGE (p)-[:HAS_SESSION]->(s)
"""
OF_SESSIONS = (
    f"MATCH (n:{Label.TURN}) WHERE n.sessionId IN $sessions",
    f"MATCH (t:{Label.TURN})-[:HAS_TOOL_CALL]->(n:{Label.CALL}) WHERE t.sessionId IN $sessions",
    f"MATCH (n:{Label.SUMMARY}) WHERE n.sessionId IN $sessions",
    f"MATCH (n:{Label.USAGE}) WHERE n.sessionId IN $sessions",
    f"MATCH (n:{Label.DERIVED}) WHERE n.ownerId IN $sessions AND n.ownerKind = 'session'",
    f"MATCH (t:{Label.TURN}) WHERE t.sessionId IN $sessions "
    f"MATCH (n:{Label.DERIVED} {{ownerId: t.id}}) WHERE n.ownerKind = 'turn'",
)
REFILE = "SET n.projectId = $target, n.searchScope = replace(n.searchScope, $before, $after)"

MOVE_VERSIONS = f"""
MATCH (n:{Label.VERSION}) WHERE n.id IN $ids
{REFILE}
WITH n MATCH (p:{Label.PROJECT} {{id: $target}})
CALL (n, p) {{ MATCH (other)-[old:HAS_VERSION]->(n) WHERE other <> p DELETE old }}
MERGE (p)-[:HAS_VERSION]->(n)
"""
MOVE_BRANCHES = f"""
UNWIND $rows AS row
MATCH (n:{Label.BRANCH} {{id: row.id}})
SET n.id = row.key, n.name = row.name, n.projectId = $target
WITH n MATCH (p:{Label.PROJECT} {{id: $target}})
CALL (n, p) {{ MATCH (other)-[old:HAS_BRANCH]->(n) WHERE other <> p DELETE old }}
MERGE (p)-[:HAS_BRANCH]->(n)
"""
MOVE_MOVES = f"""
MATCH (n:{Label.MOVE}) WHERE n.id IN $ids
SET n.projectId = $target
WITH n MATCH (p:{Label.PROJECT} {{id: $target}})
CALL (n, p) {{ MATCH (other)-[old:HAS_MOVE]->(n) WHERE other <> p DELETE old }}
MERGE (p)-[:HAS_MOVE]->(n)
"""
MOVE_MEMORIES = f"""
UNWIND $rows AS row
MATCH (n:{Label.MEMORY} {{id: row.id}})
SET n.id = row.key
{REFILE}
WITH n MATCH (p:{Label.PROJECT} {{id: $target}})
CALL (n, p) {{ MATCH (other:{Label.PROJECT})-[old:HAS_MEMORY]->(n) WHERE other <> p DELETE old }}
MERGE (p)-[:HAS_MEMORY]->(n)
"""


async def sessions_of(nodes: Nodes, project_id: str) -> list[str]:
    """Return the ids of the sessions with anything filed under the project, by their start."""
    found = await nodes.insist(SESSIONS, project=project_id)
    return [each["id"] for each in sorted(found, key=lambda each: (each["at"], each["id"]))]


async def joined_sessions(nodes: Nodes, project_id: str) -> list[tuple[str, str]]:
    """Return pairs of sessions of which the first depends on turns of the second."""
    return [(each["one"], each["other"]) for each in await nodes.insist(JOINED, project=project_id)]


async def move_between(nodes: Nodes, move: ProjectMove) -> None:
    """Move all of it. Raises Conflict if a project is not stored, StoreUnavailable."""
    await nodes.arrive(vectors=True)

    async def work(transaction: Transaction) -> None:
        [both] = await transaction.run(BOTH, source=move.source, target=move.target)
        if both["there"] < 2:
            raise Conflict(f"The project {move.source} or {move.target} is not in the store.")
        await _carry_out(transaction, move)

    await nodes.graph.transaction(work, deadline_s=timeouts.NEO4J_LOAD_S_MAX)
    await nodes.outbox.write(lambda rows: _forget_here(rows, move))


async def _carry_out(transaction: Transaction, move: ProjectMove) -> None:
    places = {
        "target": move.target,
        "before": _token(move.source),
        "after": _token(move.target),
    }
    sessions = list(move.sessions)
    if sessions:
        await transaction.run(MOVE_SESSIONS, sessions=sessions, target=move.target)
        for found in OF_SESSIONS:
            await transaction.run(f"{found} {REFILE}", sessions=sessions, **places)
    if move.versions:
        await transaction.run(MOVE_VERSIONS, ids=list(move.versions), **places)
    branches = [
        {
            "id": branch_key(move.source, name),
            "key": branch_key(move.target, called),
            "name": storable(called),
        }
        for name, called in move.branches.items()
    ]
    if branches:
        await transaction.run(MOVE_BRANCHES, rows=branches, target=move.target)
    if move.moves:
        await transaction.run(MOVE_MOVES, ids=list(move.moves), target=move.target)
    if move.memories:
        memories = [{"id": id, "key": key} for id, key in move.memories.items()]
        await transaction.run(MOVE_MEMORIES, rows=memories, **places)
        await transaction.run(CHANGED)


def _token(project_id: str) -> str:
    """Return the word for the project among those of a scope."""
    return scope_tokens(project_id, "", HitKind.TURN).split()[0] + " "


def _forget_here(rows: Rows, move: ProjectMove) -> None:
    """Remove all of it from here, because it is outdated; it is read again."""
    owners: Sequence[str] = move.sessions
    for session in move.sessions:
        owners = [*owners, *(turn.id for turn in rows.of_session(Label.TURN, session))]
        rows.forget_session(session)
    owned = frozenset(owners)
    derived = [each.id for each in rows.of_label(Label.DERIVED) if each.props["ownerId"] in owned]
    rows.forget(Label.DERIVED, derived)
    rows.forget(Label.VERSION, move.versions)
    rows.forget(Label.BRANCH, [branch_key(move.source, name) for name in move.branches])
    rows.forget(Label.MOVE, move.moves)
    rows.forget(Label.MEMORY, move.memories)
