import math
from array import array
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragforge.domain.errors import UsageError
from ragforge.domain.vectors import Near, Nearby, Owner, OwnerKind
from ragforge.store.base import Store
from tests.contract.builders import (
    a_step,
    a_summary,
    a_turn,
    a_vector,
    an_embedding,
    an_end,
    conversation,
    new_session,
    owner_of,
    owners_of,
    said,
)
from tests.contract.conftest import Opener

MODEL = "static:256"
EAST = a_vector(1, 0)


def nearby(*numbers: float, **values: Any) -> Nearby:
    return Nearby(a_vector(*numbers), MODEL, **values)


def owners(found: list[Near]) -> list[Owner]:
    return [near.owner for near in found]


async def test_embedding_reads_back_bit_for_bit(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 2)
    summary = a_summary(session, "both", *turns)
    await store.summaries.save(summary)
    # Neither of length 1 nor exact in decimal, the smallest and the largest that there are.
    kept = [
        an_embedding(turns[0], 0.1, -3.3333333, 1e-30, 12345.678, text_hash="a" * 64),
        an_embedding(turns[1], *[math.sin(number) for number in range(4096)], model="gemini:b"),
        an_embedding(summary, 1.0),
    ]
    await store.vectors.save(kept)
    strangers = [Owner(OwnerKind.TURN, "nowhere"), Owner(OwnerKind.TURN, summary.id)]
    assert await store.vectors.get([*owners_of([summary, *turns]), *strangers]) == [kept[2], kept[0], kept[1]]
    assert await store.vectors.get([]) == []


async def test_newer_embedding_takes_the_place_of_the_older(store: Store) -> None:
    session = await new_session(store)
    turn = await said(store, session)
    await store.vectors.use(MODEL, 2)
    await store.vectors.save([an_embedding(turn, 1, 0)])
    assert (await store.vectors.nearest(nearby(1, 0)))[0].score == pytest.approx(1, abs=1e-3)
    newer = an_embedding(turn, -1, 0, text_hash="b" * 64)
    for _ in range(2):
        await store.vectors.save([newer])
        assert await store.vectors.get([owner_of(turn)]) == [newer]
        (near,) = await store.vectors.nearest(nearby(1, 0))
        assert near.score == pytest.approx(0, abs=1e-3)


async def test_embedding_of_what_is_not_stored_is_left_out(store: Store) -> None:
    session = await new_session(store)
    turn = await said(store, session)
    await store.vectors.use(MODEL, 2)
    of_other_kind = Owner(OwnerKind.SUMMARY, turn.id)
    strangers = [an_embedding(a_turn(session)), an_embedding(turn, owner=of_other_kind)]
    await store.vectors.save([strangers[0], an_embedding(turn), strangers[1]])
    await store.vectors.save([])
    assert owners(await store.vectors.nearest(nearby(1, 0))) == [owner_of(turn)]
    assert await store.vectors.get([each.owner for each in strangers]) == []
    assert await store.check() == []


@pytest.mark.parametrize(
    ("vector", "wrong"),
    [
        (a_vector(), "empty"),
        (a_vector(0, 0, -0.0), "zero"),
        (a_vector(1, math.nan), "finite"),
        (a_vector(1, math.inf), "finite"),
        (a_vector(-math.inf, math.inf), "finite"),
        (a_vector(*[1.0] * 4097), "4097"),
        (array("d", [1.0, 2.0]), "32-bit"),
    ],
    ids=["empty", "zero", "nan", "infinite", "both infinities", "too long", "doubles"],
)
async def test_vector_that_cannot_be_compared_is_refused(
    store: Store, vector: "array[float]", wrong: str
) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 2)
    await store.vectors.use(MODEL, 2)
    with pytest.raises(UsageError, match=wrong):
        await store.vectors.save([an_embedding(turns[0]), an_embedding(turns[1], vector=vector)])
    assert await store.vectors.get(owners_of(turns)) == [], "one bad vector, and none is kept"
    with pytest.raises(UsageError, match=wrong):
        await store.vectors.nearest(Nearby(vector, MODEL))


@pytest.mark.parametrize("dimensions", [0, -1, 4097])
async def test_embedder_of_impossible_dimensions_is_refused(store: Store, dimensions: int) -> None:
    with pytest.raises(UsageError, match=str(dimensions)):
        await store.vectors.use(MODEL, dimensions)


async def test_nearest_come_best_first_with_scores_from_0_to_1(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 4)
    await store.vectors.use(MODEL, 2)
    numbers = [(0, 1), (5, 5), (-2, 0), (100, 0)]
    await store.vectors.save([an_embedding(turn, *pair) for turn, pair in zip(turns, numbers, strict=True)])
    found = await store.vectors.nearest(nearby(0.5, 0))
    assert owners(found) == owners_of([turns[3], turns[1], turns[0], turns[2]])
    assert [near.score for near in found] == pytest.approx([1, (1 + math.sqrt(0.5)) / 2, 0.5, 0], abs=1e-3)
    assert all(0 <= near.score <= 1 for near in found)
    assert await store.vectors.nearest(nearby(0.5, 0, limit=2)) == found[:2]
    assert await store.vectors.nearest(nearby(0.5, 0, limit=0)) == []


async def test_equally_near_come_by_id(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 6)
    await store.vectors.use(MODEL, 2)
    await store.vectors.save([an_embedding(turn, 1, 1) for turn in reversed(turns)])
    by_id = sorted(owners_of(turns), key=lambda owner: owner.id)
    for limit in (1, 3, 6):
        assert owners(await store.vectors.nearest(nearby(1, 0, limit=limit))) == by_id[:limit]


async def test_nearest_holds_to_its_scope(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 2)
    summary = a_summary(session, "both", *turns)
    await store.summaries.save(summary)
    other = await new_session(store)
    stranger = await said(store, other)
    await store.vectors.use(MODEL, 2)
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


async def test_few_in_a_small_project_are_all_found_among_many_that_are_nearer(store: Store) -> None:
    large, small = await new_session(store), await new_session(store)
    await store.vectors.use(MODEL, 2)
    crowd = await conversation(store, large, 60)
    await store.vectors.save([an_embedding(turn, 1, 0) for turn in crowd])
    few = await conversation(store, small, 3)
    await store.vectors.save([an_embedding(turn, -1, 0.001 * turn.index) for turn in few])
    found = await store.vectors.nearest(nearby(1, 0, project_id=small.project_id, limit=5))
    assert {near.owner.id for near in found} == {turn.id for turn in few}


async def test_vectors_of_other_models_and_dimensions_are_not_compared(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 3)
    await store.vectors.use(MODEL, 2)
    await store.vectors.save([an_embedding(turns[0], 1, 0)])
    await store.vectors.use("gemini:b", 3)
    await store.vectors.save([an_embedding(turns[1], 1, 0, 0, model="gemini:b")])
    assert owners(await store.vectors.nearest(Nearby(a_vector(1, 0, 0), "gemini:b"))) == owners_of([turns[1]])
    assert await store.vectors.nearest(Nearby(EAST, "gemini:b")) == []
    assert await store.vectors.nearest(Nearby(a_vector(1, 0, 0), MODEL)) == []
    assert await store.vectors.nearest(Nearby(EAST, "unheard-of")) == []


async def test_change_of_the_embedder_makes_all_lacking_and_loses_nothing(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 2)
    await store.vectors.use(MODEL, 2)
    old = [an_embedding(turn, 1, 0) for turn in turns]
    await store.vectors.save(old)
    assert await store.vectors.lacking(MODEL) == []
    await store.vectors.use("gemini:b", 3)
    assert await store.vectors.lacking("gemini:b") == owners_of(turns[::-1])
    assert await store.vectors.get(owners_of(turns)) == old
    await store.vectors.save([an_embedding(turns[1], 1, 0, 0, model="gemini:b")])
    assert await store.vectors.lacking("gemini:b") == owners_of(turns[:1])
    # And back again, as if it had been a mistake.
    await store.vectors.use(MODEL, 2)
    assert await store.vectors.lacking(MODEL) == owners_of(turns[1:])
    assert owners(await store.vectors.nearest(nearby(1, 0))) == owners_of(turns[:1])
    assert await store.check() == []


async def test_change_of_dimensions_alone_makes_all_lacking(store: Store) -> None:
    session = await new_session(store)
    turn = await said(store, session)
    await store.vectors.use(MODEL, 2)
    await store.vectors.save([an_embedding(turn, 1, 0)])
    await store.vectors.use(MODEL, 3)
    assert await store.vectors.lacking(MODEL) == [owner_of(turn)]
    await store.vectors.save([an_embedding(turn, 1, 0, 0)])
    assert await store.vectors.lacking(MODEL) == []
    assert owners(await store.vectors.nearest(nearby(1, 0, 0))) == [owner_of(turn)]


async def test_what_ended_and_has_no_vector_is_lacking_newest_first(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 3)
    await store.turns.start(a_turn(session, parent=turns[-1]))
    summary = a_summary(session, "the first", turns[0])
    await store.summaries.save(summary)
    await store.vectors.use(MODEL, 2)
    lacking = await store.vectors.lacking(MODEL)
    assert lacking[:2] == owners_of([turns[2], turns[1]])
    # The summary is of the same moment as its turn.
    assert {*lacking[2:]} == {*owners_of([turns[0], summary])}
    assert await store.vectors.lacking(MODEL, limit=2) == lacking[:2]
    assert await store.vectors.lacking(MODEL, limit=0) == []
    assert await store.vectors.lacking(MODEL, project_id=session.project_id) == lacking
    assert await store.vectors.lacking(MODEL, project_id=(await new_session(store)).project_id) == []
    assert await store.vectors.lacking(MODEL, project_id="nowhere") == []
    await store.vectors.save([an_embedding(each) for each in (turns[0], turns[2], summary)])
    assert await store.vectors.lacking(MODEL) == owners_of([turns[1]])


async def test_turn_that_ran_on_is_embedded_again_and_found_meanwhile(
    store: Store,
) -> None:
    session = await new_session(store)
    turn = await said(store, session)
    await store.vectors.use(MODEL, 2)
    await store.vectors.save([an_embedding(turn)])
    await store.turns.reopen(turn.id)
    assert await store.vectors.lacking(MODEL) == [], "it still runs"
    assert await store.vectors.lacking("another") == []
    await store.turns.end(an_end(turn, "More of it.", ended_at=turn.started_at + timedelta(hours=1)))
    assert await store.vectors.lacking(MODEL) == [owner_of(turn)]
    assert owners(await store.vectors.nearest(nearby(1, 0))) == [owner_of(turn)]
    await store.vectors.save([an_embedding(turn, text_hash="c" * 64)])
    assert await store.vectors.lacking(MODEL) == []


async def test_end_that_is_repeated_makes_nothing_stale(store: Store) -> None:
    session = await new_session(store)
    turn = a_turn(session)
    await store.turns.start(turn)
    end = an_end(turn, last_step=a_step(turn))
    await store.turns.end(end)
    await store.vectors.use(MODEL, 2)
    await store.vectors.save([an_embedding(turn)])
    await store.turns.end(end)
    assert await store.vectors.lacking(MODEL) == []


async def test_new_text_of_a_summary_makes_it_and_its_turns_stale(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 3)
    summary = a_summary(session, "the first two", *turns[:2])
    await store.vectors.use(MODEL, 2)
    await store.vectors.save([an_embedding(turn) for turn in turns])
    await store.summaries.save(summary)
    await store.summaries.save(summary)
    assert {*await store.vectors.lacking(MODEL)} == {*owners_of([*turns[:2], summary])}
    await store.vectors.save([an_embedding(each) for each in (*turns, summary)])
    await store.summaries.save(summary)
    assert await store.vectors.lacking(MODEL) == [], "the same text again"
    await store.summaries.save(replace(summary, text="in other words"))
    assert {*await store.vectors.lacking(MODEL)} == {*owners_of([*turns[:2], summary])}
    assert len(await store.vectors.nearest(nearby(1, 0))) == 4


async def test_roll_up_makes_no_turn_stale(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 2)
    level_1 = a_summary(session, "both", *turns)
    await store.summaries.save(level_1)
    await store.vectors.use(MODEL, 2)
    await store.vectors.save([an_embedding(each) for each in (*turns, level_1)])
    level_2 = a_summary(session, "all", level_1)
    assert await store.summaries.roll_up(level_2)
    assert await store.vectors.lacking(MODEL) == [owner_of(level_2)]


async def test_two_open_stores_see_each_others_vectors(opener: Opener) -> None:
    one, other = await opener(), await opener()
    session = await new_session(one)
    turns = await conversation(one, session, 3)
    await one.vectors.use(MODEL, 2)
    for turn in turns:
        writer, reader = (one, other) if turn.index % 2 else (other, one)
        await writer.vectors.save([an_embedding(turn, 1, turn.index)])
        found = await reader.vectors.nearest(nearby(1, 0))
        assert owners(found) == owners_of(turns[: turn.index + 1])
    await other.vectors.save([an_embedding(turns[0], -1, 0)])
    assert owners(await one.vectors.nearest(nearby(1, 0))) == owners_of([turns[1], turns[2], turns[0]])
    await other.sessions.delete(session.id)
    assert await one.vectors.nearest(nearby(1, 0)) == []
    again = await new_session(other)
    turn = await said(other, again)
    await other.vectors.save([an_embedding(turn, 0, 1)])
    (near,) = await one.vectors.nearest(nearby(1, 0))
    assert (near.owner, near.score) == (owner_of(turn), pytest.approx(0.5, abs=1e-3))


async def test_shared_turn_keeps_its_vector_in_the_session_that_inherits_it(store: Store) -> None:
    session = await new_session(store)
    shared, left = await conversation(store, session, 2)
    fork = await new_session(store, head=shared.id, forked_from=session.id)
    await store.vectors.use(MODEL, 2)
    await store.vectors.save([an_embedding(shared), an_embedding(left)])
    assert len(await store.vectors.nearest(nearby(1, 0, session_id=session.id))) == 2
    await store.sessions.delete(session.id)
    for scope in ({}, {"session_id": fork.id}, {"project_id": fork.project_id}):
        assert owners(await store.vectors.nearest(nearby(1, 0, **scope))) == [owner_of(shared)]
    assert await store.vectors.nearest(nearby(1, 0, project_id=session.project_id)) == []
    assert await store.vectors.get(owners_of([left])) == []
    assert await store.vectors.lacking(MODEL) == []
    assert await store.check() == []


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
    await store.vectors.use(MODEL, 3)
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


async def test_turn_that_its_summary_leaves_out_is_embedded_again(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 2)
    summary = a_summary(session, "both", *turns)
    await store.summaries.save(summary)
    await store.vectors.use(MODEL, 2)
    await store.vectors.save([an_embedding(each) for each in (*turns, summary)])
    await store.summaries.save(replace(summary, covers=(turns[1].id,), turn_count=1))
    assert {*await store.vectors.lacking(MODEL)} == {*owners_of([*turns, summary])}


async def test_step_that_comes_with_a_repeated_end_makes_nothing_stale(store: Store) -> None:
    session = await new_session(store)
    turn = await said(store, session)
    await store.vectors.use(MODEL, 2)
    await store.vectors.save([an_embedding(turn)])
    await store.turns.end(an_end(turn, last_step=a_step(turn)))
    assert await store.vectors.lacking(MODEL) == []


async def test_newer_turn_that_is_loaded_is_embedded_again(store: Store) -> None:
    session = await new_session(store)
    turn = await said(store, session)
    await store.vectors.use(MODEL, 2)
    await store.vectors.save([an_embedding(turn)])
    stored = await store.turns.get(turn.id)
    assert stored is not None
    assert stored.ended_at is not None
    newer = replace(stored, assistant="More of it.", ended_at=stored.ended_at + timedelta(hours=1))
    assert await store.archive.load([newer]) == 1
    assert await store.vectors.lacking(MODEL) == [owner_of(turn)]
