"""Queries that write memories, their links, model calls beside the turns, and derived records.

A memory may be saved on several machines at once, and the result must be the same everywhere: what a save
adds is merged in the graph (more weight, more evidence, the older beginning, the newer date, the user's
words), in whatever order saves arrive. Only deliberate changes are set.
"""

from collections.abc import Sequence
from typing import Any

from ragforge.store.neo4j.derivation_rows import DERIVED_PARTS, derived_lists
from ragforge.store.neo4j.memory_rows import TYPES
from ragforge.store.neo4j.outbox import ASSOCIATION, OutboxRow
from ragforge.store.neo4j.rows import Label

SAVED = "saved"
"""In `dirty`: the current values are to be merged."""
RESTORED = "restored"
"""In `dirty`: the user said it again, so it is no longer forgotten."""

ADDED = (
    *("importance", "confidence", "updated", "created", "validFrom", "searchDate", "evidence", "origin"),
    *("source", "strength", "appliesTo", "said"),
)

# A memory that was deleted elsewhere, with the session it was for, is not created again by a change.
MEMORIES = f"""
CALL () {{
  UNWIND $rows.memories AS row
  FOREACH (_ IN CASE WHEN row.make THEN [1] ELSE [] END |
    MERGE (new:{Label.MEMORY} {{id: row.id}})
    ON CREATE SET new.owner = '', new.embeddingStale = true, new += row.first)
  WITH row
  MATCH (n:{Label.MEMORY} {{id: row.id}})
  WITH n, row, row.adds AS a
  FOREACH (_ IN CASE WHEN a IS NULL THEN [] ELSE [1] END |
    SET n.importance = CASE WHEN a.importance > n.importance THEN a.importance ELSE n.importance END,
      n.confidence = CASE WHEN a.confidence > n.confidence THEN a.confidence ELSE n.confidence END,
      n.updated = CASE WHEN a.updated > n.updated THEN a.updated ELSE n.updated END,
      n.searchDate = CASE WHEN a.created < n.created THEN a.searchDate ELSE n.searchDate END,
      n.origin = CASE WHEN a.source = 'person' AND n.source <> 'person' OR coalesce(n.origin, '') = ''
        THEN a.origin ELSE n.origin END,
      n.source = CASE WHEN a.source = 'person' THEN a.source ELSE n.source END,
      n.validFrom = CASE WHEN n.validFrom = n.created AND a.created < n.created THEN a.validFrom
        ELSE n.validFrom END,
      n.created = CASE WHEN a.created < n.created THEN a.created ELSE n.created END,
      n.strength = CASE WHEN a.strength = 'must' OR coalesce(n.strength, '') = ''
        THEN a.strength ELSE n.strength END,
      n.appliesTo = coalesce(n.appliesTo, [])
        + [each IN coalesce(a.appliesTo, []) WHERE NOT each IN coalesce(n.appliesTo, [])],
      n.said = CASE WHEN a.said > coalesce(n.said, 1) THEN a.said ELSE coalesce(n.said, 1) END,
      n.evidence = n.evidence + [turn IN a.evidence WHERE NOT turn IN n.evidence])
  FOREACH (_ IN CASE WHEN row.restore THEN [1] ELSE [] END | REMOVE n.forgottenAt)
  SET n += row.set
  FOREACH (_ IN CASE WHEN row.forget IS NULL THEN [] ELSE [1] END |
    SET n.forgottenAt = coalesce(n.forgottenAt, row.forget))
  WITH n, row WHERE row.draw
  CALL (n) {{
    MATCH (p:{Label.PROJECT} {{id: n.projectId}})
    MERGE (p)-[:HAS_MEMORY]->(n)
  }}
  CALL (n, row) {{
    MATCH (s:{Label.SESSION} {{sessionId: n.sessionId}}) WHERE n.sessionId = row.session
    MERGE (s)-[:HAS_MEMORY]->(n)
    SET n.searchScope = row.scope
  }}
  CALL (n) {{
    MATCH (n)-[r:EVIDENCE]->(t) WHERE NOT coalesce(t.id IN n.evidence, false)
    DELETE r
  }}
  CALL (n) {{
    MATCH (t:{Label.TURN}) WHERE t.id IN n.evidence
    MERGE (n)-[:EVIDENCE]->(t)
  }}
}}
"""

# One a type, because a parameter cannot name it. Links from before they had a turn have none.
ASSOCIATIONS = "".join(
    f"""
CALL () {{
  UNWIND $rows.{kind} AS row
  MATCH (a:{Label.MEMORY} {{id: row.from}})
  MATCH (b:{Label.MEMORY} {{id: row.to}})
  CALL (a, b) {{ MATCH (a)-[before:{type_}]->(b) WHERE before.turn IS NULL SET before.turn = '' }}
  MERGE (a)-[r:{type_} {{turn: row.turn}}]->(b)
  ON CREATE SET r.at = row.at
  ON MATCH SET r.at = CASE WHEN row.at > r.at THEN row.at ELSE r.at END
}}
"""
    for kind, type_ in TYPES.items()
)

USAGE = f"""
CALL () {{
  UNWIND $rows.spent AS row
  MERGE (n:{Label.USAGE} {{id: row.id}})
  ON CREATE SET n += row
}}
"""

MEMORY_PARTS = MEMORIES + ASSOCIATIONS + USAGE + DERIVED_PARTS


def memory_lists(rows: Sequence[OutboxRow]) -> dict[str, list[dict[str, Any]]]:
    """Return the rows in the form that the parts need."""
    links = [{"turn": "", **row.props} for row in rows if row.label == ASSOCIATION]
    return {
        "memories": [_as_written(row) for row in rows if row.label == Label.MEMORY],
        "spent": [row.props for row in rows if row.label == Label.USAGE],
        **{kind: [link for link in links if link["kind"] == kind] for kind in TYPES},
        **derived_lists(rows),
    }


def _as_written(row: OutboxRow) -> dict[str, Any]:
    is_whole = "id" in row.dirty
    changed = {name: row.props.get(name) for name in row.dirty - {SAVED, RESTORED}}
    forget = None
    if not is_whole and changed.get("forgottenAt") is not None:
        # The first process that forgot it sets the time.
        forget = changed.pop("forgottenAt")
    scope = row.props.get("searchScope", "")
    # The words of a session that is not stored are not searched for: its own are added if it is.
    without_session = " ".join(each for each in scope.split() if not each.startswith("s"))
    if is_whole:
        changed["searchScope"] = without_session
    adds = not is_whole and (row.fresh or SAVED in row.dirty)
    return {
        "id": row.id,
        "session": row.props["sessionId"],
        "make": row.fresh,
        "first": row.props | {"searchScope": without_session} if row.fresh else {},
        "adds": {name: row.props.get(name) for name in ADDED} if adds else None,
        "restore": RESTORED in row.dirty,
        "set": changed,
        "forget": forget,
        "draw": row.fresh or SAVED in row.dirty,
        "scope": scope,
    }
