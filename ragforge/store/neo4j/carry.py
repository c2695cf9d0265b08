"""Rows on their way to the graph: many of all kinds in one idempotent query.

Everything is merged by our own ids, so a batch that is sent again changes nothing. Properties of a session
are guarded by the epoch of its writer: who was fenced meanwhile moves no head and no title any more, while
the turns, steps and calls that were written there still arrive, as a branch.
"""

from array import array
from base64 import b64decode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ragforge.domain.errors import StoreUnavailable
from ragforge.store.neo4j.outbox import EMBEDDING, Row
from ragforge.store.neo4j.rows import Label, Props

OWNERS = {"turn": Label.TURN, "summary": Label.SUMMARY}

PROJECTS = """
CALL () {
  UNWIND $rows.projects AS row
  MERGE (n:Project {id: row.id})
  ON CREATE SET n += row.first
  SET n += row.set
}
"""

# Writing a property takes the lock before the epoch is read: a claim that comes meanwhile waits.
# A batch may come late: its answer was given up, and a stopped server went on with it after the batch that
# followed. Such a one is skipped; all that it held was sent again.
SESSIONS = """
CALL () {
  UNWIND $rows.sessions AS row
  MERGE (n:ConversationSession {sessionId: row.id})
  ON CREATE SET n += row.first
  SET n.carriedAt = datetime.realtime()
  WITH n, row, coalesce(n.writerEpoch, 0) AS epoch
  WITH n, row,
    row.epoch > 0 AND epoch > row.epoch AS fenced,
    row.epoch > 0 AND epoch = row.epoch AND coalesce(n.carriedBatch, 0) > $batch AS late
  FOREACH (_ IN CASE WHEN fenced OR late THEN [] ELSE [1] END |
    SET n += row.set, n.carriedBatch = CASE WHEN row.epoch > 0 THEN $batch ELSE n.carriedBatch END)
  WITH n, row, fenced, late
  CALL (n, row) {
    WITH n, row WHERE row.draw
    MERGE (p:Project {id: n.projectId})
    MERGE (p)-[:HAS_SESSION]->(n)
  }
  RETURN collect(CASE WHEN fenced THEN n.sessionId END) AS fenced,
    collect(CASE WHEN late THEN n.sessionId END) AS late
}
"""

TURNS = """
CALL (late) {
  UNWIND $rows.turns AS row
  WITH row WHERE NOT row.session IN late
  MERGE (n:ConversationTurn {id: row.id})
  ON CREATE SET n += row.first
  SET n += row.set
  WITH n, row WHERE row.draw
  MERGE (s:ConversationSession {sessionId: n.sessionId})
  MERGE (s)-[:HAS_TURN]->(n)
  WITH n, row WHERE n.parentId IS NOT NULL
  MATCH (p:ConversationTurn {id: n.parentId})
  MERGE (p)-[:NEXT]->(n)
}
"""

STEPS = """
CALL (late) {
  UNWIND $rows.steps AS row
  WITH row WHERE NOT row.session IN late
  MERGE (n:ConversationStep {id: row.id})
  ON CREATE SET n += row.first
  SET n += row.set
  WITH n, row WHERE row.draw
  MATCH (t:ConversationTurn {id: n.turnId})
  MERGE (n)-[:PART_OF]->(t)
}
"""

CALLS = """
CALL (late) {
  UNWIND $rows.calls AS row
  WITH row WHERE NOT row.session IN late
  MERGE (n:ToolCall {id: row.id})
  ON CREATE SET n += row.first
  SET n += row.set
  WITH n, row WHERE row.draw
  MATCH (t:ConversationTurn {id: n.turnId})
  MERGE (t)-[:HAS_TOOL_CALL]->(n)
  MERGE (n)-[:PART_OF]->(t)
}
"""

# What a turn is embedded by holds its level 1 summary; a new text makes that vector old, and so does none.
SUMMARIES = """
CALL (late) {
  UNWIND $rows.summaries AS row
  WITH row WHERE NOT row.session IN late
  MERGE (n:ConversationSummary {id: row.id})
  ON CREATE SET n += row.first
  SET n += row.set
  WITH n, row WHERE row.draw
  MERGE (s:ConversationSession {sessionId: n.sessionId})
  MERGE (s)-[:HAS_SUMMARY]->(n)
  WITH n
  CALL (n) {
    OPTIONAL MATCH (n)-[old:SUMMARIZES]->(child)
    WHERE NOT coalesce(child.id, '') IN n.covers
    DELETE old
    FOREACH (_ IN CASE WHEN child:ConversationTurn THEN [1] ELSE [] END | SET child.embeddingStale = true)
  }
  CALL (n) {
    WITH n WHERE n.level = 1
    MATCH (t:ConversationTurn) WHERE t.id IN n.covers
    MERGE (n)-[:SUMMARIZES]->(t)
    SET t.embeddingStale = true
  }
  CALL (n) {
    WITH n WHERE n.level > 1
    MATCH (c:ConversationSummary) WHERE c.id IN n.covers
    MERGE (n)-[:SUMMARIZES]->(c)
  }
}
"""

# One fragment a label, because a parameter cannot name a label.
EMBEDDING_PART = """
CALL () {{
  UNWIND $rows.{name} AS row
  MATCH (n:{label} {{id: row.id}})
  SET n.embeddingModel = row.model, n.embeddingHash = row.hash, n.embeddingStale = row.stale,
    n.embeddingDimensions = size(row.vector)
  WITH n, row
  CALL db.create.setNodeVectorProperty(n, 'embedding', row.vector)
}}
"""

PLAN_ONCE = "CYPHER replan=skip "
"""All is found by unique ids, whatever the statistics say; planning anew takes longer than the writing.

For the same reason the rows come in one map: Neo4j plans a text once for each order of magnitude of each list
among its parameters, which for six lists is a new plan with almost every turn: seconds on a busy server.
The lists in a map have no such sizes.
"""

EMBEDDING_PARTS = "WITH [] AS fenced, [] AS late\n" + "".join(
    EMBEDDING_PART.format(name=f"{owner}Vectors", label=label) for owner, label in OWNERS.items()
)

# Always together, whatever of it is there: the server plans each text once, and planning takes long.
STEP_PARTS = PROJECTS + SESSIONS + TURNS + STEPS + CALLS + SUMMARIES

# Another database may answer at the address by now, on a connection that was made to the one before.
HERE = f"MATCH (d:{Label.DATABASE}) WHERE d.id = coalesce($database, d.id) WITH d LIMIT 1\n"

OWNED = frozenset({Label.TURN, Label.STEP, Label.CALL, Label.SUMMARY})
"""What belongs to a session and is written by its writer."""

TIES = frozenset({"sessionId", "projectId", "parentId", "turnId", "covers"})
"""Properties from which relationships are drawn."""


class Writer(Protocol):
    """What is needed of the connection."""

    async def write(self, query: str, /, **parameters: Any) -> list[dict[str, Any]]:
        """The rows that a statement answers, once it is committed."""
        ...


@dataclass(frozen=True, slots=True)
class Arrived:
    """What the graph said of a batch. fenced: sessions that others write now; late: what was skipped."""

    fenced: tuple[str, ...] = ()
    late: frozenset[str] = frozenset()


async def carry(
    graph: Writer, rows: Sequence[Row], *, batch: int, deadline_s: float, database: str | None = None
) -> Arrived:
    """Write the rows: vectors, or all else. batch: a number that is higher for each batch of this machine.

    database: the id of the only one that may have them; any, where it is None. Raises StoreUnavailable
    where it is another.
    """
    query, parameters = statement(rows, vectors=rows[0].label == EMBEDDING)
    found = await graph.write(query, deadline_s=deadline_s, batch=batch, database=database, **parameters)
    if not found:
        raise StoreUnavailable(
            "The server answers with another database than before. What waits is kept for the one it was "
            "written for."
        )
    answer = found[0]
    return Arrived(tuple(answer["fenced"]), frozenset(answer["late"]))


async def warm_up(graph: Writer, *, deadline_s: float) -> None:
    """Let the server plan what rows are written by: that takes it longer than a step may."""
    for vectors in (False, True):
        query, parameters = statement([], vectors=vectors)
        await graph.write(query, deadline_s=deadline_s, batch=0, database=None, **parameters)


def statement(rows: Sequence[Row], *, vectors: bool) -> tuple[str, dict[str, Any]]:
    """The query and its parameters; the text is one of a few. vectors: whether some are among the rows."""
    by_label: dict[str, list[dict[str, Any]]] = {label: [] for label in Label}
    for row in rows:
        if row.label != EMBEDDING:
            by_label[row.label].append(_as_written(row))
    # Writing to what belongs to a session is guarded by a write to the session itself.
    sessions = by_label[Label.SESSION]
    guards = {row.props["sessionId"]: _guard(row) for row in rows if row.label in OWNED}
    known = {row["id"] for row in sessions}
    sessions += [guard for session, guard in guards.items() if session not in known]
    query = EMBEDDING_PARTS if vectors else STEP_PARTS
    lists = {
        "projects": by_label[Label.PROJECT],
        "sessions": sessions,
        "turns": by_label[Label.TURN],
        "steps": by_label[Label.STEP],
        "calls": by_label[Label.CALL],
        "summaries": by_label[Label.SUMMARY],
        **{f"{owner}Vectors": _vectors(rows, owner) for owner in OWNERS},
    }
    return f"{PLAN_ONCE}{HERE}{query}RETURN fenced, late", {"rows": lists}


def whole_rows(pairs: Iterable[tuple[Label, Props]]) -> list[Row]:
    """Nodes to be written whole, such as those of a backup."""
    return [
        Row(
            label,
            props["sessionId"] if label is Label.SESSION else props["id"],
            props,
            dirty=frozenset(props),
        )
        for label, props in pairs
    ]


def _as_written(row: Row) -> dict[str, Any]:
    changed = {name: row.props.get(name) for name in row.dirty}
    # A session that was deleted elsewhere while its words waited comes back with them.
    comes_back = row.fresh or row.label == Label.SESSION
    first = {name: value for name, value in row.props.items() if name not in changed} if comes_back else {}
    return {
        "id": row.id,
        "session": row.props.get("sessionId"),
        "epoch": row.epoch,
        "first": first,
        "set": changed,
        "draw": row.fresh or not TIES.isdisjoint(changed),
    }


def _guard(row: Row) -> dict[str, Any]:
    """The row's session, of which nothing but the guard is written."""
    return {"id": row.props["sessionId"], "first": {}, "set": {}, "draw": False, "epoch": row.epoch}


def _vectors(rows: Sequence[Row], owner: str) -> list[dict[str, Any]]:
    return [
        {
            "id": row.id.partition("/")[2],
            "model": row.props["model"],
            "hash": row.props["hash"],
            "vector": array("f", b64decode(row.props["vector"])).tolist(),
            "stale": row.props.get("stale"),
        }
        for row in rows
        if row.label == EMBEDDING and row.id.partition("/")[0] == owner
    ]
