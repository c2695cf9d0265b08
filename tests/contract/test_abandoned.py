"""Which turns are abandoned: on the path to no session's head."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from ragforge.domain.search import HitKind, Query
from ragforge.domain.turns import ConversationSession, Turn
from ragforge.store.base import Store
from tests.contract.builders import (
    a_call,
    a_memory,
    a_request,
    a_session,
    a_step,
    a_summary,
    a_turn,
    conversation,
    new_session,
    said,
)
from tests.contract.conftest import Opener


async def abandoned(store: Store, *turns: Turn) -> list[Turn]:
    found = await store.turns.abandoned([turn.id for turn in turns])
    return [turn for turn in turns if turn.id in found]


async def fork(store: Store, session: ConversationSession, head: Turn) -> ConversationSession:
    forked = a_session(session.project_id, head=head.id, forked_from=session.id)
    await store.sessions.add(forked)
    return forked


async def test_nothing_is_left_while_a_conversation_goes_on(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 3)
    assert await abandoned(store, *turns) == []
    assert await store.turns.abandoned([]) == set()
    assert await store.turns.abandoned(["nowhere", "", "\0"]) == set()


async def test_head_that_moves_back_leaves_what_was_below(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 4)
    await store.sessions.set_head(session.id, turns[1].id)
    assert await abandoned(store, *turns) == turns[2:]
    await store.sessions.set_head(session.id, None)
    assert await abandoned(store, *turns) == turns


async def test_head_that_moves_forward_again_finds_what_it_left(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 4)
    await store.sessions.set_head(session.id, turns[0].id)
    await store.sessions.set_head(session.id, turns[2].id)
    assert await abandoned(store, *turns) == turns[3:]
    await store.turns.reopen(turns[3].id)
    assert await abandoned(store, *turns) == []


async def test_turn_beside_the_head_leaves_the_head(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 3)
    beside = await said(store, session, "Another way.", parent=turns[0])
    assert await abandoned(store, *turns, beside) == turns[1:]
    below = await said(store, session, "And on.", parent=turns[2])
    assert await abandoned(store, *turns, beside, below) == [beside]


async def test_start_at_the_root_leaves_all_before(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 2)
    anew = await said(store, session, "From the start.")
    assert await abandoned(store, *turns, anew) == turns


async def test_fork_holds_what_its_head_has_on_its_path(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 4)
    forked = await fork(store, session, turns[2])
    await store.sessions.set_head(session.id, turns[0].id)
    assert await abandoned(store, *turns) == turns[3:]
    await store.sessions.set_head(forked.id, turns[1].id)
    assert await abandoned(store, *turns) == turns[2:]


async def test_fork_of_what_was_left_finds_it(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 4)
    await store.sessions.set_head(session.id, turns[0].id)
    await fork(store, session, turns[2])
    assert await abandoned(store, *turns) == turns[3:]


@pytest.mark.emptied
async def test_deleted_fork_holds_nothing_any_more(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 4)
    forked = await fork(store, session, turns[3])
    own = await said(store, forked, "Elsewhere.", parent=turns[3])
    await store.sessions.set_head(session.id, turns[1].id)
    assert await abandoned(store, *turns, own) == []
    await store.sessions.delete(forked.id)
    assert await abandoned(store, *turns) == turns[2:]
    assert await store.check() == []


async def test_turns_of_a_deleted_session_that_a_fork_rests_on_are_held_by_it(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 3)
    forked = await fork(store, session, turns[1])
    await store.sessions.delete(session.id)
    assert await abandoned(store, *turns) == []
    await store.sessions.set_head(forked.id, turns[0].id)
    assert await abandoned(store, *turns) == [turns[1]]


async def test_all_processes_know_what_was_left(opener: Opener) -> None:
    first, second = await opener(), await opener()
    session = await new_session(first)
    turns = await conversation(first, session, 3)
    await first.sessions.set_head(session.id, turns[0].id)
    await first.drain(timeout_s=120)
    assert await abandoned(second, *turns) == turns[1:]


@pytest.mark.emptied
async def test_loaded_turns_are_left_where_no_loaded_head_has_them(store: Store) -> None:
    project_session = await new_session(store)
    session = a_session(project_session.project_id)
    turns: list[Turn] = []
    for _ in range(4):
        parent = turns[-1] if turns else None
        turns.append(a_turn(session, parent=parent, ended_at=session.started_at + timedelta(hours=1)))
    # As a copy brings them: the session names a head that comes later.
    await store.archive.load([replace(session, head=turns[2].id)])
    for turn in turns:
        await store.archive.load([turn])
    assert await abandoned(store, *turns) == turns[3:]
    later = session.last_activity_at + timedelta(hours=2)
    await store.archive.load([replace(session, head=turns[0].id, last_activity_at=later)])
    assert await abandoned(store, *turns) == turns[1:]
    assert await store.check() == []


async def test_what_rests_on_left_turns_is_found_and_marked(store: Store) -> None:
    session = await new_session(store)
    kept = await said(store, session, "zebra kept")
    step = a_step(gone := a_turn(session, "zebra gone", parent=kept), 0, "", a_request(path="zebra.py"))
    await store.turns.start(gone)
    call = a_call(step)
    await store.calls.add(call, step)
    summaries = [a_summary(session, "zebra one", kept), a_summary(session, "zebra two", gone)]
    over = a_summary(session, "zebra both", *summaries)
    memories = [
        a_memory(session, "zebra of the kept", kept),
        a_memory(session, "zebra of both", kept, gone),
        a_memory(session, "zebra of the gone", gone),
        a_memory(session, "zebra of nothing"),
    ]
    for summary in (*summaries, over):
        await store.summaries.save(summary)
    for memory in memories:
        await store.memories.save(memory)
    await store.sessions.set_head(session.id, kept.id)
    marked = {gone.id, call.id, summaries[1].id, over.id, memories[2].id}
    query = Query("zebra", session.project_id)
    hits = await store.search.words(query)
    assert len(hits) == 10
    assert {hit.id for hit in hits if hit.abandoned} == marked
    found = await store.search.candidates(query)
    assert {each.id for each in found if each.abandoned} == marked
    related = await store.search.related([each for each in found if each.kind is HitKind.TURN])
    assert {each.turn.id: each.turn.abandoned for each in related} == {kept.id: False, gone.id: True}
    assert [memory.abandoned for memory in await store.memories.get([each.id for each in memories])] == [
        *(False, False, True, False)
    ]


async def test_turn_that_is_started_again_moves_no_head(opener: Opener) -> None:
    store = await opener()
    session = await new_session(store)
    turns = await conversation(store, session, 3)
    await store.sessions.set_head(session.id, turns[0].id)
    claim = await store.sessions.claim(session.id)
    for turn in turns:
        await store.turns.start(turn)
    found = await store.sessions.get(session.id)
    assert found is not None
    assert found.head == turns[0].id
    assert await abandoned(store, *turns) == turns[1:]
    await claim.release()
