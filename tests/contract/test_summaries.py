"""Summaries that are kept, found and lacking."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from ragforge.domain.errors import Conflict, UsageError
from ragforge.domain.ids import new_id
from ragforge.domain.search import HitKind, Query
from ragforge.domain.summaries import SummaryMethod
from ragforge.domain.turns import TurnStatus
from ragforge.store.base import Store
from tests.contract.builders import (
    a_project,
    a_session,
    a_summary,
    a_turn,
    an_embedding,
    an_end,
    conversation,
    new_session,
    said,
)


async def test_summaries_come_in_the_order_asked_for_without_those_that_are_missing(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 2)
    first, second = (a_summary(session, f"part {turn.index}", turn) for turn in turns)
    for summary in (first, second):
        await store.summaries.save(summary)
    assert await store.summaries.get([second.id, "nowhere", first.id]) == [second, first]
    assert await store.summaries.get([]) == []


@pytest.mark.emptied
async def test_summary_of_the_same_id_is_replaced(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 2)
    old = a_summary(session, "okapi", turns[0], method=SummaryMethod.EXTRACTIVE)
    new = a_summary(session, "zebra", *turns, id=old.id)
    for summary in (old, new, new):
        await store.summaries.save(summary)
    assert await store.summaries.get([old.id]) == [new]
    assert await store.summaries.of_session(session.id) == [new]
    assert await store.search.words(Query("okapi")) == []
    assert [hit.id for hit in await store.search.words(Query("zebra"))] == [old.id]
    assert await store.check() == []


async def test_summary_of_what_is_not_stored_is_refused(store: Store) -> None:
    session = await new_session(store)
    (turn,) = await conversation(store, session, 1)
    elsewhere = a_session(session.project_id)
    level_1 = a_summary(session, "one", turn)
    refused = [
        a_summary(elsewhere, "of no session", turn),
        a_summary(session, "of no turn", turn, a_turn(session)),
        a_summary(session, "of no summary", level_1),
        replace(level_1, id=new_id(), level=2),
        replace(level_1, id=new_id(), level=1, covers=(new_id(),)),
    ]
    for summary in refused:
        with pytest.raises(Conflict):
            await store.summaries.save(summary)
        with pytest.raises(Conflict):
            await store.summaries.roll_up(summary)
    assert await store.summaries.of_session(session.id) == []
    assert await store.search.words(Query("one", session.project_id)) == []


async def test_summary_two_levels_above_what_it_covers_is_refused(store: Store) -> None:
    session = await new_session(store)
    (turn,) = await conversation(store, session, 1)
    level_1 = a_summary(session, "one", turn)
    await store.summaries.save(level_1)
    with pytest.raises(Conflict):
        await store.summaries.save(a_summary(session, "three", level_1, level=3))
    with pytest.raises(Conflict):
        await store.summaries.save(a_summary(session, "one again", level_1, level=1))


async def test_summary_of_nothing_is_refused(store: Store) -> None:
    session = await new_session(store)
    (turn,) = await conversation(store, session, 1)
    summary = a_summary(session, "of nothing", turn)
    for wrong in (replace(summary, covers=()), replace(summary, level=0), replace(summary, level=-1)):
        with pytest.raises(UsageError):
            await store.summaries.save(wrong)
        with pytest.raises(UsageError):
            await store.summaries.roll_up(wrong)


async def test_sessions_summaries_come_by_level_and_time(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 3)
    level_1 = [a_summary(session, "part", turn) for turn in turns]
    top = a_summary(session, "of two", *level_1[:2])
    for summary in (*reversed(level_1), top):
        await store.summaries.save(summary)
    other = await new_session(store)
    await store.summaries.save(a_summary(other, "another's", *await conversation(store, other, 1)))
    assert await store.summaries.of_session(session.id) == [*level_1, top]
    assert await store.summaries.of_session(session.id, level=1) == level_1
    assert await store.summaries.of_session(session.id, level=1, uncovered=True) == [level_1[2]]
    assert await store.summaries.of_session(session.id, uncovered=True) == [level_1[2], top]
    assert await store.summaries.of_session(session.id, level=7) == []
    assert await store.summaries.of_session("nowhere") == []


@pytest.mark.emptied
async def test_ended_turns_without_a_summary_are_lacking_oldest_first(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 3)
    running = a_turn(session, parent=turns[-1])
    await store.turns.start(running)
    other = await new_session(store)
    (elder,) = await conversation(store, other, 1, started_at=turns[0].started_at - timedelta(days=1))
    lacking = await store.summaries.lacking()
    assert [turn.id for turn in lacking] == [turn.id for turn in (elder, *turns)]
    assert lacking == [await store.turns.get(turn.id) for turn in lacking]
    assert [turn.id for turn in await store.summaries.lacking(project_id=session.project_id, limit=2)] == [
        turns[0].id,
        turns[1].id,
    ]
    assert await store.summaries.lacking(project_id="nowhere") == []
    assert await store.summaries.lacking(limit=0) == []

    await store.summaries.save(a_summary(session, "two", *turns[:2]))
    await store.turns.end(an_end(running, status=TurnStatus.FAILED))
    lacking = await store.summaries.lacking(project_id=session.project_id)
    assert [turn.id for turn in lacking] == [turns[2].id, running.id]


async def test_turn_that_runs_again_lacks_nothing_until_it_ends(store: Store) -> None:
    session = await new_session(store)
    turn = await said(store, session)
    await store.turns.reopen(turn.id)
    assert await store.summaries.lacking(project_id=session.project_id) == []
    await store.turns.end(an_end(turn, "At last."))
    assert [each.id for each in await store.summaries.lacking(project_id=session.project_id)] == [turn.id]


@pytest.mark.emptied
async def test_turn_that_a_summary_leaves_out_lacks_one_again(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 2)
    summary = a_summary(session, "both", *turns)
    await store.summaries.save(summary)
    await store.summaries.save(replace(summary, covers=(turns[1].id,), turn_count=1))
    assert [turn.id for turn in await store.summaries.lacking()] == [turns[0].id]
    assert await store.check() == []


async def test_summary_is_found_by_its_words_and_names_its_newest_turn(store: Store) -> None:
    session = await new_session(store, title="Animals", cwd="/zoo")
    turns = await conversation(store, session, 3)
    level_1 = [a_summary(session, "part", turn) for turn in turns]
    top = a_summary(
        session, "The zebra was fed.", *level_1[:2], topics=("okapi",), findings=("hay",), files=("gnu.py",)
    )
    for summary in (*level_1, top):
        await store.summaries.save(summary)
    for words in ("zebra", "okapi", "hay", "gnu"):
        (hit,) = await store.search.words(Query(words, session.project_id))
        assert (hit.kind, hit.id, hit.level) == (HitKind.SUMMARY, top.id, 2)
        assert (hit.turn_id, hit.turn_index, hit.at) == (turns[1].id, 1, top.at)
        assert (hit.session_id, hit.session_title, hit.cwd, hit.tool) == (session.id, "Animals", "/zoo", "")
    (hit,) = await store.search.words(Query("zebra", session.project_id))
    assert [hit.text[start:end] for start, end in hit.marks] == ["zebra"]


async def test_summary_is_found_in_its_scope_only(store: Store) -> None:
    session = await new_session(store)
    (turn,) = await conversation(store, session, 1)
    summary = a_summary(session, "zebra", turn)
    await store.summaries.save(summary)
    other = await new_session(store)
    for query in (
        Query("zebra", project_id=session.project_id),
        Query("zebra", session_id=session.id),
        Query("zebra", session.project_id, since=turn.started_at),
    ):
        assert [hit.id for hit in await store.search.words(query)] == [summary.id]
    for query in (
        Query("zebra", project_id=other.project_id),
        Query("zebra", session_id=other.id),
        Query("zebra", session.project_id, since=turn.started_at + timedelta(milliseconds=1)),
    ):
        assert await store.search.words(query) == []


@pytest.mark.emptied
async def test_deleted_session_takes_its_summaries_along(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 2)
    level_1 = a_summary(session, "zebra", *turns)
    level_2 = a_summary(session, "okapi", level_1)
    for summary in (level_1, level_2):
        await store.summaries.save(summary)
        await store.vectors.save([an_embedding(summary)])
    await store.sessions.delete(session.id)
    assert await store.summaries.get([level_1.id, level_2.id]) == []
    assert await store.summaries.covering([turns[0].id]) == {turns[0].id: []}
    assert await store.search.words(Query("zebra okapi")) == []
    assert await store.vectors.lacking("static:minilm-256-2") == []
    assert await store.check() == []


@pytest.mark.emptied
async def test_summary_goes_with_its_session_though_the_turn_stays_and_lacks_one_again(store: Store) -> None:
    session = await new_session(store)
    (shared,) = await conversation(store, session, 1)
    summary = a_summary(session, "zebra", shared)
    await store.summaries.save(summary)
    fork = await new_session(store, head=shared.id, forked_from=session.id)
    await store.sessions.delete(session.id)
    assert await store.summaries.get([summary.id]) == []
    assert [(turn.id, turn.session_id) for turn in await store.summaries.lacking()] == [(shared.id, fork.id)]
    assert await store.summaries.lacking(project_id=session.project_id) == []
    assert await store.check() == []


@pytest.mark.emptied
async def test_summary_of_what_was_deleted_goes_too_whoever_has_it(store: Store) -> None:
    project = a_project()
    await store.projects.add(project)
    session = await new_session(store, project)
    (shared,) = await conversation(store, session, 1)
    fork = await new_session(store, project, head=shared.id, forked_from=session.id)
    own = await said(store, fork, parent=shared)
    theirs, ours = a_summary(session, "theirs", shared), a_summary(fork, "ours", own)
    both = a_summary(fork, "both", theirs, ours)
    for summary in (theirs, ours, both):
        await store.summaries.save(summary)
    await store.sessions.delete(session.id)
    assert await store.summaries.of_session(fork.id) == [ours]
    assert await store.summaries.of_session(fork.id, uncovered=True) == [ours]
    assert await store.check() == []


async def test_text_that_no_database_can_hold_is_kept_as_well_as_it_can_be(store: Store) -> None:
    session = await new_session(store)
    (turn,) = await conversation(store, session, 1)
    summary = a_summary(session, "half \ud800 zebra", turn, topics=("\udfff",))
    await store.summaries.save(summary)
    (found,) = await store.summaries.get([summary.id])
    assert found == replace(summary, text="half \ufffd zebra", topics=("\ufffd",))
    assert await store.summaries.get(["\ud800"]) == []
