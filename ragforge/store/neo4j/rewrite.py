"""Change the texts of stored records in the graph, to remove or restore what the user said.

The rows of this machine's outbox change first, so that no older text is carried to the graph afterwards. In
the graph all of it is one transaction.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from ragforge.domain import timeouts
from ragforge.domain.derivations import DERIVED, Derived, as_kept
from ragforge.domain.memories import Association, Memory
from ragforge.domain.summaries import SUMMARY, Summary
from ragforge.domain.turns import SESSION, STEP, TOOL_CALL, TURN, ConversationSession, Step, ToolCall, Turn
from ragforge.domain.versions import VERSION, Version
from ragforge.store.archive_items import key_of
from ragforge.store.base import Record
from ragforge.store.json_text import from_json
from ragforge.store.neo4j.carry import InTransaction, carry, whole_rows
from ragforge.store.neo4j.connection import Transaction
from ragforge.store.neo4j.derivation_rows import derived_row, readable
from ragforge.store.neo4j.index_rows import (
    CALLS_MAX,
    call_props,
    memory_props,
    outdate_vector,
    summary_props,
    turn_index,
    version_props,
)
from ragforge.store.neo4j.memory_rows import association_row, memory_row
from ragforge.store.neo4j.memory_state import CHANGED
from ragforge.store.neo4j.nodes import Nodes, identifier
from ragforge.store.neo4j.outbox import ASSOCIATION, OutboxRow, Rows
from ragforge.store.neo4j.rows import Label, Props, call_row, session_row, step_row, summary_row, turn_row
from ragforge.store.neo4j.version_rows import version_row

BATCH = 500

DESCRIBED = {
    Label.SESSION: SESSION,
    Label.TURN: TURN,
    Label.STEP: STEP,
    Label.CALL: TOOL_CALL,
    Label.SUMMARY: SUMMARY,
    Label.VERSION: VERSION,
    Label.DERIVED: DERIVED,
}
PARTS = {"user": ("userMessage", "userParts", "charCount"), "text": ("summary", "charCount")}
"""The properties of a text that consists of several, or that others are derived from."""

# A turn is found by what was said around it too, and embedded together with its summary.
AROUND = f"""
MATCH (c:{Label.TURN}) WHERE c.id IN $turns
CALL (c) {{
  RETURN c AS t
  UNION MATCH (t:{Label.TURN})-[:NEXT]->(c) RETURN t
  UNION MATCH (c)-[:NEXT*1..2]->(t:{Label.TURN}) RETURN t
}}
WITH DISTINCT t
OPTIONAL MATCH (up:{Label.TURN} {{id: t.parentId}})
OPTIONAL MATCH (upper:{Label.TURN} {{id: up.parentId}})
OPTIONAL MATCH (child:{Label.TURN} {{id: t.nearChild}})
RETURN t {{.id, .userMessage, .userParts, .assistantMessage, .timestamp}} AS turn,
  [each IN [up, upper, child] WHERE each IS NOT NULL | each {{.id, .userMessage}}] AS near,
  COLLECT {{
    MATCH (t)-[:HAS_TOOL_CALL]->(call:{Label.CALL})
    RETURN call {{.id, .toolName, .toolArgs}} LIMIT {CALLS_MAX}
  }} AS calls
"""
SET_TEXTS = "UNWIND $rows AS row MATCH (n:{label} {{{key}: row.id}}) SET n += row.set"
SET_DERIVED = "UNWIND $rows AS row MATCH (n:{label} {{{key}: row.id}}) SET n = row.set"
DROP_VECTORS = f"""
MATCH (n:{Label.TURN}|{Label.SUMMARY}) WHERE n.id IN $ids
CALL (n) {{
  RETURN n AS old
  UNION MATCH (n)-[:SUMMARIZES]->(old:{Label.TURN}) RETURN old
}}
WITH DISTINCT old
SET old.embeddingStale = true
REMOVE old.embedding, old.embeddingModel, old.embeddingHash, old.embeddingDimensions
"""
REMOVE_MEMORIES = f"MATCH (n:{Label.MEMORY}) WHERE n.id IN $ids DETACH DELETE n"


class _Texts(Struct):
    """What is to be set, by label and id; whole rows of what is stored again."""

    changes: dict[tuple[Label, str], Props] = field(default_factory=dict[tuple[Label, str], Props])
    memories: list[OutboxRow] = field(default_factory=list[OutboxRow])
    turns: set[str] = field(default_factory=set[str])
    """Turns whose search words change."""

    def of(self, label: Label) -> dict[str, Props]:
        """Return the changes of one label, by id."""
        return {id: props for (each, id), props in self.changes.items() if each is label}


async def rewrite_records(nodes: Nodes, records: Sequence[Record], without: Sequence[str]) -> None:
    """Remove the memories with the ids in `without`, and then replace the texts of stored records.

    Raises StoreUnavailable if the server is unreachable.
    """
    await nodes.arrive(vectors=True)
    await nodes.settle_abandoned()
    texts = _texts_of(records)
    around = await nodes.graph.read(AROUND, deadline_s=timeouts.NEO4J_RUN_S_MAX, turns=sorted(texts.turns))
    _index(texts, around)
    await nodes.outbox.write(lambda rows: _change_here(rows, texts))

    async def work(transaction: Transaction) -> None:
        for label in DESCRIBED:
            query = SET_DERIVED if label is Label.DERIVED else SET_TEXTS
            changes = [{"id": id, "set": _as_node(label, props)} for id, props in texts.of(label).items()]
            for start in range(0, len(changes), BATCH):
                rows = changes[start : start + BATCH]
                await transaction.run(query.format(label=label, key=identifier(label)), rows=rows)
        await transaction.run(DROP_VECTORS, ids=[*texts.turns, *texts.of(Label.SUMMARY)])
        await transaction.run(REMOVE_MEMORIES, ids=list(without))
        if texts.memories:
            await carry(
                InTransaction(transaction),
                texts.memories,
                batch=0,
                deadline_s=timeouts.NEO4J_LOAD_S_MAX,
                database=nodes.outbox.database_id,
            )
        await transaction.run(CHANGED)

    await nodes.graph.transaction(work, deadline_s=timeouts.NEO4J_LOAD_S_MAX)
    await nodes.outbox.write(lambda rows: _forget_here(rows, texts, without))
    await nodes.outbox.compact()


def _texts_of(records: Sequence[Record]) -> _Texts:
    texts = _Texts()
    for record in records:
        match record:
            case ConversationSession():
                _change(texts, Label.SESSION, session_row(record), record.id)
            case Turn():
                _change(texts, Label.TURN, turn_row(record, project_id=""), record.id)
                texts.turns.add(record.id)
            case Step():
                _change(texts, Label.STEP, step_row(record, session_id=""))
            case ToolCall():
                row = call_row(record, session_id="", project_id="")
                _change(texts, Label.CALL, row | _found_by(call_props(row)))
                texts.turns.add(record.turn_id)
            case Summary():
                row = summary_row(record)
                _change(texts, Label.SUMMARY, row | _found_by(summary_props(row)))
            case Version():
                row = version_row(record)
                _change(texts, Label.VERSION, row | _found_by(version_props(row)))
            case Derived():
                texts.changes[Label.DERIVED, record.id] = derived_row(as_kept(record))
            case Memory():
                row = memory_row(record)
                texts.memories += whole_rows(
                    [(Label.MEMORY, row | memory_props(row) | {"embeddingStale": True})]
                )
            case Association():
                row = association_row(record)
                texts.memories.append(OutboxRow(ASSOCIATION, key_of(record), row, dirty=frozenset(row)))
            case _:
                pass  # no other one contains what somebody said
    return texts


def _change(texts: _Texts, label: Label, row: Props, id: str = "") -> None:
    """Add the changes of the node: the texts of its description, and its search words."""
    described = DESCRIBED[label]
    names = {part for each in described.texts for part in PARTS.get(each, (described.property_name(each),))}
    texts.changes[label, id or row["id"]] = {
        name: value for name, value in row.items() if name in names or name.startswith("search")
    }


def _found_by(props: Props) -> Props:
    return {name: value for name, value in props.items() if name != "searchScope"}


def _index(texts: _Texts, around: Sequence[Mapping[str, Any]]) -> None:
    """Add the new search words of turns; around: those that change, and those beside them."""
    turns, calls = texts.of(Label.TURN), texts.of(Label.CALL)
    for found in around:
        turn = found["turn"] | turns.get(found["turn"]["id"], {})
        near = [(each | turns.get(each["id"], {}))["userMessage"] for each in found["near"]]
        ran = [each | calls.get(each["id"], {}) for each in found["calls"]]
        words = _found_by(turn_index(turn, near=near, calls=ran))
        texts.changes.setdefault((Label.TURN, turn["id"]), {}).update(words)


def _change_here(rows: Rows, texts: _Texts) -> None:
    for (label, id), changes in texts.changes.items():
        rows.reword(label, id, changes)
        if label in (Label.TURN, Label.SUMMARY):
            outdate_vector(rows, "turn" if label is Label.TURN else "summary", id)


def _forget_here(rows: Rows, texts: _Texts, without: Sequence[str]) -> None:
    """Remove memories and links from here that were removed, or are stored again."""
    rows.forget(Label.MEMORY, [*without, *(each.id for each in texts.memories)])
    ends = frozenset(without)
    links = [each for each in rows.of_label(ASSOCIATION) if not ends.isdisjoint(_ends(each))]
    rows.forget(ASSOCIATION, [*(each.id for each in links), *(each.id for each in texts.memories)])


def _as_node(label: Label, changes: Props) -> Props:
    return readable(from_json(changes["data"])) | changes if label is Label.DERIVED else changes


def _ends(link: OutboxRow) -> tuple[str, str]:
    return link.props["from"], link.props["to"]
