from datetime import timedelta

import pytest
from msgspec.structs import replace

from ragforge.domain.ids import new_id
from ragforge.domain.messages import ModelMessage
from ragforge.domain.usage import Purpose, StatisticsGroup, Usage
from ragforge.store.base import Store
from ragforge.store.base_conversations import PersonUsage, StatisticsRow, UsageRow
from tests.contract.builders import NOON, a_project, a_spending, a_step, a_turn, an_end, new_session
from tests.contract.builders_versions import new_version


async def test_usage_is_summed_by_model_most_expensive_first(store: Store) -> None:
    session = await new_session(store)
    turn = a_turn(session)
    await store.turns.start(turn)
    await store.turns.save_step(a_step(turn, 0, cost_usd=0.25))
    await store.turns.save_step(a_step(turn, 1, cost_usd=0.5))
    await store.turns.end(an_end(turn, last_step=a_step(turn, 2, message=_by("big"), cost_usd=2.0)))
    assert await store.usage.by_model(project_id=session.project_id) == [
        UsageRow("gemini:big", Purpose.CHAT, 1, Usage(100, 40, 10, 5), 2.0),
        UsageRow("gemini:a", Purpose.CHAT, 2, Usage(200, 80, 20, 10), 0.75),
    ]


async def test_unknown_price_is_never_zero(store: Store) -> None:
    session = await new_session(store)
    turn = a_turn(session)
    await store.turns.start(turn)
    await store.turns.save_step(a_step(turn, 0, cost_usd=None))
    await store.turns.save_step(a_step(turn, 1, cost_usd=0.5))
    (row,) = await store.usage.by_model(project_id=session.project_id)
    assert row.cost_usd is None


async def test_turns_of_a_program_are_summed_as_its_calls_and_are_no_prompts(store: Store) -> None:
    session = await new_session(store)
    said = a_turn(session)
    await store.turns.start(said)
    await store.turns.end(an_end(said, last_step=a_step(said, cost_usd=0.25)))
    handed_over = a_turn(session, parent=said, purpose=Purpose.PROGRAM)
    await store.turns.start(handed_over)
    await store.turns.end(an_end(handed_over, last_step=a_step(handed_over, cost_usd=0.5)))
    found = await store.turns.get(handed_over.id)
    assert found
    assert found.purpose is Purpose.PROGRAM
    expected = [(Purpose.PROGRAM, 0.5), (Purpose.CHAT, 0.25)]
    rows = await store.usage.by_model(project_id=session.project_id)
    assert [(row.purpose, row.cost_usd) for row in rows] == expected
    (row,) = await store.usage.statistics(StatisticsGroup.PROJECT, project_id=session.project_id)
    assert (row.sessions, row.prompts, row.calls, row.cost_usd) == (1, 1, 2, 0.75)
    await store.sessions.delete(session.id)
    rows = await store.usage.by_model(project_id=session.project_id)
    assert [(row.purpose, row.cost_usd) for row in rows] == expected


async def test_what_no_model_answered_is_no_call(store: Store) -> None:
    session = await new_session(store)
    turn = a_turn(session)
    await store.turns.start(turn)
    unanswered = a_step(turn, 1, message=ModelMessage("local", "search", "Found"), cost_usd=0.0)
    await store.turns.save_step(a_step(turn, 0, cost_usd=0.5))
    await store.turns.end(an_end(turn, last_step=unanswered))
    for stored in (1, 0):
        rows = await store.usage.by_model(project_id=session.project_id)
        assert [(row.model, row.calls, row.cost_usd) for row in rows] == [("gemini:a", 1, 0.5)]
        (user,) = await store.usage.by_person(project_id=session.project_id)
        assert (user.calls, user.cost_usd) == (1, 0.5)
        (row,) = await store.usage.statistics(StatisticsGroup.PROJECT, project_id=session.project_id)
        assert (row.sessions, row.calls, row.cost_usd) == (stored, 1, 0.5)
        await store.sessions.delete(session.id)


@pytest.mark.emptied
async def test_usage_keeps_to_session_project_and_time(store: Store) -> None:
    project = a_project()
    await store.projects.add(project)
    sessions = [
        await new_session(store, project),
        await new_session(store, project),
        await new_session(store),
    ]
    for day, session in enumerate(sessions):
        turn = a_turn(session, started_at=NOON + timedelta(days=day))
        await store.turns.start(turn)
        await store.turns.save_step(a_step(turn))

    async def calls(**scope: object) -> int:
        return sum(row.calls for row in await store.usage.by_model(**scope))

    assert await calls() == 3
    assert await calls(project_id=project.id) == 2
    assert await calls(session_id=sessions[2].id) == 1
    assert await calls(since=NOON + timedelta(days=1)) == 2
    assert await calls(project_id=project.id, since=NOON + timedelta(days=1)) == 1
    assert await calls(project_id="nowhere") == 0
    assert await store.usage.by_model(session_id="nowhere") == []


async def test_calls_that_are_no_steps_are_summed_apart_by_their_purpose(store: Store) -> None:
    session = await new_session(store)
    turn = a_turn(session)
    await store.turns.start(turn)
    await store.turns.end(an_end(turn, last_step=a_step(turn, cost_usd=0.25)))
    summary = a_spending(session, model="gemini:a", cost_usd=0.5)
    recall = a_spending(session, model="gemini:a", purpose=Purpose.RECALL, cost_usd=None)
    for spent in (summary, summary, a_spending(session, model="gemini:a", cost_usd=1.0), recall):
        await store.usage.add(spent)
    assert await store.usage.by_model(project_id=session.project_id) == [
        UsageRow("gemini:a", Purpose.RECALL, 1, Usage(50, 0, 20, 0), None),
        UsageRow("gemini:a", Purpose.SUMMARY, 2, Usage(100, 0, 40, 0), 1.5),
        UsageRow("gemini:a", Purpose.CHAT, 1, Usage(100, 40, 10, 5), 0.25),
    ]


@pytest.mark.emptied
async def test_what_was_spent_keeps_to_session_project_and_time(store: Store) -> None:
    project = a_project()
    await store.projects.add(project)
    session, other = await new_session(store, project), await new_session(store)
    for spent in (
        a_spending(session),
        a_spending(project, at=NOON + timedelta(days=1)),
        a_spending(other, at=NOON + timedelta(days=2)),
    ):
        await store.usage.add(spent)

    async def calls(**scope: object) -> int:
        return sum(row.calls for row in await store.usage.by_model(**scope))

    assert await calls() == 3
    assert await calls(project_id=project.id) == 2
    assert await calls(session_id=session.id) == 1
    assert await calls(since=NOON + timedelta(days=1)) == 2
    assert await calls(since=NOON + timedelta(days=1, milliseconds=1)) == 1
    assert await calls(project_id=project.id, since=NOON + timedelta(days=1)) == 1


@pytest.mark.emptied
async def test_usage_is_told_apart_by_who_wrote_and_for_whom(store: Store) -> None:
    session = await new_session(store, person="ada@example.org")
    by_ada = a_turn(session, person="ada@example.org")
    by_bob = a_turn(session, parent=by_ada, person="bob@example.org")
    for turn in (by_ada, by_bob):
        await store.turns.start(turn)
        await store.turns.end(an_end(turn, last_step=a_step(turn, cost_usd=0.25)))
    assert [each.person for each in await store.turns.read([by_ada.id, by_bob.id])] == [
        "ada@example.org",
        "bob@example.org",
    ]
    await store.usage.add(a_spending(session, person="bob@example.org", cost_usd=0.5))
    await store.usage.add(a_spending(session, cost_usd=None))
    assert await store.usage.by_person(project_id=session.project_id) == [
        PersonUsage("", 1, Usage(50, 0, 20, 0), None),
        PersonUsage("bob@example.org", 2, Usage(150, 40, 30, 5), 0.75),
        PersonUsage("ada@example.org", 1, Usage(100, 40, 10, 5), 0.25),
    ]
    assert await store.usage.by_person(project_id="nowhere") == []
    bobs = await store.usage.by_model(person="bob@example.org")
    assert {(row.purpose, row.cost_usd) for row in bobs} == {(Purpose.SUMMARY, 0.5), (Purpose.CHAT, 0.25)}
    assert await store.usage.by_model(person="bob@example.org", since=NOON + timedelta(days=1)) == []
    assert await store.check() == []


async def test_statistics_count_what_was_done_and_cost_what_the_models_do(store: Store) -> None:
    session = await new_session(store)
    first, late = a_turn(session, person="ada"), NOON + timedelta(hours=13)
    undone = a_turn(session, parent=first, started_at=late, person="bob")
    for turn in (first, undone):
        await store.turns.start(turn)
    await store.turns.save_step(a_step(first, 0, cost_usd=0.25))
    await store.turns.end(an_end(first, last_step=a_step(first, 1, message=_by("big"), cost_usd=0.5)))
    await store.turns.save_step(a_step(undone, 0, cost_usd=None))
    await store.sessions.set_head(session.id, first.id)
    await new_version(store, session, turn_id=first.id, by="gemini:big")
    await new_version(store, session, by="user")
    await store.usage.add(a_spending(session, person="ada", model="gemini:a", cost_usd=1.0))
    here = session.project_id

    async def rows(group: StatisticsGroup, **scope: object) -> list[StatisticsRow]:
        return await store.usage.statistics(group, project_id=here, **scope)

    ada = StatisticsRow("ada", 1, 1, 0, 1, 3, Usage(250, 80, 40, 10), 1.75)
    bob = StatisticsRow("bob", 1, 1, 1, 0, 1, Usage(100, 40, 10, 5), None)
    assert await rows(StatisticsGroup.USER) == [ada, bob]
    assert await rows(StatisticsGroup.USER, since=late) == [bob]
    assert await rows(StatisticsGroup.PROJECT, person="ada") == [replace(ada, name=here)]
    assert await rows(StatisticsGroup.MODEL) == [
        StatisticsRow("gemini:a", 1, 2, 1, 0, 3, Usage(250, 80, 40, 10), None),
        StatisticsRow("gemini:big", 1, 1, 0, 1, 1, Usage(100, 40, 10, 5), 0.5),
    ]
    next_day = f"{late:%Y-%m-%d}"
    assert await rows(StatisticsGroup.DAY) == [
        replace(ada, name=f"{NOON:%Y-%m-%d}"),
        replace(bob, name=next_day),
    ]
    (day,) = await rows(StatisticsGroup.DAY, offset=timedelta(hours=-2))
    assert (day.name, day.sessions, day.prompts, day.cost_usd) == (f"{NOON:%Y-%m-%d}", 1, 2, None)
    by_model = await store.usage.by_model(project_id=here, person="ada")
    assert sum(row.cost_usd or 0 for row in by_model) == ada.cost_usd
    assert await store.usage.statistics(StatisticsGroup.DAY, project_id="nowhere") == []


async def test_a_session_that_was_never_stored_spends_but_does_not_count(store: Store) -> None:
    """Such as that of a run of a program, in which work in the background was done."""
    session = await new_session(store)
    for each in (a_spending(session), replace(a_spending(session), id=new_id(), session_id=new_id())):
        await store.usage.add(each)
    (row,) = await store.usage.statistics(StatisticsGroup.PROJECT, project_id=session.project_id)
    assert (row.sessions, row.calls, row.cost_usd) == (1, 2, 0.25)


@pytest.mark.emptied
async def test_what_a_deleted_session_spent_still_counts_for_its_project(store: Store) -> None:
    session = await new_session(store)
    spent = a_spending(session)
    await store.usage.add(spent)
    await store.sessions.delete(session.id)
    await store.usage.add(replace(spent, id=new_id()))
    (row,) = await store.usage.by_model(project_id=session.project_id)
    assert (row.calls, row.purpose, row.cost_usd) == (2, Purpose.SUMMARY, 0.25)
    assert await store.check() == []


def _by(model: str) -> ModelMessage:
    return ModelMessage("gemini", model, "Done.")
