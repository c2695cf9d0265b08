"""Foresight: what the model is given and asked after a turn, and what is kept of its answer."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ragforge.commands.base import run_command
from ragforge.domain.approvals import Mode
from ragforge.domain.derivations import DerivedFilter, Underived
from ragforge.domain.foresight import FIRST, FIRST_RECORD, KIND, NOTHING_YET, Foresight
from ragforge.memory.foresight_records import read_foresight
from ragforge.session.background.model import NO_MODEL
from ragforge.session.state import Session
from ragforge.session.suggestion import next_message
from tests.contract.builders import NOON
from tests.flow.beside import an_answer, beside, done, until
from tests.flow.moving import turn, write
from tests.flow.recalling import block_of, chats
from tests.flow.running import environ, say
from tests.standins.gemini import Call, Calls, GeminiStandIn, JsonText, Text, Until

ANSWER: dict[str, Any] = {
    "individual_before_description": "The parser reads dates.",
    "collective_before_description": "Dates work; tests are missing.",
    "predictability_individual": 7,
    "predictability_collective": None,
    "collective_after_prediction": "The tests cover dates.",
    "individual_after_prediction": "A test of the parser is added.",
    "next_messages": ["Add a test.", "x" * 200, "Commit it.", "A fourth."],
    "files_foreseen": ["tests/test_parser.py"],
}


def foreseeing(of_call: Callable[[int], dict[str, Any]]) -> Any:
    """A reply to the n-th structured call, from 1, with this foresight of each turn."""
    calls = 0

    def reply(request: Any) -> Any:
        nonlocal calls
        calls += 1
        answer = an_answer(request.schema, f"Summary {calls}.")
        for one in answer["turns"]:
            one["foresight"] = of_call(calls)
        return JsonText(answer)

    return reply


async def records(session: Session, count: int) -> list[Foresight]:
    """What was made after each turn of the path, once there is so much."""
    workspace = session.workspace

    async def found() -> list[Foresight]:
        rows = await read_foresight(
            workspace.store, workspace.project.id, session.live.record.head, person=workspace.person
        )
        made = [row.made for row in rows if row.made is not None]
        return made if len(made) >= count else []

    return await until(found)


async def test_a_prediction_is_rated_after_the_next_turn_and_given_up_to_the_depth(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    gemini.always_structured(
        foreseeing(
            lambda call: {
                **ANSWER,
                "individual_after_prediction": f"task {call}!",
                "collective_after_prediction": f"project {call}!",
            }
        )
    )
    async with beside(tmp_path, environ(tmp_path, gemini)) as session:
        for number in range(1, 10):
            await say(session, f"Do step {number}.")
            await done(session)
        made = await records(session, 9)
        store = session.workspace.store
        [first] = await store.derivations.get(
            [FIRST.record(Underived(session.id, "", NOON), FIRST_RECORD).id]
        )
    calls = [str(call.body) for call in gemini.structured()]
    assert len(calls) == 9, "there is no further call"
    assert f"individual, for this turn: {NOTHING_YET}" in calls[0]
    assert "individual, for this turn: task 3!" in calls[3], "what was made after turn 3, in the call after 4"
    assert "collective, for the turn before: project 2!" in calls[3]
    for call, text in ((7, "task 3!"), (5, "project 3!")):
        assert text in calls[call]
        assert text not in calls[call + 1], "it is beyond the depth"
    assert calls[7].index("task 3!") < calls[7].index("task 7!"), "the newest comes last"
    assert KIND.read(first) == FIRST_RECORD
    assert (made[0].predictability_individual, made[0].words_individual) == (None, None)
    last = made[-1]
    assert (last.predictability_individual, last.predictability_collective) == (7, None)
    assert last.words_individual == 0
    assert last.meaning_individual is not None
    assert last.next_messages == ("Add a test.", "x" * 80, "Commit it.")
    assert last.files_foreseen == ("tests/test_parser.py",)
    assert last.model_predicted.startswith("gemini:")
    assert last.model_worked == session.live.record.model


async def test_nothing_is_predicted_once_the_next_turn_has_begun(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    late, gemini_answer = asyncio.Event(), foreseeing(lambda _: ANSWER)

    def held(request: Any) -> Any:
        return (Until(late), gemini_answer(request))

    gemini.script_structured(held)
    gemini.always_structured(gemini_answer)
    async with beside(tmp_path, environ(tmp_path, gemini)) as session:
        await say(session, "First.")
        await gemini.wait_for_structured(1)
        await say(session, "Second.")
        late.set()
        await done(session)
        first, second = await records(session, 2)
    assert (first.individual_before_description, first.predicts) == ("The parser reads dates.", False)
    assert (first.next_messages, first.model_predicted) == ((), "")
    assert second.predicts
    assert second.predictability_individual is None, "nothing was predicted that it could be rated against"


async def test_without_a_model_the_summary_describes_and_what_is_open_is_expected(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    todos = [{"text": "read times", "state": "active"}, {"text": "write a test", "state": "pending"}]
    gemini.script(
        Calls(Call("todo", {"items": todos})), Text("The parser reads dates now."), Text("Times work too.")
    )
    async with beside(tmp_path, environ(tmp_path, gemini, RAGFORGE_MEMORY_MODEL=NO_MODEL)) as session:
        await say(session, "Let the parser read dates.")
        workspace = session.workspace
        await done(session)
        await say(session, "And times.")
        await done(session)
        first, second = await records(session, 2)
        wanted = DerivedFilter(KIND.label, workspace.project.id)
        assert {record.model for record in await workspace.store.derivations.find(wanted)} == {""}
        assert await next_message(session, session.live.record.head or "") == "", "nothing is suggested"
    assert "dates" in first.individual_before_description
    assert second.predictability_individual == second.meaning_individual
    assert second.next_messages == ("write a test", "read times")


async def test_the_next_message_of_the_task_is_told_that_other_files_changed(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    foreseen = {
        **ANSWER,
        "files_foreseen": ["src/dates.py", "tests/test_parser.py"],
        "next_messages": ["Add a test of the parser."],
    }
    gemini.always_structured(foreseeing(lambda _: foreseen))
    async with beside(tmp_path, environ(tmp_path, gemini)) as session:
        session.live.consent.mode = Mode.ALL
        await turn(session, gemini, "Let the parser read dates.", write("src/dates.py", "1\n"))
        await done(session)
        await turn(session, gemini, "Add a test of the parser.", write("src/zones.py", "2\n"))
        await done(session)
        sent: list[str] = []
        for message in ("Hello!", "Now go on with the test of the parser."):
            gemini.script(Text("Well."))
            await say(session, message)
            sent.append(block_of(chats(gemini)[-1]))
            await done(session)
            await run_command(session, "undo", "")
    assert "## Foresight" not in sent[0], "it does not go on with the task"
    assert "## Foresight" in sent[1]
    assert "Of the turn before: 2 files foreseen, neither changed." in sent[1]


async def test_a_model_whose_answers_cannot_be_used_is_asked_for_less_until_they_can(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    gemini.always_structured(foreseeing(lambda _: {"not": "asked for"}))
    async with beside(tmp_path, environ(tmp_path, gemini)) as session:
        for number in range(5):
            await say(session, f"Do step {number}.")
            await done(session)
        made = await records(session, 5)
        local, [model] = session.workspace.local, await session.workspace.local.chosen.unusable_answers()
        asked = ["predictability_individual" in str(call.body) for call in gemini.structured()]
        assert asked == [True] * 3 + [False] * 2, "more than one in twenty of forty"
        assert [each.individual_before_description for each in made] == [f"Summary {n}." for n in range(1, 6)]
        for _ in range(40):
            await local.chosen.add_answer(model, usable=True)
        assert await local.chosen.unusable_answers() == {model: 0}
        await say(session, "Go on.")
        await done(session)
    assert "predictability_individual" in str(gemini.structured()[-1].body)
