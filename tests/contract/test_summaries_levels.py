"""Summaries over summaries: rolled up once, made anew where what is below changed."""

import asyncio

from msgspec.structs import replace

from ragforge.domain.ids import new_id
from ragforge.domain.summaries import SummaryMethod
from ragforge.store.base import Store
from tests.contract.builders import (
    a_project,
    a_summary,
    conversation,
    new_session,
)
from tests.contract.conftest import Opener

EXTRACT = SummaryMethod.EXTRACTIVE


async def test_roll_up_covers_each_child_once(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 3)
    level_1 = [a_summary(session, "part", turn) for turn in turns]
    for summary in level_1:
        await store.summaries.save(summary)
    first = a_summary(session, "first two", *level_1[:2])
    assert await store.summaries.roll_up(first)
    assert not await store.summaries.roll_up(a_summary(session, "last two", *level_1[1:]))
    assert await store.summaries.roll_up(first), "the same again is kept, not refused"
    assert await store.summaries.of_session(session.id, level=2) == [first]
    assert await store.summaries.roll_up(a_summary(session, "the last", level_1[2]))


async def test_of_many_roll_ups_at_once_one_is_kept(opener: Opener) -> None:
    stores = [await opener() for _ in range(2)]
    session = await new_session(stores[0])
    turns = await conversation(stores[0], session, 3)
    level_1 = [a_summary(session, "part", turn) for turn in turns]
    for summary in level_1:
        await stores[0].summaries.save(summary)
    # Every pair of neighbours, and all of them: whichever comes first, no child may be covered twice.
    tries = [a_summary(session, "pair", *level_1[at : at + 2]) for at in (0, 1)] * 4
    tries += [a_summary(session, "all", *level_1) for _ in range(4)]
    rolled = [replace(each, id=new_id()) for each in tries]
    kept = await asyncio.gather(
        *(stores[number % 2].summaries.roll_up(summary) for number, summary in enumerate(rolled))
    )
    found = await stores[1].summaries.of_session(session.id, level=2)
    assert {each.id for each in found} == {
        summary.id for summary, was_kept in zip(rolled, kept, strict=True) if was_kept
    }
    covered = [child for each in found for child in each.covers]
    assert covered
    assert len(covered) == len(set(covered))


async def test_covering_finds_every_level_that_stands_for_a_turn(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 4)
    level_1 = [a_summary(session, "pair", *turns[:2]), a_summary(session, "one", turns[2])]
    level_2 = a_summary(session, "both", *level_1)
    level_3 = a_summary(session, "top", level_2)
    for summary in (*level_1, level_2, level_3):
        await store.summaries.save(summary)
    found = await store.summaries.covering([turns[3].id, turns[2].id, turns[0].id, "nowhere"])
    assert found == {
        turns[3].id: [],
        turns[2].id: [level_1[1], level_2, level_3],
        turns[0].id: [level_1[0], level_2, level_3],
        "nowhere": [],
    }
    assert await store.summaries.covering([]) == {}


async def test_extracts_of_level_1_are_listed_until_a_models_summary_takes_their_place(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 3)
    extracts = [a_summary(session, f"part {turn.index}", turn, method=EXTRACT) for turn in turns[:2]]
    for summary in (*extracts, a_summary(session, "by a model", turns[2])):
        await store.summaries.save(summary)
    over = a_summary(session, "both", *extracts, method=EXTRACT)
    await store.summaries.save(over)
    assert await store.summaries.stand_ins(project_id=session.project_id) == extracts[::-1]
    assert await store.summaries.stand_ins(project_id=session.project_id, limit=1) == extracts[1:]
    assert await store.summaries.stand_ins(project_id="nowhere") == []
    await store.summaries.save(replace(extracts[0], text="better", method=SummaryMethod.MODEL))
    assert await store.summaries.stand_ins(project_id=session.project_id) == extracts[1:]


async def test_extracts_over_a_models_summaries_are_listed_from_the_lowest_level_up(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 4)
    ones = [a_summary(session, f"part {turn.index}", turn) for turn in turns]
    ones[3] = replace(ones[3], method=EXTRACT)
    over = a_summary(session, "over a model's", *ones[:2], method=EXTRACT)
    mixed = a_summary(session, "over one of each", *ones[2:], method=EXTRACT)
    above = a_summary(session, "above both", over, mixed, method=EXTRACT)
    for summary in (*ones, over, mixed, above):
        await store.summaries.save(summary)
    assert await store.summaries.upper_stand_ins(project_id=session.project_id) == [over]
    await store.summaries.save(replace(ones[3], text="better", method=SummaryMethod.MODEL))
    assert await store.summaries.upper_stand_ins(project_id=session.project_id) == [over, mixed]
    assert await store.summaries.upper_stand_ins(project_id=session.project_id, limit=1) == [over]
    assert await store.summaries.upper_stand_ins(project_id="nowhere") == []
    for summary in (over, mixed):
        await store.summaries.save(replace(summary, text="better", method=SummaryMethod.MODEL))
    assert await store.summaries.upper_stand_ins(project_id=session.project_id) == [above]


async def test_extract_never_takes_the_place_of_a_models_summary(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 2)
    levels = [a_summary(session, "one", turn) for turn in turns]
    over = a_summary(session, "two", *levels)
    for summary in (*levels, over):
        await store.summaries.save(summary)
    for summary in (levels[0], over):
        await store.summaries.save(replace(summary, text="an extract", method=EXTRACT))
        await store.summaries.roll_up(replace(summary, text="an extract", method=EXTRACT))
    assert await store.summaries.get([levels[0].id, over.id]) == [levels[0], over]
    assert await store.summaries.outdated(project_id=session.project_id) == []


async def test_summary_over_one_whose_text_changed_is_outdated_until_it_is_saved_anew(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 2)
    parts = [a_summary(session, f"part {turn.index}", turn, method=EXTRACT) for turn in turns]
    for summary in parts:
        await store.summaries.save(summary)
    over = a_summary(session, "both", *parts)
    assert await store.summaries.roll_up(over)
    top = a_summary(session, "all", over)
    await store.summaries.save(top)
    assert await store.summaries.outdated(project_id=session.project_id) == []
    # The same text again changes nothing.
    await store.summaries.save(replace(parts[0], method=SummaryMethod.MODEL))
    assert await store.summaries.outdated(project_id=session.project_id) == []
    await store.summaries.save(replace(parts[1], text="better", method=SummaryMethod.MODEL))
    assert await store.summaries.outdated(project_id=session.project_id) == [over]
    assert await store.summaries.outdated(project_id="nowhere") == []
    anew = replace(over, text="both, better")
    await store.summaries.save(anew)
    assert await store.summaries.outdated(project_id=session.project_id) == [top]
    # That what was made of the new text is the same as before says so too.
    await store.summaries.save(top)
    assert await store.summaries.outdated(project_id=session.project_id) == []
    assert await store.summaries.get([over.id, top.id]) == [anew, top]


async def test_sessions_are_listed_where_one_level_holds_more_than_is_let_lie(store: Store) -> None:
    project = a_project()
    await store.projects.add(project)
    short, long = [await new_session(store, project) for _ in range(2)]
    await conversation(store, short, 1, answer="a" * 100)
    turns = await conversation(store, long, 3, answer="a" * 1_000)
    in_project = {"project_id": project.id}
    assert await store.summaries.sessions_to_roll_up(2_000, **in_project) == [long.id]
    assert await store.summaries.sessions_to_roll_up(10, **in_project) == [short.id, long.id]
    assert await store.summaries.sessions_to_roll_up(10, **in_project, limit=1) == [short.id]
    assert await store.summaries.sessions_to_roll_up(10, project_id="nowhere") == []
    # A summary of level 1 only retells its turn; one of level 2 stands for it.
    parts = [a_summary(long, "b" * 30, turn) for turn in turns]
    for summary in parts:
        await store.summaries.save(summary)
    assert await store.summaries.sessions_to_roll_up(2_000, **in_project) == [long.id]
    await store.summaries.roll_up(a_summary(long, "c" * 500, *parts))
    assert await store.summaries.sessions_to_roll_up(2_000, **in_project) == []
    assert await store.summaries.sessions_to_roll_up(400, **in_project) == [long.id]
    assert await store.summaries.sessions_to_roll_up(500, **in_project) == []
