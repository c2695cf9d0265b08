from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from ragforge.domain.memories import MemoryScope, MemorySource, MemoryType
from ragforge.domain.search import INDEXED_KINDS, Candidate, HitKind, Query
from ragforge.domain.vectors import Nearby, OwnerKind
from ragforge.store.base import Store
from tests.contract.builders import (
    DIMENSIONS,
    NOON,
    a_call,
    a_memory,
    a_project,
    a_request,
    a_step,
    a_summary,
    a_turn,
    a_vector,
    an_association,
    an_embedding,
    an_end,
    conversation,
    new_session,
    owner_of,
    said,
)
from tests.contract.builders_versions import new_version

MODEL = "static:minilm-256-2"
LATER = NOON + timedelta(hours=1)


async def found(store: Store, text: str, **values: Any) -> set[str]:
    return {hit.id for hit in await store.search.words(Query(text, **values))}


async def near(store: Store, **values: Any) -> set[str]:
    return {each.owner.id for each in await store.vectors.nearest(Nearby(a_vector(1, 0), MODEL, **values))}


async def test_memory_is_found_by_its_words_topic_type_and_date(store: Store) -> None:
    session = await new_session(store, title="Animals")
    turns = await conversation(store, session, 2)
    memory = a_memory(
        session, "The zebras eat hay.", *turns, topic="feeding", type=MemoryType.DECISION, importance=0.8
    )
    await store.memories.save(memory)
    for text in ("zebra", "feeding", "decision", "wednesday march"):
        assert memory.id in await found(store, text, project_id=session.project_id)
    (hit,) = await store.search.words(Query("zebra", session.project_id))
    assert (hit.kind, hit.id, hit.at) == (HitKind.MEMORY, memory.id, memory.created_at)
    assert (hit.session_id, hit.session_title, hit.cwd) == (session.id, "Animals", session.cwd)
    assert (hit.turn_id, hit.turn_index) == (turns[1].id, 1), "the newest that it rests on"
    assert (hit.memory_type, hit.replaced, hit.abandoned) == ("decision", False, False)
    assert [hit.text[start:end] for start, end in hit.marks] == ["zebras"]


async def test_memory_that_rests_on_nothing_is_found_nowhere_in_particular(store: Store) -> None:
    project = a_project()
    await store.projects.add(project)
    memory = a_memory(project, "The zebra eats hay.", source=MemorySource.USER)
    await store.memories.save(memory)
    (hit,) = await store.search.words(Query("zebra", project.id))
    assert (hit.session_id, hit.session_title, hit.cwd, hit.turn_id, hit.turn_index) == ("", "", "", "", -1)
    (candidate,) = await store.search.candidates(Query("zebra", project.id))
    assert candidate == Candidate(
        HitKind.MEMORY, memory.id, "", "", memory.created_at, words=hit.score, importance=memory.importance
    )


@pytest.mark.emptied
async def test_search_by_words_holds_to_its_scope(store: Store) -> None:
    project = a_project()
    await store.projects.add(project)
    here, beside = await new_session(store, project), await new_session(store, project)
    elsewhere = await new_session(store)
    of_project = a_memory(here, "zebra of the project")
    of_session = a_memory(beside, "zebra of the session", scope=MemoryScope.SESSION)
    of_all = a_memory(elsewhere, "zebra of all", scope=MemoryScope.GLOBAL)
    of_other = a_memory(elsewhere, "zebra of another")
    for memory in (of_project, of_session, of_all, of_other):
        await store.memories.save(memory)
    turn = await said(store, here, "the zebra")
    await store.vectors.use(MODEL, DIMENSIONS)
    memories = (of_project, of_session, of_all, of_other)
    await store.vectors.save([an_embedding(each, 1, 0) for each in (*memories, turn)])
    for search in (found_by_word, near):
        assert await search(store) == {*(memory.id for memory in memories), turn.id}
        assert await search(store, project_id=project.id) == {
            of_project.id,
            of_session.id,
            of_all.id,
            turn.id,
        }
        assert await search(store, session_id=here.id) == {of_project.id, turn.id}
        assert await search(store, session_id=elsewhere.id) == {of_all.id, of_other.id}
        assert await search(store, project_id=project.id, session_id=beside.id) == {of_session.id}
        assert await search(store, project_id="nowhere") == set()


async def found_by_word(store: Store, **values: Any) -> set[str]:
    return await found(store, "zebra", **values)


@pytest.mark.emptied
async def test_search_holds_to_kinds_and_times(store: Store) -> None:
    session = await new_session(store)
    turn = a_turn(session, "the zebra", started_at=NOON)
    await store.turns.start(turn)
    step = a_step(turn, 0, "", a_request("shell", command="feed zebra"))
    call = a_call(step, started_at=NOON + timedelta(minutes=1))
    await store.calls.add(call, step)
    await store.turns.end(an_end(turn))
    summary = a_summary(session, "zebra", turn, at=NOON + timedelta(minutes=2))
    await store.summaries.save(summary)
    memory = a_memory(session, "zebra", created_at=NOON + timedelta(minutes=3), updated_at=LATER)
    await store.memories.save(memory)
    version = await new_version(store, session, title="zebra", at=NOON + timedelta(minutes=4))
    await store.vectors.use(MODEL, DIMENSIONS)
    await store.vectors.save([an_embedding(each, 1, 0) for each in (turn, summary, memory)])

    by_kind = {
        HitKind.TURN: turn.id,
        HitKind.TOOL_CALL: call.id,
        HitKind.SUMMARY: summary.id,
        HitKind.MEMORY: memory.id,
        HitKind.VERSION: version.id,
    }
    everything = {*by_kind.values()}
    assert await found(store, "zebra") == everything
    for kind, identifier in by_kind.items():
        assert await found(store, "zebra", kinds=(kind,)) == {identifier}
        others = tuple(each for each in INDEXED_KINDS if each is not kind)
        assert await found(store, "zebra", kinds=others) == everything - {identifier}
    assert await found(store, "zebra", kinds=()) == set()
    assert await found(store, "zebra", kinds=(HitKind.MEMORY,), project_id=session.project_id) == {memory.id}

    assert await near(store) == {turn.id, summary.id, memory.id}
    assert await near(store, kinds=(OwnerKind.MEMORY,)) == {memory.id}
    assert await near(store, kinds=(OwnerKind.TURN, OwnerKind.SUMMARY)) == {turn.id, summary.id}

    ordered = [turn.id, call.id, summary.id, memory.id, version.id]
    for place in range(5):
        moment = NOON + timedelta(minutes=place)
        assert await found(store, "zebra", until=moment) == {*ordered[:place]}
        assert await found(store, "zebra", since=moment) == {*ordered[place:]}
        assert await near(store, until=moment) == {*ordered[:place]} - {call.id, version.id}
        assert await near(store, since=moment) == {*ordered[place:]} - {call.id, version.id}
        next_ms = moment + timedelta(milliseconds=1)
        assert await found(store, "zebra", since=moment, until=next_ms) == {ordered[place]}
        assert await found(store, "zebra", since=next_ms, until=moment) == set()


@pytest.mark.emptied
async def test_forgotten_is_found_by_nothing_until_it_is_restored(store: Store) -> None:
    session = await new_session(store)
    memory = a_memory(session, "the zebra", topic="animals")
    await store.memories.save(memory)
    await store.vectors.use(MODEL, DIMENSIONS)
    embedding = an_embedding(memory, 1, 0)
    await store.vectors.save([embedding])

    async def everywhere() -> list[set[str]]:
        nearby = Nearby(a_vector(1, 0), MODEL)
        candidates = await store.search.candidates(Query("zebra"), nearby)
        return [await found(store, "zebra"), await near(store), {each.id for each in candidates}]

    assert await everywhere() == [{memory.id}] * 3
    await store.memories.forget([memory.id], NOON)
    assert await everywhere() == [set()] * 3
    # Neither by what is written while it is forgotten.
    await store.memories.save(replace(memory, importance=0.9))
    await store.memories.change(replace(memory, importance=0.2, updated_at=LATER))
    await store.vectors.save([replace(embedding, text_hash="b" * 64)])
    assert await everywhere() == [set()] * 3
    assert await store.vectors.lacking(MODEL) == []
    assert await store.check() == []
    await store.memories.restore([memory.id])
    assert await everywhere() == [{memory.id}] * 3
    assert await store.vectors.lacking(MODEL) == [], "its vector was kept"
    assert await store.check() == []


@pytest.mark.emptied
async def test_memory_lacks_a_vector_until_it_has_one_and_when_what_is_embedded_changes(store: Store) -> None:
    session = await new_session(store)
    memory = a_memory(session, "the zebra", created_at=NOON)
    everywhere = a_memory(await new_session(store), "all", scope=MemoryScope.GLOBAL, created_at=LATER)
    forgotten = a_memory(session, "the okapi")
    for each in (memory, everywhere, forgotten):
        await store.memories.save(each)
    await store.memories.forget([forgotten.id], NOON)
    assert await store.vectors.lacking(MODEL) == [owner_of(everywhere), owner_of(memory)]
    assert await store.vectors.lacking(MODEL, project_id=session.project_id) == [
        owner_of(everywhere),
        owner_of(memory),
    ]
    await store.vectors.save([an_embedding(memory), an_embedding(everywhere)])
    assert await store.vectors.lacking(MODEL) == []
    await store.memories.save(replace(memory, importance=1.0, updated_at=LATER))
    assert await store.vectors.lacking(MODEL) == [], "the same words"
    await store.memories.change(replace(memory, topic="animals"))
    assert await store.vectors.lacking(MODEL) == [owner_of(memory)]
    await store.memories.restore([forgotten.id])
    assert {*await store.vectors.lacking(MODEL)} == {owner_of(memory), owner_of(forgotten)}
    await store.vectors.save([an_embedding(each) for each in (memory, forgotten)])
    assert await store.vectors.lacking(MODEL) == []
    assert {*await store.vectors.lacking("another")} == {
        owner_of(each) for each in (memory, everywhere, forgotten)
    }
    assert await store.check() == []


async def test_candidate_tells_that_a_memory_is_replaced_or_left(store: Store) -> None:
    session = await new_session(store)
    first, second = await conversation(store, session, 2)
    old = a_memory(session, "zebra: MySQL", first, importance=0.8)
    new = a_memory(session, "zebra: PostgreSQL", second, importance=0.9)
    for memory in (old, new):
        await store.memories.save(memory)
    await store.memories.associate([an_association(new, old)])

    async def states() -> dict[str, tuple[bool, bool, float]]:
        candidates = await store.search.candidates(Query("zebra", session.project_id))
        hits = await store.search.hits(candidates, "zebra")
        assert [(hit.replaced, hit.abandoned) for hit in hits] == [
            (each.replaced, each.abandoned) for each in candidates
        ]
        return {each.id: (each.replaced, each.abandoned, each.importance) for each in candidates}

    assert await states() == {old.id: (True, False, 0.8), new.id: (False, False, 0.9)}
    await store.sessions.set_head(session.id, first.id)
    assert await states() == {old.id: (False, False, 0.8), new.id: (False, True, 0.9)}


async def test_memory_has_one_vector_of_its_newest_text(store: Store) -> None:
    session = await new_session(store)
    memory = a_memory(session, "the zebra")
    await store.memories.save(memory)
    await store.vectors.use(MODEL, DIMENSIONS)
    await store.vectors.save([an_embedding(memory, 1, 0)])
    newer = an_embedding(memory, 0, 1, text_hash="b" * 64)
    await store.vectors.save([newer])
    assert await store.vectors.get([owner_of(memory)]) == [newer]
    (only,) = await store.vectors.nearest(Nearby(a_vector(0, 1), MODEL, project_id=session.project_id))
    assert (only.owner, only.score) == (owner_of(memory), pytest.approx(1, abs=1e-3))
    await store.sessions.delete(session.id)
    assert await store.vectors.get([owner_of(memory)]) == [newer], "a project's memory outlives its session"
    assert await near(store, project_id=session.project_id) == {memory.id}
    assert await near(store, session_id=session.id) == set()
    assert await found(store, "zebra", project_id=session.project_id) == {memory.id}


async def test_memory_that_outlived_its_session_names_none(store: Store) -> None:
    session = await new_session(store)
    await store.sessions.delete(session.id)
    await store.memories.save(a_memory(session, "We use tabs.", scope=MemoryScope.PROJECT))
    (found,) = await store.search.candidates(Query("tabs", session.project_id))
    assert found.session_id == ""
