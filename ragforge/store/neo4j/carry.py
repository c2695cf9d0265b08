"""Write rows to the graph: many of all kinds in one idempotent query.

Everything is merged by our own ids, so a batch that is sent again changes nothing. Properties of a session
are guarded by its writer's epoch: a writer that was fenced meanwhile moves no head and changes no title any
more, while the turns, steps and calls that it wrote still arrive, as a branch.
"""

from array import array
from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, assert_never

from msgspec import Struct

from ragforge.domain.errors import StoreError, StoreUnavailable
from ragforge.domain.ids import new_id
from ragforge.store.neo4j.abandonment import SETTLE_MOVED
from ragforge.store.neo4j.carry_memories import MEMORY_PARTS, memory_lists
from ragforge.store.neo4j.carry_versions import VERSION_PARTS, version_lists
from ragforge.store.neo4j.connection import PLAN_ONCE, Transaction
from ragforge.store.neo4j.outbox import ASSOCIATION, EMBEDDING, Cargo, OutboxRow
from ragforge.store.neo4j.rows import Label, Props

OWNERS = {"turn": Label.TURN, "summary": Label.SUMMARY, "memory": Label.MEMORY}

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

# A part for each label: a subquery over its rows in `$rows`.
PROJECTS = """
CALL () {
  UNWIND $rows.projects AS row
  MERGE (n:Project {id: row.id})
  ON CREATE SET n += row.first
  SET n += row.set
}
"""

# Writing a property takes the lock before the epoch is read: a claim that comes meanwhile waits.
# A batch may come late: its answer was given up, and a stopped server continued it after the next batch.
# Such a batch is skipped; all that it contained was sent again.
# A head that moves on to a new turn below it, as nearly every one does, abandons nothing. Of all other
# moves `moved` contains the turns whose paths are checked afterwards: the new head, the old, what came.
SESSIONS = """
CALL () {
  UNWIND $rows.sessions AS row
  FOREACH (_ IN CASE WHEN row.make THEN [1] ELSE [] END |
    MERGE (new:ConversationSession {sessionId: row.id})
    ON CREATE SET new += row.first)
  WITH row
  MATCH (n:ConversationSession {sessionId: row.id})
  SET n.carriedAt = datetime.realtime()
  WITH n, row, coalesce(n.writerEpoch, 0) AS epoch, coalesce(n.headId, '') AS head
  WITH n, row, head,
    row.epoch > 0 AND epoch > row.epoch AS fenced,
    row.epoch > 0 AND epoch = row.epoch AND coalesce(n.carriedBatch, 0) > $batch AS late
  FOREACH (_ IN CASE WHEN fenced OR late THEN [] ELSE [1] END |
    SET n += row.set, n.carriedBatch = CASE WHEN row.epoch > 0 THEN $batch ELSE n.carriedBatch END)
  WITH n, row, fenced, late, head
  CALL (n, row) {
    WITH n, row WHERE row.draw
    MERGE (p:Project {id: n.projectId})
    MERGE (p)-[:HAS_SESSION]->(n)
  }
  RETURN collect(CASE WHEN fenced THEN n.sessionId END) AS fenced,
    collect(CASE WHEN late THEN n.sessionId END) AS late,
    collect(CASE
      WHEN late OR NOT $marks OR coalesce(row.onto = head, false) AND NOT fenced THEN []
      WHEN head = coalesce(n.headId, '') AND NOT row.make THEN row.made
      ELSE [n.headId, head] + row.made
    END) AS moved
}
"""

# The same if nothing else of the sessions is written.
GUARDS = """
CALL () {
  UNWIND $rows.sessions AS row
  MATCH (n:ConversationSession {sessionId: row.id})
  SET n.carriedAt = datetime.realtime()
  WITH n, row, coalesce(n.writerEpoch, 0) AS epoch
  WITH n, row,
    row.epoch > 0 AND epoch > row.epoch AS fenced,
    row.epoch > 0 AND epoch = row.epoch AND coalesce(n.carriedBatch, 0) > $batch AS late
  FOREACH (_ IN CASE WHEN fenced OR late OR row.epoch = 0 THEN [] ELSE [1] END | SET n.carriedBatch = $batch)
  RETURN collect(CASE WHEN fenced THEN n.sessionId END) AS fenced,
    collect(CASE WHEN late THEN n.sessionId END) AS late
}
"""

# What was created here is written whole, but never over what exists. All else is written only to what
# exists: if the session was deleted while its writer was silent, no half a node is created.
ROWS = """
CALL (late) {{
  UNWIND $rows.{name} AS row
  WITH row WHERE NOT row.session IN late{needs}
  FOREACH (_ IN CASE WHEN row.make THEN [1] ELSE [] END |
    MERGE (new:{label} {{id: row.id}})
    ON CREATE SET new += row.first)
  WITH *
  MATCH (n:{label} {{id: row.id}})
  SET n += row.set
  WITH * WHERE row.draw
{draw}
}}
"""

DRAW_PERSON = f"""FOREACH (id IN [each IN [n.person] WHERE each IS NOT NULL] |
    MERGE (who:{Label.PERSON} {{id: id}})
    MERGE (who)-[:WROTE]->(n))"""
"""Of a turn `n`. The node contains only the id, which is the same wherever it is first written."""

TURNS = ROWS.format(
    name="turns",
    label=Label.TURN,
    needs="",
    draw=f"""
  MATCH (s:ConversationSession {{sessionId: n.sessionId}})
  MERGE (s)-[:HAS_TURN]->(n)
  {DRAW_PERSON}
  WITH n WHERE n.parentId IS NOT NULL
  MATCH (p:ConversationTurn {{id: n.parentId}})
  MERGE (p)-[:NEXT]->(n)""",
)

OF_TURN = "\n  MATCH (t:ConversationTurn {id: row.turn})"

STEPS = ROWS.format(name="steps", label=Label.STEP, needs=OF_TURN, draw="  MERGE (n)-[:PART_OF]->(t)")

CALLS = ROWS.format(
    name="calls",
    label=Label.CALL,
    needs=OF_TURN,
    draw="  MERGE (t)-[:HAS_TOOL_CALL]->(n)\n  MERGE (n)-[:PART_OF]->(t)",
)

# An extract never replaces a model's summary, and a model's replaces an extract, whichever machine was
# first. A turn's embedding includes its level 1 summary, so that a new text, or none, makes that vector
# outdated. What was written from the old text must be written again.
SUMMARIES = """
CALL (late) {
  UNWIND $rows.summaries AS row
  WITH row WHERE NOT row.session IN late
  OPTIONAL MATCH (old:ConversationSummary {id: row.id})
  WITH row, old.summary AS text, old.method AS method
  WHERE NOT (coalesce(method = 'model', false) AND row.method = 'extractive')
  FOREACH (_ IN CASE WHEN row.make AND EXISTS { (:ConversationSession {sessionId: row.session}) }
      THEN [1] ELSE [] END |
    MERGE (new:ConversationSummary {id: row.id})
    ON CREATE SET new += row.first)
  WITH row, text, row.make AND coalesce(method <> row.method, false) AS instead
  MATCH (n:ConversationSummary {id: row.id})
  SET n += CASE WHEN instead THEN row.first ELSE {} END
  SET n += row.set
  WITH n, row, text
  CALL (n, text) {
    WITH n WHERE n.summary <> text
    MATCH (up:ConversationSummary)-[:SUMMARIZES]->(n)
    SET up.outdated = true
  }
  WITH n, row WHERE row.draw
  MATCH (s:ConversationSession {sessionId: n.sessionId})
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

NOTHING_MOVED = "WITH d, [] AS fenced, [] AS late, [] AS moved\n"

# Always the whole text, whichever rows there are: the server plans each text once, and planning takes long.
PARTS: Mapping[Cargo, str] = {
    Cargo.CONVERSATION: PROJECTS + SESSIONS + TURNS + STEPS + CALLS,
    Cargo.SUMMARIES: GUARDS + SUMMARIES + "WITH d, fenced, late, [] AS moved\n",
    Cargo.VERSIONS: NOTHING_MOVED + VERSION_PARTS,
    Cargo.MEMORIES: NOTHING_MOVED + MEMORY_PARTS,
    Cargo.VECTORS: NOTHING_MOVED
    + "".join(EMBEDDING_PART.format(name=owner, label=label) for owner, label in OWNERS.items()),
}

# Which turns that abandons is computed right after; until then, the database has a mark that it must be.
ANSWER = """
WITH d, fenced, late, [id IN reduce(ids = [], each IN moved | ids + each) WHERE id <> ''] AS moved
FOREACH (_ IN CASE WHEN size(moved) = 0 OR d.leftStale IS NOT NULL THEN [] ELSE [1] END |
  SET d.leftStale = $mark)
FOREACH (_ IN CASE WHEN $remembers THEN [1] ELSE [] END | SET d.memoryState = $mark)
RETURN fenced, late, moved
"""

# The address may have another database by now, on a connection that was made to the previous one.
# If the marks of abandoned turns are not updated with the write, the need to do so is recorded.
HERE = f"""
MATCH (d:{Label.DATABASE}) WHERE d.id = $database WITH d
FOREACH (_ IN CASE WHEN $marks THEN [] ELSE [1] END | SET d.leftStale = $mark)
WITH d
"""

OTHER_DATABASE = (
    "The server answers with a different database than before. Waiting rows are kept for the previous one."
)

TIES = frozenset({"sessionId", "projectId", "parentId", "turnId", "covers", "person"})
"""Properties from which relationships are created."""


class Writer(Protocol):
    """The part of the connection that is used here."""

    async def write(self, query: str, /, **parameters: Any) -> list[dict[str, Any]]:
        """Return the statement's rows, once it is committed."""
        ...


class InTransaction:
    """Writes as part of a transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def write(self, query: str, /, *, deadline_s: float, **parameters: Any) -> list[dict[str, Any]]:
        """Return the statement's rows."""
        del deadline_s  # the transaction has one
        return await self._transaction.run(query, **parameters)


class Arrived(Struct, frozen=True):
    """The graph's answer to a batch. fenced: sessions with another writer now; late: what was skipped.

    unsettled: it must still be computed which turns are abandoned.
    """

    fenced: tuple[str, ...] = ()
    late: frozenset[str] = frozenset()
    unsettled: bool = False


async def carry(
    graph: Writer,
    rows: Sequence[OutboxRow],
    *,
    batch: int,
    deadline_s: float,
    database: str,
    marks: bool = True,
) -> Arrived:
    """Write the rows, which are of one cargo. batch: a number that increases for each of this machine.

    database: the id of the only one that may have them. marks: also mark which turns are abandoned now
    (see `abandonment.py`); else all must be checked afterwards. Raises StoreUnavailable if it is another
    database.
    """
    query, parameters = statement(rows, rows[0].cargo)
    parameters |= {"batch": batch, "database": database, "marks": marks, "mark": new_id()}
    parameters["remembers"] = any(row.label in (Label.MEMORY, ASSOCIATION) for row in rows)
    found = await graph.write(query, deadline_s=deadline_s, **parameters)
    if not found:
        raise StoreUnavailable(OTHER_DATABASE)
    answer = found[0]
    unsettled = False
    if answer["moved"]:
        try:
            await graph.write(
                SETTLE_MOVED, deadline_s=deadline_s, ids={"of": answer["moved"]}, mark=parameters["mark"]
            )
        except StoreError:
            # What was written has arrived; the database records what must still be done.
            unsettled = True
    return Arrived(tuple(answer["fenced"]), frozenset(answer["late"]), unsettled)


async def warm_up(graph: Writer, *, database: str, deadline_s: float) -> None:
    """Let the server plan the queries that write rows: that takes it longer than a step may.

    It plans for the types of the parameters too, so these are as they will be.
    """
    for cargo in Cargo:
        query, parameters = statement([], cargo)
        parameters |= {"batch": 0, "database": database, "marks": True, "mark": new_id()}
        parameters["remembers"] = False
        await graph.write(query, deadline_s=deadline_s, **parameters)
    await graph.write(SETTLE_MOVED, deadline_s=deadline_s, ids={"of": []}, mark=new_id())


def statement(rows: Sequence[OutboxRow], cargo: Cargo) -> tuple[str, dict[str, Any]]:
    """Return the query and its parameters; each cargo has a single text."""
    match cargo:
        case Cargo.CONVERSATION | Cargo.SUMMARIES:
            lists = _owned_lists(rows)
        case Cargo.VERSIONS:
            lists = version_lists(rows)
        case Cargo.MEMORIES:
            lists = memory_lists(rows)
        case Cargo.VECTORS:
            lists = {owner: _vectors(rows, owner) for owner in OWNERS}
        case _:
            assert_never(cargo)
    # In one map: Neo4j plans a text for each order of magnitude of each list among its parameters, which for
    # six lists is a new plan with almost every turn. The lists in a map have no such sizes.
    return f"{PLAN_ONCE}{HERE}{PARTS[cargo]}{ANSWER}", {"rows": lists}


def whole_rows(pairs: Iterable[tuple[str, Props]]) -> list[OutboxRow]:
    """Return nodes to be written whole, also over existing ones, such as those of a backup."""
    return [
        OutboxRow(
            label,
            props["sessionId"] if label == Label.SESSION else props["id"],
            props,
            fresh=True,
            dirty=frozenset(props),
        )
        for label, props in pairs
    ]


def new_row(label: str, props: Props) -> OutboxRow:
    """Return a node that is written only if it does not exist, so its properties are sent once."""
    return OutboxRow(label, props["id"], props, fresh=True)


def _owned_lists(rows: Sequence[OutboxRow]) -> dict[str, list[dict[str, Any]]]:
    begun = {row.id: row for row in rows if row.label == Label.TURN and row.fresh}
    sessions = {row.id: _session_as_written(row, begun) for row in rows if row.label == Label.SESSION}
    # Writing to what belongs to a session is guarded by a write to the session itself.
    for row in rows:
        if row.label != Label.SESSION and row.session_id is not None:
            sessions.setdefault(row.session_id, _guard(row, begun))
    by_label: dict[str, list[dict[str, Any]]] = {label: [] for label in Label}
    for row in rows:
        by_label[row.label].append(as_written(row))
    return {
        "projects": by_label[Label.PROJECT],
        "sessions": list(sessions.values()),
        "turns": by_label[Label.TURN],
        "steps": by_label[Label.STEP],
        "calls": by_label[Label.CALL],
        "summaries": by_label[Label.SUMMARY],
    }


def as_written(row: OutboxRow) -> dict[str, Any]:
    """Return what the parts of the query need of the row."""
    changed = {name: row.props.get(name) for name in row.dirty}
    return {
        "id": row.id,
        "session": row.session_id,
        "turn": row.props.get("turnId"),
        "method": row.props.get("method"),
        "make": row.fresh,
        "first": row.props if row.fresh else {},
        "set": changed,
        "draw": row.fresh or not TIES.isdisjoint(changed),
    }


def _session_as_written(row: OutboxRow, begun: Mapping[str, OutboxRow]) -> dict[str, Any]:
    made = _made_in(row.id, begun)
    written = as_written(row)
    # If a session was deleted elsewhere while its texts waited, it is created again with them.
    make = row.fresh or bool(made)
    onto = _onto(row.props.get("headId"), made, begun) if "headId" in row.dirty else None
    written |= {"make": make, "first": row.props if make else {}, "draw": make or written["draw"]}
    return written | {"fresh": row.fresh, "epoch": row.epoch, "made": made, "onto": onto}


def _guard(row: OutboxRow, begun: Mapping[str, OutboxRow]) -> dict[str, Any]:
    """Return the row's session, of which only the guard is written."""
    assert row.session_id is not None
    made = _made_in(row.session_id, begun)
    return {
        **{"id": row.session_id, "epoch": row.epoch, "first": {}, "set": {}, "draw": False},
        **{"make": False, "fresh": False, "made": made, "onto": None},
    }


def _made_in(session_id: str, begun: Mapping[str, OutboxRow]) -> list[str]:
    """Return the turns that started in the session."""
    return [turn for turn, row in begun.items() if row.session_id == session_id]


def _onto(head: str | None, made: Sequence[str], begun: Mapping[str, OutboxRow]) -> str | None:
    """Return the turn where the head was, if all that was created leads from there to where it is now.

    Empty for the start of a session, None if the head moved in another way.
    """
    passed: set[str] = set()
    while head is not None and head in begun and head not in passed:
        passed.add(head)
        head = begun[head].props.get("parentId")
    return (head or "") if made and passed == set(made) else None


def _vectors(rows: Sequence[OutboxRow], owner: str) -> list[dict[str, Any]]:
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
