"""What should hold of the version tree in the graph: see `laws.py`."""

from ragforge.store.neo4j.laws import BATCH, Law, Tie, of_tie
from ragforge.store.neo4j.rows import Label

_VERSION, _BRANCH, _MOVE = Label.VERSION, Label.BRANCH, Label.MOVE

TIES = (
    Tie("HAS_VERSION", Label.PROJECT, "id", _VERSION, "projectId"),
    Tie("MADE_IN", Label.TURN, "id", _VERSION, "turnId", inward=True),
    Tie("HAS_BRANCH", Label.PROJECT, "id", _BRANCH, "projectId"),
    Tie("POINTS_TO", _VERSION, "id", _BRANCH, "versionId", inward=True),
    Tie("HAS_MOVE", Label.PROJECT, "id", _MOVE, "projectId"),
)

# `parents` is a list, so it is no Tie.
_ABOVE = f"MATCH (n:{_VERSION}) UNWIND range(0, size(n.parents) - 1) AS ord"
_STORED = f"{_ABOVE} MATCH (p:{_VERSION}) WHERE p.id = n.parents[ord]"
_UNDRAWN = f"{_STORED} AND NOT EXISTS {{ (n)-[:PARENT {{ord: ord}}]->(p) }} WITH n, ord, p"
_ASTRAY = f"MATCH (n:{_VERSION})-[r:PARENT]->(p) WHERE NOT coalesce(n.parents[r.ord] = p.id, false)"
_DOUBLED = (
    f"MATCH (n:{_VERSION})-[r:PARENT]->(p) WITH n, r.ord AS ord, collect(r) AS drawn WHERE size(drawn) > 1"
)
_LATE = "(p.timestamp > n.timestamp OR p.timestamp = n.timestamp AND p.id >= n.id)"

OTHERS = (
    Law(
        "Version {} names a parent that is not stored.",
        f"{_ABOVE} WITH n, ord WHERE NOT EXISTS {{ MATCH (p:{_VERSION}) WHERE p.id = n.parents[ord] }} "
        "RETURN DISTINCT n.id AS id LIMIT $limit",
    ),
    Law(
        "Version {} has a PARENT that its parents do not name.",
        f"{_ASTRAY} RETURN DISTINCT n.id AS id LIMIT $limit",
        f"{_ASTRAY} CALL (r) {{ DELETE r }} IN TRANSACTIONS OF {BATCH} ROWS",
        "It was removed.",
    ),
    Law(
        "Version {} has the same PARENT more than once.",
        f"{_DOUBLED} RETURN DISTINCT n.id AS id LIMIT $limit",
        f"{_DOUBLED} CALL (drawn) {{ UNWIND tail(drawn) AS more DELETE more }} "
        f"IN TRANSACTIONS OF {BATCH} ROWS",
        "Only one was kept.",
    ),
    Law(
        "Version {} lacks a PARENT.",
        f"{_UNDRAWN} RETURN DISTINCT n.id AS id LIMIT $limit",
        f"{_UNDRAWN} CALL (n, ord, p) {{ MERGE (n)-[:PARENT {{ord: ord}}]->(p) }} "
        f"IN TRANSACTIONS OF {BATCH} ROWS",
        "It was drawn.",
    ),
    Law(
        "Version {} does not come after its parent, or is another project's.",
        f"{_STORED} AND ({_LATE} OR p.projectId <> n.projectId) RETURN DISTINCT n.id AS id LIMIT $limit",
    ),
    Law(
        # Who comes after all parents stands on no circle, so few are looked at.
        "Version {} is its own ancestor.",
        f"{_STORED} AND {_LATE} WITH DISTINCT n "
        f"MATCH (n)-[:PARENT]->(up:{_VERSION}) WITH n, up "
        f"MATCH ANY SHORTEST (up)-[:PARENT]->*(n) RETURN DISTINCT n.id AS id LIMIT $limit",
    ),
    Law(
        "Version {} names a Session that is not stored.",
        f"MATCH (n:{_VERSION}) WHERE n.sessionId IS NOT NULL AND NOT EXISTS {{ "
        f"MATCH (s:{Label.SESSION}) WHERE s.sessionId = n.sessionId }} RETURN n.id AS id LIMIT $limit",
    ),
)


def version_laws() -> list[Law]:
    """All of them."""
    return [*(law for tie in TIES for law in of_tie(tie)), *OTHERS]
