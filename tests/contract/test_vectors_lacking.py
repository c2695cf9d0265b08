"""What is still to be embedded, and what is to be embedded again."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from ragforge.store.base import Store
from tests.contract.builders import (
    DIMENSIONS,
    a_step,
    a_summary,
    a_turn,
    an_embedding,
    an_end,
    conversation,
    new_session,
    owner_of,
    owners_of,
    said,
)
from tests.contract.builders_vectors import MODEL, nearby, owners


@pytest.mark.emptied
async def test_change_of_the_embedder_makes_all_lacking_and_loses_nothing(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 2)
    await store.vectors.use(MODEL, DIMENSIONS)
    old = [an_embedding(turn, 1, 0) for turn in turns]
    await store.vectors.save(old)
    assert await store.vectors.lacking(MODEL) == []
    await store.vectors.use("gemini:b", DIMENSIONS)
    assert await store.vectors.in_use() == "gemini:b"
    assert await store.vectors.lacking("gemini:b") == owners_of(turns[::-1])
    assert await store.vectors.get(owners_of(turns)) == old
    await store.vectors.save([an_embedding(turns[1], 1, 0, model="gemini:b")])
    assert await store.vectors.lacking("gemini:b") == owners_of(turns[:1])
    # And back again, as if it had been a mistake.
    await store.vectors.use(MODEL, DIMENSIONS)
    assert await store.vectors.lacking(MODEL) == owners_of(turns[1:])
    assert owners(await store.vectors.nearest(nearby(1, 0))) == owners_of(turns[:1])
    assert await store.check() == []


async def test_what_ended_and_has_no_vector_is_lacking_newest_first(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 3)
    await store.turns.start(a_turn(session, parent=turns[-1]))
    summary = a_summary(session, "the first", turns[0])
    await store.summaries.save(summary)
    await store.vectors.use(MODEL, DIMENSIONS)
    lacking = await store.vectors.lacking(MODEL, project_id=session.project_id)
    assert lacking[:2] == owners_of([turns[2], turns[1]])
    # The summary is of the same moment as its turn.
    assert {*lacking[2:]} == {*owners_of([turns[0], summary])}
    assert await store.vectors.lacking(MODEL, project_id=session.project_id, limit=2) == lacking[:2]
    assert await store.vectors.lacking(MODEL, project_id=session.project_id, limit=0) == []
    assert await store.vectors.lacking(MODEL, project_id=session.project_id) == lacking
    assert await store.vectors.lacking(MODEL, project_id=(await new_session(store)).project_id) == []
    assert await store.vectors.lacking(MODEL, project_id="nowhere") == []
    await store.vectors.save([an_embedding(each) for each in (turns[0], turns[2], summary)])
    assert await store.vectors.lacking(MODEL, project_id=session.project_id) == owners_of([turns[1]])


async def test_turn_that_ran_on_is_embedded_again_and_found_meanwhile(
    store: Store,
) -> None:
    session = await new_session(store)
    turn = await said(store, session)
    await store.vectors.use(MODEL, DIMENSIONS)
    await store.vectors.save([an_embedding(turn)])
    await store.turns.reopen(turn.id)
    assert await store.vectors.lacking(MODEL, project_id=session.project_id) == [], "it still runs"
    assert await store.vectors.lacking("another", project_id=session.project_id) == []
    await store.turns.end(an_end(turn, "More of it.", ended_at=turn.started_at + timedelta(hours=1)))
    assert await store.vectors.lacking(MODEL, project_id=session.project_id) == [owner_of(turn)]
    assert owners(await store.vectors.nearest(nearby(1, 0, project_id=session.project_id))) == [
        owner_of(turn)
    ]
    await store.vectors.save([an_embedding(turn, text_hash="c" * 64)])
    assert await store.vectors.lacking(MODEL, project_id=session.project_id) == []


async def test_end_that_is_repeated_makes_nothing_stale(store: Store) -> None:
    session = await new_session(store)
    turn = a_turn(session)
    await store.turns.start(turn)
    end = an_end(turn, last_step=a_step(turn))
    await store.turns.end(end)
    await store.vectors.use(MODEL, DIMENSIONS)
    await store.vectors.save([an_embedding(turn)])
    await store.turns.end(end)
    assert await store.vectors.lacking(MODEL, project_id=session.project_id) == []


async def test_new_text_of_a_summary_makes_it_and_its_turns_stale(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 3)
    summary = a_summary(session, "the first two", *turns[:2])
    await store.vectors.use(MODEL, DIMENSIONS)
    await store.vectors.save([an_embedding(turn) for turn in turns])
    await store.summaries.save(summary)
    await store.summaries.save(summary)
    assert {*await store.vectors.lacking(MODEL, project_id=session.project_id)} == {
        *owners_of([*turns[:2], summary])
    }
    await store.vectors.save([an_embedding(each) for each in (*turns, summary)])
    await store.summaries.save(summary)
    assert await store.vectors.lacking(MODEL, project_id=session.project_id) == [], "the same text again"
    await store.summaries.save(replace(summary, text="in other words"))
    assert {*await store.vectors.lacking(MODEL, project_id=session.project_id)} == {
        *owners_of([*turns[:2], summary])
    }
    assert len(await store.vectors.nearest(nearby(1, 0, project_id=session.project_id))) == 4


async def test_roll_up_makes_no_turn_stale(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 2)
    level_1 = a_summary(session, "both", *turns)
    await store.summaries.save(level_1)
    await store.vectors.use(MODEL, DIMENSIONS)
    await store.vectors.save([an_embedding(each) for each in (*turns, level_1)])
    level_2 = a_summary(session, "all", level_1)
    assert await store.summaries.roll_up(level_2)
    assert await store.vectors.lacking(MODEL, project_id=session.project_id) == [owner_of(level_2)]


async def test_turn_that_its_summary_leaves_out_is_embedded_again(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 2)
    summary = a_summary(session, "both", *turns)
    await store.summaries.save(summary)
    await store.vectors.use(MODEL, DIMENSIONS)
    await store.vectors.save([an_embedding(each) for each in (*turns, summary)])
    await store.summaries.save(replace(summary, covers=(turns[1].id,), turn_count=1))
    assert {*await store.vectors.lacking(MODEL, project_id=session.project_id)} == {
        *owners_of([*turns, summary])
    }


async def test_step_that_comes_with_a_repeated_end_makes_nothing_stale(store: Store) -> None:
    session = await new_session(store)
    turn = await said(store, session)
    await store.vectors.use(MODEL, DIMENSIONS)
    await store.vectors.save([an_embedding(turn)])
    await store.turns.end(an_end(turn, last_step=a_step(turn)))
    assert await store.vectors.lacking(MODEL, project_id=session.project_id) == []


async def test_newer_turn_that_is_loaded_is_embedded_again(store: Store) -> None:
    session = await new_session(store)
    turn = await said(store, session)
    await store.vectors.use(MODEL, DIMENSIONS)
    await store.vectors.save([an_embedding(turn)])
    stored = await store.turns.get(turn.id)
    assert stored is not None
    assert stored.ended_at is not None
    newer = replace(stored, assistant="More of it.", ended_at=stored.ended_at + timedelta(hours=1))
    assert await store.archive.load([newer]) == 1
    assert await store.vectors.lacking(MODEL, project_id=session.project_id) == [owner_of(turn)]
