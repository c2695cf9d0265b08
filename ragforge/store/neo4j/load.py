"""Load records into the graph in bulk: existing ones stay unless the record is newer.

Several batches may be in progress: while one is written, the next is requested and prepared, on the basis of
the first. They are written one after another, in the order in which they came.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct, field

from ragforge.domain import timeouts
from ragforge.domain.derivations import Derived, DerivedOwner, as_kept
from ragforge.domain.errors import Conflict
from ragforge.domain.memories import Association, Memory
from ragforge.domain.summaries import Summary, SummaryMethod
from ragforge.domain.turns import ConversationSession, Project, Step, ToolCall, Turn
from ragforge.domain.usage import Spent
from ragforge.domain.vectors import Embedding, check_vector
from ragforge.domain.versions import Branch, CheckoutLog, Version
from ragforge.store.archive_items import key_of
from ragforge.store.base import Record
from ragforge.store.json_text import storable
from ragforge.store.memory_rules import TOLD, check_memory, was_forgotten_since
from ragforge.store.neo4j.carry import carry, new_row, whole_rows
from ragforge.store.neo4j.carry_versions import GONE, MACHINE
from ragforge.store.neo4j.connection import Graph
from ragforge.store.neo4j.derivation_rows import derived_row
from ragforge.store.neo4j.index_rows import (
    call_props,
    child_props,
    memory_props,
    summary_props,
    tools_props,
    turn_props,
    version_props,
)
from ragforge.store.neo4j.load_new import New, write_nodes, write_vectors
from ragforge.store.neo4j.load_there import THERE, There, named
from ragforge.store.neo4j.memory_rows import FORGOTTEN, association_row, memory_row, spent_row
from ragforge.store.neo4j.outbox import ASSOCIATION, Cargo, OutboxRow
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
from ragforge.store.neo4j.version_rows import branch_row, move_row, version_row
from ragforge.store.neo4j.versions import after_parents

BATCH = 1000
"""As many as a copy sends at once: its chunks are no larger than a server takes at once."""


class _Batch(Struct):
    """What is to be written: new records by the shortest way, all else as rows are carried."""

    there: There
    """Including what the batch adds."""
    rests_on: There | None
    """The batch that is being written before it, if any."""
    new: New = field(default_factory=New)
    rows: dict[tuple[str, str], OutboxRow] = field(default_factory=dict[tuple[str, str], OutboxRow])
    changed: int = 0
    """The number of records that are new or newer."""

    def add(self, rows: Sequence[OutboxRow]) -> bool:
        """Add the rows; return whether there are any."""
        self.rows |= {(row.label, row.id): row for row in rows}
        return bool(rows)


class Loader:
    """Writes records to the database of this id."""

    def __init__(self, graph: Graph, *, database: str, settle: Callable[[], Awaitable[None]]) -> None:
        """settle: waits until what was written before has arrived."""
        self._graph = graph
        self._database = database
        self._settle = settle
        self._making = asyncio.Lock()
        self._writing = asyncio.Lock()
        self._coming: There | None = None
        """The batch that is being written."""

    async def load(self, records: Sequence[Record]) -> int:
        """Store them; return how many were new or newer. May be called again before it has returned.

        Raises Conflict for what belongs to nothing, UsageError for a vector that cannot be compared.
        """
        for record in records:
            if isinstance(record, Embedding):
                check_vector(record.vector, of=f"{record.owner.kind} {record.owner.id}")
            elif isinstance(record, Memory):
                check_memory(record)
        changed = 0
        parts = [records[start : start + BATCH] for start in range(0, len(records), BATCH)]
        # Locks are granted in the order in which they are requested.
        async with self._making:
            await self._settle()
            batch = None
            for part in parts:
                if batch is not None:
                    changed += await self._written(batch)
                batch = await self._begun(part)
        return changed + await self._written(batch) if batch is not None else 0

    async def _begun(self, records: Sequence[Record]) -> _Batch:
        """Prepare a batch, and take the right to write it, so that no other is written meanwhile."""
        batch = await self._made_ready(records)
        await self._writing.acquire()
        try:
            if batch.rests_on is not None and not batch.rests_on.arrived:
                batch = await self._made_ready(records)
        except BaseException:
            self._writing.release()
            raise
        self._coming = batch.there
        return batch

    async def _written(self, batch: _Batch) -> int:
        """Write the batch; return how many records were new or newer."""
        try:
            await self._write(batch)
            batch.there.arrived = True
        finally:
            self._coming = None
            self._writing.release()
        return batch.changed

    async def _made_ready(self, records: Sequence[Record]) -> _Batch:
        # First the batch in progress, then the graph: what arrives in between is in both.
        coming = self._coming
        (answer,) = await self._graph.read(THERE, deadline_s=timeouts.NEO4J_LOAD_S_MAX, ids=named(records))
        # Words are stemmed, which takes long enough to delay somebody who types meanwhile.
        return await asyncio.to_thread(_made_ready, records, There(answer), coming)

    async def _write(self, batch: _Batch) -> None:
        graph, database = self._graph, self._database
        for cargo in Cargo:
            if rows := [row for row in batch.rows.values() if row.cargo is cargo]:
                await carry(
                    graph, rows, batch=0, deadline_s=timeouts.NEO4J_LOAD_S_MAX, database=database, marks=False
                )
            if cargo is Cargo.CONVERSATION:
                await write_nodes(graph, batch.new, database=database, deadline_s=timeouts.NEO4J_LOAD_S_MAX)
        await write_vectors(graph, batch.new, database=database, deadline_s=timeouts.NEO4J_LOAD_S_MAX)


def _made_ready(records: Sequence[Record], there: There, coming: There | None) -> _Batch:
    if coming is not None:
        there.add(coming)
    batch = _Batch(there, coming)
    for record in records:
        batch.changed += _add(record, there, batch)
    return batch


def _add(record: Record, there: There, batch: _Batch) -> bool:
    """Add the record to the batch; return False if the graph has it, or a newer one."""
    match record:
        case Project():
            return batch.add(_if_new(Label.PROJECT, project_row(record), there.projects))
        case ConversationSession():
            return batch.add(_session_rows(record, there))
        case Turn():
            return _add_turn(record, there, batch)
        case Step():
            return _add_step(record, there, batch.new)
        case ToolCall():
            return _add_call(record, there, batch.new)
        case Summary():
            return batch.add(_summary_rows(record, there))
        case Memory():
            return batch.add(_memory_rows(record, there))
        case Association():
            return batch.add(_association_rows(record, there))
        case Derived():
            return batch.add(_derived_rows(record, there))
        case Embedding():
            return _add_vector(record, there, batch.new)
        case Spent():
            if record.id in there.steps:  # left from a session that was deleted there, and exists here
                return False
            return batch.add(_if_new(Label.USAGE, spent_row(record), there.spent))
        case Version():
            _check_version(record, there)
            return batch.add(_joined_versions(batch, _version_rows(record, there)))
        case Branch():
            return batch.add(_branch_rows(record, there))
        case CheckoutLog():
            there.need_project(record.project_id, "a move")
            return batch.add(_if_new(Label.MOVE, move_row(record), there.moves))


def _if_new(label: Label, props: Props, known: set[str]) -> list[OutboxRow]:
    """Return its row, if the id is new."""
    if props["id"] in known:
        return []
    known.add(props["id"])
    return [new_row(label, props)]


def _session_rows(session: ConversationSession, there: There) -> list[OutboxRow]:
    there.need_project(session.project_id, "a session")
    props = session_row(session)
    known = there.sessions.get(session.id)
    is_changed = known and props["changedAt"] and (known[3] is None or known[3] < props["changedAt"])
    if known and known[1] >= props["lastActivity"] and not is_changed:
        return []
    there.sessions[session.id] = [
        session.id,
        max(known[1], props["lastActivity"]) if known else props["lastActivity"],
        session.project_id,
        props["changedAt"],
    ]
    if known and known[1] >= props["lastActivity"]:
        changed = frozenset({"title", "archivedAt", "changedAt"})
        return [OutboxRow(Label.SESSION, session.id, props, dirty=changed)]
    return whole_rows([(Label.SESSION, props)])


def _add_turn(turn: Turn, there: There, batch: _Batch) -> bool:
    props = turn_row(turn, project_id=there.project_of(turn.session_id))
    parent = there.turn(turn.parent) if turn.parent else None
    index = parent["turnIndex"] + 1 if parent else 0
    if turn.index != index:
        raise Conflict(f"Turn {turn.id} says index {turn.index}, but its parent makes it {index}.")
    known = there.turns.get(turn.id)
    if known and (props["endTime"] is None or (known["endTime"] and known["endTime"] >= props["endTime"])):
        return False
    near = [words for words in (parent["userMessage"], parent["parentWords"]) if words] if parent else []
    props |= turn_props(props, near=near)
    if known:
        # It has the search words of its child and its calls already.
        props = {name: value for name, value in props.items() if name not in ("searchNear", "searchTools")}
        batch.add(whole_rows([(Label.TURN, props | {"embeddingStale": True})]))
    else:
        props["nearChild"] = None
        batch.new.nodes[Label.TURN][turn.id] = props
        there.turns[turn.id] = props | {
            "parentWords": parent["userMessage"] if parent else None,
            "vector": [None, None],
        }
    if parent and (found := child_props(parent, props)):
        parent.update(found)
        batch.new.change(parent["id"], found)
    return True


def _add_step(step: Step, there: There, new: New) -> bool:
    turn = there.turn(step.turn_id)
    key = step_key(step.turn_id, step.index)
    if key in there.steps:
        return False
    there.steps.add(key)
    new.nodes[Label.STEP][key] = step_row(step, session_id=turn["sessionId"])
    return True


def _summary_rows(summary: Summary, there: There) -> list[OutboxRow]:
    there.project_of(summary.session_id)
    known = there.summaries.get(summary.id)
    if known and (known[3] != SummaryMethod.EXTRACTIVE or summary.method is SummaryMethod.EXTRACTIVE):
        return []
    there.summaries[summary.id] = [summary.id, None, None, str(summary.method)]
    props = summary_row(summary)
    derived = summary_props(props) | {"embeddingStale": True, "outdated": None}
    return whole_rows([(Label.SUMMARY, props | derived)])


def _add_call(call: ToolCall, there: There, new: New) -> bool:
    turn = there.turn(call.turn_id)
    if call.id in there.calls:
        return False
    if step_key(call.turn_id, call.step_index) not in there.steps:
        raise Conflict(
            f"The step {call.step_index} of turn {call.turn_id} is not in the store, "
            "but a call of it should be loaded."
        )
    there.calls.add(call.id)
    props = call_row(call, session_id=turn["sessionId"], project_id=turn["projectId"])
    new.nodes[Label.CALL][call.id] = props | call_props(props)
    if found := tools_props(turn, props):
        turn.update(found)
        new.change(turn["id"], found)
    return True


def _memory_rows(memory: Memory, there: There) -> list[OutboxRow]:
    there.need_project(memory.project_id, "a memory")
    props = memory_row(memory)
    known = there.memories.get(memory.id)
    if known and known["updated"] >= props["updated"]:
        return _forgotten_rows(memory, props, known)
    if known and any(known[name] != props[name] for name in TOLD):
        props["embeddingStale"] = True
    there.memories[memory.id] = props | {"vector": known["vector"] if known else [None, None]}
    return whole_rows([(Label.MEMORY, props | memory_props(props))])


def _forgotten_rows(memory: Memory, props: Props, known: Props) -> list[OutboxRow]:
    """Return the change for an existing memory that was forgotten here since it was saved."""
    if known.get(FORGOTTEN) or not was_forgotten_since(memory):
        return []
    known[FORGOTTEN] = props[FORGOTTEN]
    return [OutboxRow(Label.MEMORY, memory.id, props, dirty=frozenset({FORGOTTEN}))]


def _check_version(version: Version, there: There) -> None:
    """Raise Conflict if the project, session or turn that it names is not stored."""
    there.need_project(version.project_id, "a version")
    if version.session_id:
        there.project_of(version.session_id)
    if version.turn_id:
        there.turn(version.turn_id)


def _version_rows(version: Version, there: There) -> list[OutboxRow]:
    """Return the rows to write for it. Raises Conflict if a parent is not stored or another project's."""
    if version.id in there.versions:
        return _origin_rows(version, there.versions[version.id])
    parents: list[Props] = []
    for parent in version.parents:
        found = there.versions.get(parent)
        if found is None:
            raise Conflict(f"Version {version.id} is a child of {parent}, which is not in the store.")
        if found["projectId"] != version.project_id:
            raise Conflict(f"Version {version.id} is a child of {parent}, which belongs to another project.")
        parents.append(found)
    props = version_row(after_parents(version, parents))
    there.versions[version.id] = props
    return [new_row(Label.VERSION, props | version_props(props))]


def _branch_rows(branch: Branch, there: There) -> list[OutboxRow]:
    """Return the rows to write for it. Raises Conflict if its version is not one of the project's."""
    version = there.versions.get(branch.version_id)
    if version is None or version["projectId"] != branch.project_id:
        raise Conflict(
            f"Branch {branch.name} cannot point to version {branch.version_id}: "
            f"project {branch.project_id} has no version with that id."
        )
    props = branch_row(branch)
    known = there.branches.get(props["id"])
    if known is not None and known >= props["timestamp"]:
        return []
    there.branches[props["id"]] = props["timestamp"]
    return whole_rows([(Label.BRANCH, props | {GONE: False, MACHINE: ""})])


def _origin_rows(version: Version, known: Props) -> list[OutboxRow]:
    """Return session, turn and title for a version whose session was deleted here and has come back."""
    if known.get("sessionId") or known.get("turnId") or not version.session_id:
        return []
    row = version_row(version) | {"timestamp": known["timestamp"]}
    names = ("sessionId", "turnId", "title")
    known |= {name: row[name] for name in names}
    changes = {name: row[name] for name in names} | _found_by(row)
    return [OutboxRow(Label.VERSION, version.id, row | changes, dirty=frozenset(changes))]


def _found_by(row: Props) -> Props:
    """Return the changed search words; its label and note here may differ."""
    return {name: value for name, value in version_props(row).items() if name != "searchUser"}


def _association_rows(association: Association, there: There) -> list[OutboxRow]:
    for end in (association.from_id, association.to_id):
        if end not in there.memories:
            raise Conflict(f"The memory {end} is not in the store, but a link of it should be loaded.")
    key = key_of(association)
    if key in there.links:
        return []
    there.links.add(key)
    props = association_row(association)
    return [OutboxRow(ASSOCIATION, key, props, dirty=frozenset(props))]


def _derived_rows(record: Derived, there: There) -> list[OutboxRow]:
    match record.owner_kind:
        case DerivedOwner.PROJECT:
            there.need_project(record.owner, "a derived record")
        case DerivedOwner.SESSION:
            there.project_of(record.owner)
        case DerivedOwner.TURN:
            there.turn(record.owner)
    props = derived_row(as_kept(record))
    known = there.derived.get(props["id"])
    if known is not None and known >= props["timestamp"]:
        return []
    there.derived[props["id"]] = props["timestamp"]
    return whole_rows([(Label.DERIVED, props)])


def _add_vector(embedding: Embedding, there: There, new: New) -> bool:
    known = there.vector(embedding.owner)
    if known is None or list(known) == [storable(embedding.model), embedding.text_hash]:
        return False
    new.add_vector(embedding)
    return True


def _joined_versions(batch: _Batch, rows: Sequence[OutboxRow]) -> list[OutboxRow]:
    """Return the rows, each merged with the batch's earlier row for the same version."""
    return [_joined(batch.rows.get((row.label, row.id)), row) for row in rows]


def _joined(before: OutboxRow | None, after: OutboxRow) -> OutboxRow:
    if before is None:
        return after
    return OutboxRow(
        before.label,
        before.id,
        before.props | after.props,
        fresh=before.fresh or after.fresh,
        dirty=before.dirty | after.dirty,
    )
