"""Write an archive's turns, steps, calls and vectors to a graph that lacks them, by the shortest way.

`carry.py` writes what a running session adds: any change of any row, guarded by the session's writer. Here a
row is new and whole. It is a list of values in the order of COLUMNS, because the driver packs every value
separately, names too, and that takes as long as everything else here. For the same reason times are sent as
milliseconds and vectors as text. Everything is merged by our own ids, so a batch may be sent again.
"""

from array import array
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Struct, field

from ragforge.domain.errors import StoreUnavailable
from ragforge.domain.ids import new_id
from ragforge.domain.vectors import Embedding, OwnerKind
from ragforge.store.json_text import storable
from ragforge.store.neo4j.carry import DRAW_PERSON, OTHER_DATABASE, Writer
from ragforge.store.neo4j.connection import PLAN_ONCE
from ragforge.store.neo4j.nodes import FIELDS
from ragforge.store.neo4j.outbox import TIMES
from ragforge.store.neo4j.rows import Label, Props
from ragforge.store.neo4j.vectors_read import LABELS

_WORDS = ("searchUser", "searchReply", "searchNear", "searchTools", "searchDate", "searchScope")

COLUMNS: Mapping[Label, tuple[str, ...]] = {
    Label.TURN: (*(name for name in FIELDS[Label.TURN] if name not in ("searchNear", "takenOver")), *_WORDS),
    Label.STEP: FIELDS[Label.STEP],
    Label.CALL: (*FIELDS[Label.CALL], *_WORDS),
}
"""The properties of a new node, in the order in which they are sent."""

_EPOCH = datetime.fromtimestamp(0, UTC)
_MS = timedelta(milliseconds=1)


class New(Struct):
    """What is to be written."""

    nodes: dict[Label, dict[str, Props]] = field(
        default_factory=lambda: {label: dict[str, Props]() for label in COLUMNS}
    )
    """By label and id."""
    changes: dict[str, Props] = field(default_factory=dict[str, Props])
    """Of existing turns: the search words that later turns and calls add to them."""
    vectors: dict[OwnerKind, list[list[str]]] = field(
        default_factory=lambda: {kind: list[list[str]]() for kind in OwnerKind}
    )

    def add_vector(self, embedding: Embedding) -> None:
        """Add the vector of something that exists."""
        self.vectors[embedding.owner.kind].append(
            [
                embedding.owner.id,
                storable(embedding.model),
                embedding.text_hash,
                # 32-bit numbers read back the same from the shortest text of their 64-bit values.
                ",".join(map(repr, array("f", embedding.vector))),
            ]
        )

    def change(self, turn_id: str, changes: Props) -> None:
        """Set these of the turn, new or existing."""
        if new := self.nodes[Label.TURN].get(turn_id):
            new.update(changes)
        else:
            self.changes.setdefault(turn_id, {}).update(changes)


def _at(label: Label, name: str) -> str:
    """Return the Cypher for the value of this property in a row."""
    return f"row[{COLUMNS[label].index(name)}]"


def _value(label: Label, name: str) -> str:
    value = _at(label, name)
    if name not in TIMES:
        return value
    return f"CASE WHEN {value} IS NULL THEN NULL ELSE datetime({{epochMillis: {value}}}) END"


def _part(label: Label, *, owner: str, draw: str) -> str:
    values = ", ".join(f"{name}: {_value(label, name)}" for name in COLUMNS[label])
    return f"""
CALL () {{
  UNWIND $rows.{label} AS row
  MATCH ({owner})
  MERGE (n:{label} {{id: {_at(label, "id")}}})
  ON CREATE SET n += {{{values}}}
  {draw}
}}
"""


_PARENT = _at(Label.TURN, "parentId")


def _of_turn(label: Label) -> str:
    return f"t:{Label.TURN} {{id: {_at(label, 'turnId')}}}"


_NODES = "".join(
    (
        _part(
            Label.TURN,
            owner=f"s:{Label.SESSION} {{sessionId: {_at(Label.TURN, 'sessionId')}}}",
            draw=f"""SET s.carriedAt = datetime.realtime()
  MERGE (s)-[:HAS_TURN]->(n)
  {DRAW_PERSON}
  WITH n, row WHERE {_PARENT} IS NOT NULL
  MATCH (p:{Label.TURN} {{id: {_PARENT}}})
  MERGE (p)-[:NEXT]->(n)""",
        ),
        _part(
            Label.STEP,
            owner=_of_turn(Label.STEP),
            # If its session was deleted here, its cost was kept; now the step itself has it.
            draw=f"""MERGE (n)-[:PART_OF]->(t)
  WITH n
  MATCH (u:{Label.USAGE} {{id: n.id}})
  DETACH DELETE u""",
        ),
        _part(
            Label.CALL,
            owner=_of_turn(Label.CALL),
            draw="MERGE (t)-[:HAS_TOOL_CALL]->(n)\n  MERGE (n)-[:PART_OF]->(t)",
        ),
    )
)

_CHANGES = f"""
CALL () {{
  UNWIND $rows.changes AS row
  MATCH (n:{Label.TURN} {{id: row.id}})
  SET n += row.set
}}
"""

# One a label, because a parameter cannot name a label.
_VECTORS = "".join(
    f"""
CALL () {{
  UNWIND $rows.{kind} AS row
  MATCH (n:{LABELS[kind]} {{id: row[0]}})
  WITH n, row, [each IN split(row[3], ',') | toFloat(each)] AS vector
  SET n.embeddingModel = row[1], n.embeddingHash = row[2], n.embeddingStale = null,
    n.embeddingDimensions = size(vector)
  WITH n, vector
  CALL db.create.setNodeVectorProperty(n, 'embedding', vector)
}}
"""
    for kind in OwnerKind
)

# Another database may answer at the address by now. The node of the database is written last: a writer that
# moves a head waits for it. Which turns are abandoned must be computed after this, see `abandonment.py`.
_QUERY = f"""{PLAN_ONCE}
MATCH (d:{Label.DATABASE}) WHERE d.id = $database
WITH d
{{parts}}
WITH d
SET d.leftStale = $mark
RETURN d.id AS id
"""
NODES = _QUERY.format(parts=_NODES + _CHANGES)
VECTORS = _QUERY.format(parts=_VECTORS)


async def write_nodes(graph: Writer, new: New, *, database: str, deadline_s: float) -> None:
    """Write nodes and changes to the database of this id. Raises StoreError."""
    rows: dict[str, Any] = {
        label: [_listed(label, props) for props in nodes.values()] for label, nodes in new.nodes.items()
    }
    rows["changes"] = [{"id": turn_id, "set": changes} for turn_id, changes in new.changes.items()]
    await _write(graph, NODES, rows, database, deadline_s)


async def write_vectors(graph: Writer, new: New, *, database: str, deadline_s: float) -> None:
    """Write the vectors to the database of this id. Raises StoreError."""
    rows: dict[str, Any] = {str(kind): vectors for kind, vectors in new.vectors.items()}
    await _write(graph, VECTORS, rows, database, deadline_s)


async def _write(
    graph: Writer, query: str, rows: Mapping[str, list[Any]], database: str, deadline_s: float
) -> None:
    if not any(rows.values()):
        return
    found = await graph.write(query, deadline_s=deadline_s, rows=rows, database=database, mark=new_id())
    if not found:
        raise StoreUnavailable(OTHER_DATABASE)


def _listed(label: Label, props: Props) -> list[Any]:
    return [_sent(props[name]) for name in COLUMNS[label]]


def _sent(value: Any) -> Any:
    return (value - _EPOCH) // _MS if type(value) is datetime else value
