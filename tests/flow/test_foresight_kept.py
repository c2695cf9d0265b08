"""Who may see what was foreseen, what is forgotten of it, and where there is none."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ragforge.commands.base import run_command
from ragforge.domain.derivations import DerivedFilter
from ragforge.domain.foresight import KIND, Foresight
from ragforge.domain.memories import MemoryFilter
from ragforge.domain.turns import Person
from ragforge.memory.foresight_records import read_foresight
from ragforge.session.background.model import NO_MODEL
from ragforge.session.state import Session
from tests.flow.beside import a_memory, an_answer, beside, done, until
from tests.flow.running import environ, opened, say
from tests.flow.test_foresight import ANSWER, foreseeing, records
from tests.standins.gemini import Call, Calls, GeminiStandIn, JsonText, Recorded, Text

SECRET = "The staging host is quokka7391.internal."


async def seen_by(session: Session, person: Person) -> list[Foresight]:
    workspace = session.workspace
    head = session.live.record.head
    rows = await read_foresight(workspace.store, workspace.project.id, head, person=person)
    return [row.made for row in rows if row.made is not None]


async def test_of_what_others_foresaw_the_project_is_seen_and_the_task_is_not(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    gemini.always_structured(foreseeing(lambda _: ANSWER))
    async with beside(tmp_path, environ(tmp_path, gemini)) as session:
        await say(session, "Let the parser read dates.")
        await done(session)
        [own] = await records(session, 1)
        [theirs] = await seen_by(session, Person("ada@example.org"))
    assert own.individual_after_prediction
    assert own.next_messages
    assert theirs == replace(
        own,
        individual_before_description="",
        individual_after_prediction="",
        next_messages=(),
        files_foreseen=(),
    )


async def test_what_is_forgotten_is_no_longer_foreseen(tmp_path: Path, gemini: GeminiStandIn) -> None:
    def reply(request: Recorded) -> Any:
        answer: Any = an_answer(request.schema or {}, "It was noted.", (a_memory(SECRET, "fact"),))
        for each in answer["turns"]:
            each["foresight"] = {
                **ANSWER,
                "individual_before_description": f"{SECRET} The parser reads dates.",
                "next_messages": ["Deploy to quokka7391.internal.", "Add a test."],
            }
        return JsonText(answer)

    gemini.always_structured(reply)
    async with beside(tmp_path, environ(tmp_path, gemini)) as session:
        await say(session, SECRET)
        await done(session)
        [before] = await records(session, 1)
        store, project = session.workspace.store, session.workspace.project.id
        [memory] = [
            each
            for each in await store.memories.find(MemoryFilter(project_id=project))
            if "quokka7391" in each.content
        ]
        await run_command(session, "forget", memory.id)
        [hidden] = await seen_by(session, session.workspace.person)
        assert (hidden.individual_before_description, hidden.next_messages) == ("", ())
        await run_command(session, "forget", "--undo")
        assert await seen_by(session, session.workspace.person) == [before]
        await run_command(session, "forget", f"{memory.id} --everywhere --yes")
        wanted = DerivedFilter(KIND.label, owners=(session.live.record.head or "",))
        [record] = await store.derivations.find(wanted)
        left = KIND.read(record)
        assert left is not None
    assert "quokka7391" not in str(record.data)
    assert left.next_messages == ("Add a test.",)
    assert left.cd_individual == 8 * len(left.individual_before_description)
    assert len(left.individual_before_description) < len(before.individual_before_description)


@pytest.mark.parametrize("off", ["foresight", "memory", "no-memory", "incognito"])
async def test_there_is_none_where_it_is_switched_off(
    tmp_path: Path, gemini: GeminiStandIn, off: str
) -> None:
    gemini.always_structured(foreseeing(lambda _: ANSWER))
    env = environ(tmp_path, gemini)
    if off in ("foresight", "memory"):
        env[f"RAGFORGE_{off.upper()}_ENABLED"] = "false"
    async with opened(tmp_path, env) as first:
        workspace = replace(first.workspace, recalls=off != "no-memory", incognito=off == "incognito")
        session = replace(first, workspace=workspace)
        await say(session, "Let the parser read dates.")
        await workspace.background.finish(timeout_s=30)
        wanted = DerivedFilter(KIND.label, workspace.project.id)
        assert await workspace.store.derivations.find(wanted) == []
    asked = gemini.structured()
    assert len(asked) == (off != "memory")
    assert "predictability_individual" not in str([call.body for call in asked])


async def test_turns_of_before_are_described_and_nothing_is_predicted_of_them(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    gemini.always_structured(foreseeing(lambda _: ANSWER))
    async with beside(tmp_path, environ(tmp_path, gemini, RAGFORGE_FORESIGHT_ENABLED="false")) as session:
        for number in range(3):
            await say(session, f"Do step {number}.")
            await done(session)
        head = session.live.record.head
    async with beside(tmp_path, environ(tmp_path, gemini)) as again:
        workspace = again.workspace

        async def made() -> list[Foresight]:
            rows = await read_foresight(workspace.store, workspace.project.id, head, person=workspace.person)
            found = [row.made for row in rows if row.made is not None]
            return found if len(found) == 3 else []

        described = await until(made)
    assert [each.individual_before_description for each in described] == [f"Summary {n}." for n in (1, 2, 3)]
    assert not any(each.predicts for each in described)
    assert [each.units_individual for each in described] == [0, 0, 0]
    assert len(gemini.structured()) == 3, "no model is asked for it"


async def test_a_better_model_describes_anew_and_keeps_what_was_predicted_in_time(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    todos = [{"text": "read times", "state": "active"}]
    home = tmp_path / "project"
    offline = environ(tmp_path, gemini, RAGFORGE_MEMORY_MODEL=NO_MODEL, HOME=str(home))
    async with beside(tmp_path, offline) as session:
        gemini.script(Calls(Call("todo", {"items": todos})), Text("The parser reads dates now."))
        await say(session, "Let the parser read dates.")
        await done(session)
        gemini.script(Text("Times work too."))
        await say(session, "And times.")
        await done(session)
        head = session.live.record.head
        [expected, _] = await records(session, 2)
    assert (expected.individual_after_prediction, expected.model_predicted) == ("read times", "")
    gemini.always_structured(foreseeing(lambda _: ANSWER))
    async with beside(tmp_path, environ(tmp_path, gemini, HOME=str(home))) as again:
        workspace = again.workspace

        async def described() -> list[Foresight]:
            rows = await read_foresight(workspace.store, workspace.project.id, head, person=workspace.person)
            return [each.made for each in rows if each.made] if all(each.model for each in rows) else []

        first, second = await until(described)
    assert first.individual_before_description == ANSWER["individual_before_description"]
    assert (first.individual_after_prediction, first.model_predicted) == ("read times", "")
    assert second.predictability_individual == ANSWER["predictability_individual"]
    assert (first.units_individual, first.u_individual, first.cd_individual) == (None, None, 8 * 23)
