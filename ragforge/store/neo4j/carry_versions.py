"""Queries that write versions, branches and moves of heads.

Only the label of a version ever changes, so it is the same whichever machine sends it first. A branch
points to where it was last set. References to what is not stored (any more) are left out: a session that
was deleted elsewhere while its versions waited removes none of them.
"""

from collections.abc import Sequence
from typing import Any

from ragforge.domain.search import HitKind
from ragforge.store.neo4j.outbox import OutboxRow
from ragforge.store.neo4j.rows import Label, Props
from ragforge.store.neo4j.search_words import scope_tokens

GONE = "gone"
"""Of a waiting branch: whether its name is to be removed."""
MACHINE = "machine"
"""Of a waiting branch: the machine that set it."""

# `ord` tells which parent is the first. All of a batch are created before the first is linked.
VERSIONS = f"""
CALL () {{
  UNWIND $rows.versions AS row
  FOREACH (_ IN CASE WHEN row.make THEN [1] ELSE [] END |
    MERGE (new:{Label.VERSION} {{id: row.id}})
    ON CREATE SET new += row.first)
  WITH row
  MATCH (n:{Label.VERSION} {{id: row.id}})
  SET n += row.set
  WITH n, row WHERE row.draw
  CALL (n, row) {{
    WITH n, row
    WHERE n.sessionId IS NOT NULL AND NOT EXISTS {{ (:{Label.SESSION} {{sessionId: n.sessionId}}) }}
      OR n.turnId IS NOT NULL AND NOT EXISTS {{ (:{Label.TURN} {{id: n.turnId}}) }}
    SET n += row.alone
  }}
  CALL (n) {{
    MATCH (p:{Label.PROJECT} {{id: n.projectId}})
    MERGE (p)-[:HAS_VERSION]->(n)
  }}
  CALL (n) {{
    UNWIND range(0, size(n.parents) - 1) AS ord
    MATCH (p:{Label.VERSION} {{id: n.parents[ord]}})
    MERGE (n)-[:PARENT {{ord: ord}}]->(p)
  }}
  CALL (n) {{
    MATCH (t:{Label.TURN} {{id: n.turnId}})
    MERGE (n)-[:MADE_IN]->(t)
    REMOVE t.versionDue
  }}
}}
"""

# A batch may come late, after a following one (see `carry.py`): it moves no branch back.
BRANCHES = f"""
CALL () {{
  UNWIND $rows.branches AS row
  FOREACH (_ IN CASE WHEN row.gone THEN [] ELSE [1] END |
    MERGE (new:{Label.BRANCH} {{id: row.id}}))
  WITH row
  MATCH (n:{Label.BRANCH} {{id: row.id}})
  WHERE NOT coalesce(n.carriedBy = row.machine AND n.carriedBatch > $batch, false)
  FOREACH (gone IN CASE WHEN row.gone THEN [n] ELSE [] END | DETACH DELETE gone)
  WITH n, row WHERE NOT row.gone
  SET n += row.set, n.carriedBy = row.machine, n.carriedBatch = $batch
  WITH n
  CALL (n) {{
    MATCH (p:{Label.PROJECT} {{id: n.projectId}})
    MERGE (p)-[:HAS_BRANCH]->(n)
  }}
  CALL (n) {{
    MATCH (n)-[old:POINTS_TO]->(v) WHERE NOT coalesce(v.id = n.versionId, false)
    DELETE old
  }}
  CALL (n) {{
    MATCH (v:{Label.VERSION} {{id: n.versionId}})
    MERGE (n)-[:POINTS_TO]->(v)
  }}
}}
"""

MOVES = f"""
CALL () {{
  UNWIND $rows.moves AS row
  MERGE (n:{Label.MOVE} {{id: row.id}})
  ON CREATE SET n += row
  WITH n
  MATCH (p:{Label.PROJECT} {{id: n.projectId}})
  MERGE (p)-[:HAS_MOVE]->(n)
}}
"""

VERSION_PARTS = VERSIONS + BRANCHES + MOVES


def version_lists(rows: Sequence[OutboxRow]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows in the form that the parts need."""
    return {
        "versions": [_version(row) for row in rows if row.label == Label.VERSION],
        "branches": [_branch(row) for row in rows if row.label == Label.BRANCH],
        "moves": [row.props for row in rows if row.label == Label.MOVE],
    }


def _version(row: OutboxRow) -> dict[str, Any]:
    draw = row.fresh or "turnId" in row.dirty
    return {
        "id": row.id,
        "make": row.fresh,
        "first": row.props if row.fresh else {},
        "set": {name: row.props.get(name) for name in row.dirty},
        "draw": draw,
        "alone": _alone(row.props) if draw else {},
    }


def _alone(version: Props) -> Props:
    """Return the changes of a version whose session or turn is no longer stored."""
    scope = scope_tokens(version["projectId"], "", HitKind.VERSION)
    without: Props = {"sessionId": None, "turnId": None, "searchScope": scope}
    # The title is the first words of the turn's message, if there was one.
    return without | ({"title": "", "searchNear": ""} if version["turnId"] else {})


def _branch(row: OutboxRow) -> dict[str, Any]:
    props = dict(row.props)
    gone, machine = props.pop(GONE, False), props.pop(MACHINE, "")
    return {"id": row.id, "gone": bool(gone), "machine": machine, "set": props}
