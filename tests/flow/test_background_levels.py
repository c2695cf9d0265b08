"""Summaries of summaries, made beside the conversation."""

from collections import Counter
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ragforge.domain.ids import now
from ragforge.domain.summaries import SummaryMethod
from ragforge.memory.derive.levels import due
from ragforge.session.state import Session
from ragforge.store.base import keep_project
from tests.contract.builders import a_session, said
from tests.flow.beside import all_embedded, beside, by_the_model, until
from tests.flow.running import environ
from tests.standins.gemini import GeminiStandIn, Recorded, ServerError

ANSWER = "It was looked at, and all of it is in order now. "


def small(tmp_path: Path, gemini: GeminiStandIn, model: str = "") -> dict[str, str]:
    """An environment in which a few turns make the next level due."""
    env = environ(
        tmp_path, gemini, RAGFORGE_MEMORY_RAW_CHARS_MAX="200", RAGFORGE_MEMORY_LEVEL_CHARS_MAX="400"
    )
    return env | ({"RAGFORGE_MEMORY_MODEL": model} if model else {})


async def filled(session: Session, count: int) -> str:
    """The id of a session with so many turns that nobody summarised yet."""
    store, project = session.workspace.store, session.workspace.project
    await keep_project(store, project)
    # Of today: what nobody touched for a week is summed up whole.
    began = now() - timedelta(hours=12)
    another = a_session(project.id, started_at=began, last_activity_at=began)
    await store.sessions.add(another)
    turn = await said(store, another, "Question 0.", started_at=began, answer=ANSWER)
    for number in range(1, count):
        turn = await said(store, another, f"Question {number}.", parent=turn, answer=ANSWER)
    return another.id


async def settled(session: Session, of: str) -> bool:
    """Whether nothing is left to do in the session with this id."""
    store = session.workspace.store
    if await store.summaries.lacking(limit=1) or await store.summaries.outdated(limit=1):
        return False
    return not await due(store, of, session.workspace.settings.memory) and await all_embedded(session)


async def all_of(session: Session, of: str) -> list[Any]:
    return await session.workspace.store.summaries.of_session(of)


async def test_level_2_compared_offsets_of_different_units_and_summarised_the_same_level_1_again(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    env = small(tmp_path, gemini, "local")
    async with beside(tmp_path, env) as session:
        of = await filled(session, 60)
        session.workspace.background.start(session)
        session.workspace.background.turn_ended(session, (await first_turn(session, of)))
        await until(partial(settled, session, of))
        before = await all_of(session, of)
        assert {summary.level for summary in before} >= {1, 2, 3}
        covered = [(summary.level, child) for summary in before for child in summary.covers]
        assert len(covered) == len(set(covered))
        assert [s.turn_count for s in before if s.level == 2] == [
            len(s.covers) for s in before if s.level == 2
        ]
    async with beside(tmp_path, env) as later:
        store = later.workspace.store
        old = await store.sessions.get(of)
        assert old is not None
        head = await store.turns.get(old.head or "")
        new = await said(store, old, "one more", parent=head, answer=ANSWER)
        later.workspace.background.turn_ended(later, new.id)
        await until(partial(settled, later, of))
        after = {summary.id: summary for summary in await all_of(later, of)}
        assert {summary.id: summary for summary in before}.items() <= after.items()
        known = {summary.id for summary in before}
        added = Counter(summary.level for summary in after.values() if summary.id not in known)
        assert set(added.values()) == {1}, "one turn more is at most one more of each level"


async def first_turn(session: Session, of: str) -> str:
    record = await session.workspace.store.sessions.get(of)
    assert record is not None
    return (await session.workspace.store.turns.path(record.head))[0].id


async def test_what_stands_on_stand_ins_is_made_anew_once_when_they_are_replaced(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    async with beside(tmp_path, small(tmp_path, gemini, "local")) as session:
        of = await filled(session, 9)
        session.workspace.background.turn_ended(session, await first_turn(session, of))
        await until(partial(settled, session, of))
        [stand_in] = [each for each in await all_of(session, of) if each.level == 2]
        assert stand_in.method is SummaryMethod.EXTRACTIVE
    gemini.always_structured(by_the_model("Understood by a model."))
    async with beside(tmp_path, small(tmp_path, gemini)) as later:

        async def replaced() -> bool:
            methods = {each.method for each in await all_of(later, of)}
            return methods == {SummaryMethod.MODEL} and await settled(later, of)

        await until(replaced)
        [second] = [each for each in await all_of(later, of) if each.level == 2]
        assert (second.id, second.covers) == (stand_in.id, stand_in.covers)
        of_turns = [
            request for request in gemini.structured() if "turns" in (request.schema or {})["properties"]
        ]
        assert len(of_turns) == 9
        assert len(gemini.structured()) == 9 + 1


async def test_a_roll_up_that_failed_is_made_good_at_the_next_start(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    def of_turns(request: Recorded) -> bool:
        return "turns" in (request.schema or {})["properties"]

    by_model = by_the_model("Understood by a model.")
    gemini.always_structured(lambda request: by_model(request) if of_turns(request) else ServerError())
    env = small(tmp_path, gemini) | {"RAGFORGE_RETRY_ATTEMPTS_MAX": "1"}
    async with beside(tmp_path, env) as session:
        of = await filled(session, 9)
        session.workspace.background.turn_ended(session, await first_turn(session, of))
        await until(partial(settled, session, of))
        [stand_in] = [each for each in await all_of(session, of) if each.level == 2]
        assert stand_in.method is SummaryMethod.EXTRACTIVE
        assert sum(not of_turns(request) for request in gemini.structured()) >= 2
    gemini.always_structured(by_model)
    async with beside(tmp_path, env) as later:

        async def made_good() -> bool:
            return {each.method for each in await all_of(later, of)} == {SummaryMethod.MODEL}

        await until(made_good)
        [second] = [each for each in await all_of(later, of) if each.level == 2]
        assert (second.id, second.covers) == (stand_in.id, stand_in.covers)


async def test_one_that_could_not_be_made_anew_is_tried_again_though_nothing_else_happens(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    failing: list[Recorded] = []

    def unlucky(request: Recorded) -> Any:
        if "turns" in (request.schema or {})["properties"] or len(failing) == 2:
            return by_model(request)
        failing.append(request)
        return ServerError()

    by_model = by_the_model("Understood by a model.")
    gemini.always_structured(by_model)
    async with beside(tmp_path, small(tmp_path, gemini) | {"RAGFORGE_RETRY_ATTEMPTS_MAX": "1"}) as session:
        of = await filled(session, 9)
        first = await first_turn(session, of)
        session.workspace.background.turn_ended(session, first)
        await until(partial(settled, session, of))
        gemini.always_structured(unlucky)
        [second] = [each for each in await all_of(session, of) if each.level == 2]
        changed = next(
            each
            for each in await all_of(session, of)
            if each.id in second.covers and first not in each.covers
        )
        await session.workspace.store.summaries.save(replace(changed, text="It was something else."))
        session.workspace.background.turn_ended(session, first)
        await until(partial(settled, session, of))
    assert len(failing) == 2


async def test_turns_of_a_branch_that_was_left_are_not_rolled_up(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    async with beside(tmp_path, small(tmp_path, gemini, "local")) as session:
        store = session.workspace.store
        of = await filled(session, 9)
        record = await store.sessions.get(of)
        assert record is not None
        turns = await store.turns.path(record.head)
        # Undone: from the third turn the conversation goes another way.
        other = await said(store, record, "another way", parent=turns[2], answer=ANSWER)
        session.workspace.background.turn_ended(session, other.id)
        await until(partial(settled, session, of))
        summaries = await all_of(session, of)
        assert len([each for each in summaries if each.level == 1]) == 10
        assert [each for each in summaries if each.level > 1] == []
        # Redone: what was left lies on the path again, and is due.
        await store.sessions.set_head(of, turns[-1].id)
        session.workspace.background.turn_ended(session, turns[-1].id)

        async def rolled_up() -> bool:
            return any(each.level == 2 for each in await all_of(session, of))

        await until(rolled_up)
