"""What is nearest: in which order, and among which."""

import math
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragforge.domain.memories import MemoryScope
from ragforge.domain.vectors import Nearby, OwnerKind
from ragforge.store.base import Store
from tests.contract.builders import (
    DIMENSIONS,
    NOON,
    a_memory,
    a_summary,
    a_vector,
    an_embedding,
    conversation,
    new_session,
    owners_of,
    said,
)
from tests.contract.builders_vectors import MODEL, nearby, owners


async def test_nearest_come_best_first_with_scores_from_0_to_1(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 4)
    await store.vectors.use(MODEL, DIMENSIONS)
    numbers = [(0, 1), (5, 5), (-2, 0), (100, 0)]
    await store.vectors.save([an_embedding(turn, *pair) for turn, pair in zip(turns, numbers, strict=True)])
    found = await store.vectors.nearest(nearby(0.5, 0, project_id=session.project_id))
    assert owners(found) == owners_of([turns[3], turns[1], turns[0], turns[2]])
    assert [near.score for near in found] == pytest.approx([1, (1 + math.sqrt(0.5)) / 2, 0.5, 0], abs=1e-3)
    assert all(0 <= near.score <= 1 for near in found)
    assert await store.vectors.nearest(nearby(0.5, 0, limit=2, project_id=session.project_id)) == found[:2]
    assert await store.vectors.nearest(nearby(0.5, 0, limit=0, project_id=session.project_id)) == []


async def test_equally_near_come_by_id(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 6)
    await store.vectors.use(MODEL, DIMENSIONS)
    await store.vectors.save([an_embedding(turn, 1, 1) for turn in reversed(turns)])
    by_id = sorted(owners_of(turns), key=lambda owner: owner.id)
    for limit in (1, 3, 6):
        assert (
            owners(await store.vectors.nearest(nearby(1, 0, limit=limit, project_id=session.project_id)))
            == by_id[:limit]
        )


@pytest.mark.emptied
async def test_nearest_holds_to_its_scope(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 2)
    summary = a_summary(session, "both", *turns)
    await store.summaries.save(summary)
    other = await new_session(store)
    stranger = await said(store, other)
    await store.vectors.use(MODEL, DIMENSIONS)
    await store.vectors.save([an_embedding(each) for each in (*turns, summary, stranger)])

    async def found(**values: Any) -> set[str]:
        return {near.owner.id for near in await store.vectors.nearest(nearby(1, 0, **values))}

    ours = {turns[0].id, turns[1].id, summary.id}
    assert await found() == {*ours, stranger.id}
    assert await found(project_id=session.project_id) == ours
    assert await found(session_id=session.id) == ours
    assert await found(project_id=other.project_id) == {stranger.id}
    assert await found(project_id=other.project_id, session_id=session.id) == set()
    assert await found(project_id="nowhere") == set()
    assert await found(session_id="nowhere") == set()
    assert await found(kinds=(OwnerKind.SUMMARY,)) == {summary.id}
    assert await found(kinds=(OwnerKind.TURN,), session_id=session.id) == {turn.id for turn in turns}
    assert await found(kinds=()) == set()
    assert await found(since=turns[1].started_at, session_id=session.id) == {turns[1].id, summary.id}
    assert await found(since=turns[1].started_at + timedelta(milliseconds=1)) == set()


@pytest.mark.emptied
async def test_few_in_a_small_project_are_all_found_among_many_that_are_nearer(store: Store) -> None:
    large, small = await new_session(store), await new_session(store)
    await store.vectors.use(MODEL, DIMENSIONS)
    crowd = await conversation(store, large, 60)
    await store.vectors.save([an_embedding(turn, 1, 0) for turn in crowd])
    few = await conversation(store, small, 3)
    await store.vectors.save([an_embedding(turn, -1, 0.001 * turn.index) for turn in few])
    found = await store.vectors.nearest(nearby(1, 0, project_id=small.project_id, limit=5))
    assert {near.owner.id for near in found} == {turn.id for turn in few}


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
async def test_nearest_is_what_comparing_one_by_one_finds(store: Store, data: st.DataObject) -> None:
    numbers = st.lists(
        st.floats(-1e4, 1e4, width=32).map(lambda number: number if abs(number) > 1e-3 else 0.0),
        min_size=3,
        max_size=3,
    ).filter(any)
    session = await new_session(store)
    turns = await conversation(store, session, data.draw(st.integers(0, 5), "turns"))
    vectors = {turn.id: data.draw(numbers) for turn in turns}
    await store.vectors.use(MODEL, DIMENSIONS)
    await store.vectors.save([an_embedding(turn, *vectors[turn.id]) for turn in turns])
    asked, limit = data.draw(numbers, "asked"), data.draw(st.integers(0, 8), "limit")
    found = await store.vectors.nearest(nearby(*asked, project_id=session.project_id, limit=limit))
    naive = {turn: score(asked, vector) for turn, vector in vectors.items()}
    best = sorted(naive.values(), reverse=True)[:limit]
    assert [near.score for near in found] == pytest.approx(best, abs=1e-3)
    assert [naive[near.owner.id] for near in found] == pytest.approx(best, abs=1e-3)
    assert len({near.owner for near in found}) == len(found)
    assert found == sorted(found, key=lambda near: (-near.score, near.owner.id))


def score(one: list[float], other: list[float]) -> float:
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    return (1 + dot / (math.hypot(*one) * math.hypot(*other))) / 2


@pytest.mark.emptied
async def test_nearest_memories_are_those_of_the_scope_that_are_not_forgotten(store: Store) -> None:
    session, elsewhere = await new_session(store), await new_session(store)
    memories = {
        "own": a_memory(session, "We use tabs."),
        "of no session": a_memory(session, "We use spaces.", session_id=""),
        "everywhere": a_memory(elsewhere, "Write short sentences.", scope=MemoryScope.GLOBAL),
        "elsewhere": a_memory(elsewhere, "We use nothing."),
        "forgotten": a_memory(session, "We use both."),
        "late": a_memory(session, "We use both at last.", created_at=NOON + timedelta(hours=1)),
    }
    for memory in memories.values():
        await store.memories.save(memory)
    await store.vectors.save([an_embedding(memory, 1.0, 0.0) for memory in memories.values()])
    await store.memories.forget([memories["forgotten"].id], NOON)

    async def near(**values: Any) -> set[str]:
        nearby = Nearby(a_vector(1, 0), "static:minilm-256-2", kinds=(OwnerKind.MEMORY,), **values)
        found = {each.owner.id for each in await store.vectors.nearest(nearby)}
        return {name for name, memory in memories.items() if memory.id in found}

    assert await near() == memories.keys() - {"forgotten"}
    project = session.project_id
    assert await near(project_id=project) == {"own", "of no session", "everywhere", "late"}
    assert await near(project_id=project, session_id=session.id) == {"own", "late"}
    assert await near(session_id=session.id, until=NOON + timedelta(hours=1)) == {"own"}
    assert await near(session_id=session.id, since=NOON + timedelta(hours=1)) == {"late"}
    assert await near(project_id="nowhere") == set()
    await store.memories.restore([memories["forgotten"].id])
    assert "forgotten" in await near(session_id=session.id)
