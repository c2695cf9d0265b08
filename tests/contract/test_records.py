"""Every field of every record, by its description, through all that a record goes through."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace

from ragforge.domain.derivations import DERIVED, DerivedOwner
from ragforge.domain.memories import ASSOCIATION, MEMORY, MemoryScope, memory_id
from ragforge.domain.records import RecordKind
from ragforge.domain.summaries import SUMMARY
from ragforge.domain.turns import PROJECT, SESSION, STEP, TOOL_CALL, TURN
from ragforge.domain.usage import SPENT
from ragforge.domain.vectors import EMBEDDING, Owner, OwnerKind
from ragforge.domain.versions import BRANCH, MOVE, VERSION
from ragforge.store.archive_items import kind_of
from ragforge.store.archive_lines import from_plain, to_line
from ragforge.store.base import Store
from tests.contract.builders import DIMENSIONS, a_vector
from tests.contract.builders_archive import MODEL, dumped
from tests.records import filled


def one_of_each() -> dict[str, Any]:
    """Records that belong to each other, with something in each field."""
    project = filled(PROJECT)
    session = filled(SESSION, project_id=project.id, head="the turn")
    began = datetime(2026, 1, 2, tzinfo=UTC)
    turn = filled(TURN, id="the turn", session_id=session.id, parent=None, index=0, started_at=began)
    step = filled(STEP, turn_id=turn.id)
    place: dict[str, Any] = {
        "scope": MemoryScope.GLOBAL,
        "project_id": project.id,
        "session_id": session.id,
        "content": "Hay is fed by hand.",
    }
    memory = filled(MEMORY, **place, id=memory_id(**place), turns=(turn.id,))
    of_turn = {"owner_kind": DerivedOwner.TURN, "owner": turn.id, "kind": "Yak", "relation": "OF"}
    version = filled(VERSION, project_id=project.id, parents=(), session_id=session.id, turn_id=turn.id)
    records = (
        *(project, session, turn, step),
        filled(TOOL_CALL, turn_id=turn.id, step_index=step.index),
        filled(SUMMARY, project_id=project.id, session_id=session.id, level=1, covers=(turn.id,)),
        memory,
        filled(ASSOCIATION, from_id=memory.id, to_id=memory.id, turn=turn.id),
        filled(DERIVED, project_id=project.id, **of_turn),
        filled(EMBEDDING, owner=Owner(OwnerKind.MEMORY, memory.id), model=MODEL, vector=a_vector(1, 2)),
        filled(SPENT),
        version,
        filled(BRANCH, project_id=project.id, version_id=version.id),
        filled(MOVE, project_id=project.id, session_id=session.id),
    )
    return {kind_of(record): record for record in records}


async def save(store: Store, records: dict[str, Any]) -> None:
    """Save each by the method of its noun."""
    await store.projects.add(records["project"])
    await store.sessions.add(replace(records["session"], head=None))
    await store.turns.start(records["turn"])
    await store.calls.add(records["tool_call"], records["step"])
    await store.usage.add(records["spent"])
    await store.summaries.save(records["summary"])
    await store.memories.save(records["memory"])
    await store.memories.associate([records["association"]])
    await store.derivations.save(records["derived"])
    await store.vectors.use(MODEL, DIMENSIONS)
    await store.vectors.save([records["embedding"]])
    await store.versions.add(records["version"])
    await store.versions.set_branch(records["branch"])
    await store.versions.add_move(records["move"])


async def read(store: Store, records: dict[str, Any]) -> dict[str, Any]:
    """The same by the methods of their nouns, but for what is only summed up."""
    project, session, turn = records["project"].id, records["session"].id, records["turn"].id
    memory = records["memory"].id
    return {
        "project": await store.projects.get(project),
        "session": await store.sessions.get(session),
        "turn": await store.turns.get(turn),
        "step": (await store.turns.steps([turn]))[0],
        "tool_call": (await store.calls.of_turns([turn]))[0],
        "summary": (await store.summaries.get([records["summary"].id]))[0],
        "memory": (await store.memories.get([memory]))[0],
        "association": (await store.memories.associations([memory]))[0],
        "derived": (await store.derivations.get([records["derived"].id]))[0],
        "embedding": (await store.vectors.get([records["embedding"].owner]))[0],
        "version": (await store.versions.get([records["version"].id]))[0],
        "branch": (await store.versions.branches(project))[0],
        "move": (await store.versions.moves(project))[0],
    }


@pytest.mark.emptied
async def test_every_field_of_every_record_is_kept(store: Store, source: Store) -> None:
    records = one_of_each()
    assert {*records} == {*RecordKind}
    await save(store, records)
    told = {kind: record for kind, record in records.items() if kind != "spent"}
    assert await read(store, records) == told
    stored = await dumped(store)
    assert {kind_of(record): record for record in stored} == records

    lines = [to_line(record) for record in stored]
    assert [from_plain(json.loads(line)) for line in lines] == stored
    assert await source.archive.load(stored) == len(records)
    assert await dumped(source) == stored
    assert await read(source, records) == told
    assert await store.archive.load(stored) == 0


async def test_nothing_is_looked_up_where_nothing_is_asked_for(store: Store) -> None:
    """The first message of a project asks so often; a server may be far away."""
    await store.close()
    assert await store.turns.read([]) == []
    assert await store.turns.abandoned([]) == set()
    assert await store.summaries.get([]) == []
    assert await store.summaries.covering([]) == {}
    assert await store.memories.get([]) == []
    assert await store.memories.of_turns([]) == []
    assert await store.search.related([]) == []
    assert await store.search.hits([], "apples") == []
