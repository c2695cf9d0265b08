"""Records into the graph, many at once: what is there already stays unless the record is newer."""

from array import array
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from ragforge.domain.errors import Conflict
from ragforge.domain.summaries import Summary, SummaryMethod
from ragforge.domain.turns import ConversationSession, Project, Step, ToolCall, Turn
from ragforge.domain.vectors import Embedding, check_vector
from ragforge.store.base import Record
from ragforge.store.json_text import storable
from ragforge.store.neo4j.carry import carry, whole_rows
from ragforge.store.neo4j.connection import Graph
from ragforge.store.neo4j.index_rows import (
    call_props,
    child_props,
    summary_props,
    tools_props,
    turn_props,
)
from ragforge.store.neo4j.outbox import EMBEDDING, Row
from ragforge.store.neo4j.rows import (
    Label,
    Props,
    call_row,
    project_row,
    session_row,
    step_key,
    step_row,
    summary_row,
    turn_row,
)

LOAD_DEADLINE_S = 30.0
"""A batch of a copy is no step of a turn; nobody waits for it."""

BATCH = 1000
"""As many as a copy sends at once: its chunks are no larger than a server takes at once."""

# What is there of the things named, with what tells which is newer, and of turns what their rows need. A list
# a subquery: to group what follows by a long list would cost its length for every row. All is found by unique
# ids: planning anew while the graph grows takes longer than the reading.
THERE = f"""
CYPHER replan=skip
RETURN
  COLLECT {{ MATCH (n:{Label.PROJECT}) WHERE n.id IN $projects RETURN n.id }} AS projects,
  COLLECT {{
    MATCH (n:{Label.SESSION}) WHERE n.sessionId IN $sessions
    RETURN [n.sessionId, n.lastActivity, n.projectId]
  }} AS sessions,
  COLLECT {{
    MATCH (n:{Label.TURN}) WHERE n.id IN $turns
    OPTIONAL MATCH (up:{Label.TURN} {{id: CASE WHEN $words THEN n.parentId END}})
    RETURN n {{.id, .turnIndex, .endTime, .sessionId, .projectId, .searchTools, .nearChild,
      searchNear: CASE WHEN $words THEN n.searchNear END,
      userMessage: CASE WHEN $words THEN left(n.userMessage, 1000) END,
      parentWords: left(up.userMessage, 1000),
      vector: [n.embeddingModel, n.embeddingHash]}}
  }} AS turns,
  COLLECT {{ MATCH (n:{Label.STEP}) WHERE n.id IN $steps RETURN n.id }} AS steps,
  COLLECT {{ MATCH (n:{Label.CALL}) WHERE n.id IN $calls RETURN n.id }} AS calls,
  COLLECT {{
    MATCH (n:{Label.SUMMARY}) WHERE n.id IN $summaries
    RETURN [n.id, n.embeddingModel, n.embeddingHash, n.method]
  }} AS summaries
"""


class _There:
    """What the graph has of the things that a batch names."""

    def __init__(self, answer: Mapping[str, Any]) -> None:
        self.projects = set[str](answer["projects"])
        self.sessions: dict[str, Any] = {found[0]: found for found in answer["sessions"]}
        self.turns: dict[str, Props] = {found["id"]: found for found in answer["turns"]}
        self.steps = set[str](answer["steps"])
        self.calls = set[str](answer["calls"])
        self.summaries: dict[str, Any] = {found[0]: found for found in answer["summaries"]}

    def project_of(self, session_id: str) -> str:
        """The session's project. Raises Conflict where there is no such session."""
        if session_id not in self.sessions:
            raise Conflict(f"The session {session_id} is not in the store, but turns of it are to be loaded.")
        return self.sessions[session_id][2]

    def turn(self, turn_id: str) -> Props:
        """The turn. Raises Conflict where there is none."""
        if turn_id not in self.turns:
            raise Conflict(f"The turn {turn_id} is not in the store, but something of it is to be loaded.")
        return self.turns[turn_id]


async def load_records(graph: Graph, records: Sequence[Record]) -> int:
    """Keep them; how many were new or newer.

    Raises Conflict for what belongs to nothing, UsageError for a vector that cannot be compared.
    """
    for record in records:
        if isinstance(record, Embedding):
            check_vector(record.vector, of=f"{record.owner.kind} {record.owner.id}")
    changed = 0
    for start in range(0, len(records), BATCH):
        changed += await _load(graph, records[start : start + BATCH])
    return changed


async def _load(graph: Graph, records: Sequence[Record]) -> int:
    (answer,) = await graph.read(THERE, deadline_s=LOAD_DEADLINE_S, **_named(records))
    there = _There(answer)
    rows: dict[tuple[str, str], Row] = {}
    changed = 0
    for record in records:
        found = _rows(record, there)
        changed += bool(found)
        for row in found:
            before = rows.get((row.label, row.id))
            rows[row.label, row.id] = _joined(before, row) if before else row
    for vectors in (False, True):
        if part := [row for row in rows.values() if (row.label == EMBEDDING) == vectors]:
            await carry(graph, part, batch=0, deadline_s=LOAD_DEADLINE_S)
    return changed


def _named(records: Sequence[Record]) -> dict[str, Any]:
    """The ids of all that the records are or belong to, by kind. words: whether what was said is needed."""
    ids: dict[str, set[str]] = {
        name: set() for name in ("projects", "sessions", "turns", "steps", "calls", "summaries")
    }
    for record in records:
        match record:
            case Project():
                ids["projects"].add(record.id)
            case ConversationSession():
                ids["projects"].add(record.project_id)
                ids["sessions"].add(record.id)
            case Turn():
                ids["sessions"].add(record.session_id)
                ids["turns"].update(each for each in (record.id, record.parent) if each)
            case Step():
                ids["steps"].add(step_key(record.turn_id, record.index))
                ids["turns"].add(record.turn_id)
            case ToolCall():
                ids["calls"].add(record.id)
                ids["steps"].add(step_key(record.turn_id, record.step_index))
                ids["turns"].add(record.turn_id)
            case Summary():
                ids["sessions"].add(record.session_id)
                ids["summaries"].add(record.id)
            case Embedding():
                ids["turns" if record.owner.kind == "turn" else "summaries"].add(record.owner.id)
    words = any(isinstance(record, Turn) for record in records)
    return {name: sorted(found) for name, found in ids.items()} | {"words": words}


def _rows(record: Record, there: _There) -> list[Row]:
    """What is to be written of the record; nothing where the graph has it as new."""
    match record:
        case Project():
            if record.id in there.projects:
                return []
            there.projects.add(record.id)
            return whole_rows([(Label.PROJECT, project_row(record))])
        case ConversationSession():
            return _session_rows(record, there)
        case Turn():
            return _turn_rows(record, there)
        case Step():
            turn = there.turn(record.turn_id)
            if step_key(record.turn_id, record.index) in there.steps:
                return []
            there.steps.add(step_key(record.turn_id, record.index))
            return whole_rows([(Label.STEP, step_row(record, session_id=turn["sessionId"]))])
        case ToolCall():
            return _call_rows(record, there)
        case Summary():
            return _summary_rows(record, there)
        case Embedding():
            return _embedding_rows(record, there)


def _session_rows(session: ConversationSession, there: _There) -> list[Row]:
    if session.project_id not in there.projects:
        raise Conflict(
            f"The project {session.project_id} is not in the store, but a session of it is to be loaded."
        )
    props = session_row(session)
    known = there.sessions.get(session.id)
    if known and known[1] >= props["lastActivity"]:
        return []
    there.sessions[session.id] = [session.id, props["lastActivity"], session.project_id]
    return whole_rows([(Label.SESSION, props)])


def _turn_rows(turn: Turn, there: _There) -> list[Row]:
    props = turn_row(turn, project_id=there.project_of(turn.session_id))
    parent = there.turn(turn.parent) if turn.parent else None
    index = parent["turnIndex"] + 1 if parent else 0
    if turn.index != index:
        raise Conflict(f"Turn {turn.id} says index {turn.index}, but its parent makes it {index}.")
    known = there.turns.get(turn.id)
    if known and (props["endTime"] is None or (known["endTime"] and known["endTime"] >= props["endTime"])):
        return []
    near = [words for words in (parent["userMessage"], parent["parentWords"]) if words] if parent else []
    props |= turn_props(props, near=near)
    if known:
        # What it is found by of its child and its calls is there already.
        props = {name: value for name, value in props.items() if name not in ("searchNear", "searchTools")}
        props["embeddingStale"] = True
    else:
        there.turns[turn.id] = props | {
            "nearChild": None,
            "parentWords": parent["userMessage"] if parent else None,
            "vector": [None, None],
        }
    rows = whole_rows([(Label.TURN, props)])
    if parent and (found := child_props(parent, props)):
        parent.update(found)
        rows.append(_changes(parent, found))
    return rows


def _summary_rows(summary: Summary, there: _There) -> list[Row]:
    there.project_of(summary.session_id)
    known = there.summaries.get(summary.id)
    if known and (known[3] != SummaryMethod.EXTRACTIVE or summary.method is SummaryMethod.EXTRACTIVE):
        return []
    there.summaries[summary.id] = [summary.id, None, None, str(summary.method)]
    props = summary_row(summary)
    return whole_rows([(Label.SUMMARY, props | summary_props(props) | {"embeddingStale": True})])


def _call_rows(call: ToolCall, there: _There) -> list[Row]:
    turn = there.turn(call.turn_id)
    if call.id in there.calls:
        return []
    if step_key(call.turn_id, call.step_index) not in there.steps:
        raise Conflict(
            f"The step {call.step_index} of turn {call.turn_id} is not in the store, "
            "but a call of it is to be loaded."
        )
    there.calls.add(call.id)
    props = call_row(call, session_id=turn["sessionId"], project_id=turn["projectId"])
    rows = whole_rows([(Label.CALL, props | call_props(props))])
    if found := tools_props(turn, props):
        turn.update(found)
        rows.append(_changes(turn, found))
    return rows


def _embedding_rows(embedding: Embedding, there: _There) -> list[Row]:
    identifier = embedding.owner.id
    if embedding.owner.kind == "turn":
        known = there.turns[identifier]["vector"] if identifier in there.turns else None
    else:
        known = there.summaries[identifier][1:3] if identifier in there.summaries else None
    if known is None:
        return []
    if list(known) == [storable(embedding.model), embedding.text_hash]:
        return []
    props: Props = {
        "model": storable(embedding.model),
        "hash": embedding.text_hash,
        "vector": b64encode(array("f", embedding.vector).tobytes()).decode(),
        "stale": None,
    }
    return [Row(EMBEDDING, f"{embedding.owner.kind}/{identifier}", props, dirty=frozenset(props))]


def _changes(turn: Props, changes: Props) -> Row:
    props = {"id": turn["id"], "sessionId": turn["sessionId"], **changes}
    return Row(Label.TURN, turn["id"], props, dirty=frozenset(changes))


def _joined(before: Row, after: Row) -> Row:
    return Row(before.label, before.id, before.props | after.props, dirty=before.dirty | after.dirty)
