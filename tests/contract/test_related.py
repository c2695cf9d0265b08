"""One step through the graph from what was found."""

from ragforge.domain.search import Candidate, HitKind, Query, Related, Relation
from ragforge.domain.turns import Turn
from ragforge.store.base import Store
from tests.contract.builders import (
    a_call,
    a_memory,
    a_request,
    a_step,
    a_summary,
    a_turn,
    conversation,
    new_session,
    said,
)


def candidates_of(*turns: Turn) -> list[Candidate]:
    return [Candidate(HitKind.TURN, turn.id, turn.session_id, turn.id, turn.started_at) for turn in turns]


def seen(found: list[Related]) -> list[tuple[str, Relation, str]]:
    return [(each.of, each.relation, each.turn.id) for each in found]


async def test_memory_made_in_no_session_has_none(store: Store) -> None:
    session = await new_session(store)
    memory = a_memory(session, "We use tabs.", session_id="")
    await store.memories.save(memory)
    (found,) = await store.search.candidates(Query("tabs", session.project_id))
    assert (found.session_id, found.turn_id) == ("", "")


async def test_turn_is_related_to_the_turn_before_and_all_after(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 4)
    beside = await said(store, session, "Another way.", parent=turns[1])
    found = await store.search.related(candidates_of(turns[1]))
    near = {turns[0].id, turns[2].id, beside.id}
    assert {each.turn.id for each in found} == near
    assert {(each.of, each.relation) for each in found} == {(turns[1].id, Relation.NEIGHBOUR)}
    assert found[0].turn.id == turns[0].id
    assert {each.turn.id: each.turn.abandoned for each in found} == {
        **{turns[0].id: False, turns[2].id: True, beside.id: False}
    }


async def test_summary_memory_and_call_are_related_to_the_turns_that_they_cite(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 3)
    working = a_turn(session, "Look.", parent=turns[-1])
    await store.turns.start(working)
    step = a_step(working, 0, "", a_request(path="zebra.py"))
    call = a_call(step)
    await store.calls.add(call, step)
    summary = a_summary(session, "Two.", *turns[:2])
    over = a_summary(session, "Over.", summary)
    memory = a_memory(session, "We use tabs.", turns[2], turns[0])
    for each in (summary, over):
        await store.summaries.save(each)
    await store.memories.save(memory)
    found = [(HitKind.MEMORY, memory.id), (HitKind.SUMMARY, over.id), (HitKind.SUMMARY, summary.id)]
    found.append((HitKind.TOOL_CALL, call.id))
    candidates = [Candidate(kind, id, session.id, working.id, call.started_at) for kind, id in found]
    assert seen(await store.search.related(candidates)) == [
        (memory.id, Relation.CITED, turns[2].id),
        (memory.id, Relation.CITED, turns[0].id),
        (summary.id, Relation.CITED, turns[0].id),
        (summary.id, Relation.CITED, turns[1].id),
        (call.id, Relation.CITED, working.id),
    ]


async def test_no_more_are_related_than_asked_for(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 3)
    related = [
        (turns[0].id, Relation.NEIGHBOUR, turns[1].id),
        (turns[1].id, Relation.NEIGHBOUR, turns[0].id),
        (turns[1].id, Relation.NEIGHBOUR, turns[2].id),
        (turns[2].id, Relation.NEIGHBOUR, turns[1].id),
    ]
    for limit in (-1, 0, 1, 2, 200):
        found = await store.search.related(candidates_of(*turns), limit=limit)
        assert seen(found) == related[: max(0, limit)]


async def test_nothing_is_related_to_nothing(store: Store) -> None:
    session = await new_session(store)
    (turn,) = await conversation(store, session, 1)
    assert await store.search.related([]) == []
    assert await store.search.related(candidates_of(turn)) == []
    gone = Candidate(HitKind.TURN, "nowhere", session.id, "nowhere", turn.started_at)
    assert await store.search.related([gone]) == []
