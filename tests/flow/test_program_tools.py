"""Programs that call tools and hand tasks to the assistant: with the consent of any call, as versions."""

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from ragforge.commands.base import Follow, Report, UserQuestion
from ragforge.commands.program_run import RunFront
from ragforge.commands.run import VERB as RUN
from ragforge.commands.run import RunArguments, execution_for
from ragforge.domain.approvals import ApprovalAnswer, ConsentAnswer, Mode
from ragforge.domain.errors import RagforgeError
from ragforge.domain.messages import text_of
from ragforge.domain.programs import ProgramView
from ragforge.domain.turns import Turn
from ragforge.domain.usage import Purpose, StatisticsGroup, sum_costs
from ragforge.memory.derive.turn_material import says_nothing
from ragforge.memory.task_figures import measured_tasks
from ragforge.session.metrics import all_counts
from ragforge.session.state import Session
from ragforge.versions.clean_up import lacking
from tests.flow.moving import turn
from tests.flow.running import MODEL, environ, opened
from tests.standins.gemini import Call, Calls, Finish, GeminiStandIn, JsonText, Text, Tokens


async def run(session: Session, name: str, *inputs: str, consent: ConsentAnswer) -> list[str]:
    """What the program shows and says, where each call that is asked about is answered so."""
    front = RunFront()
    execution = await execution_for(session, RunArguments(name, input=inputs), front.front)
    heard: list[str] = []
    async for each in front.follow(execution):
        match each:
            case UserQuestion():
                heard.append(f"asked about {each.request.tool if each.request else each.text}")
                each.reply(ApprovalAnswer(consent))
            case Report():
                heard.append(str(each.exact).strip())
            case _:
                heard.append(str(each))
    return heard


TOOLS = """\
.program tools
.needs tools
    TOOL_EXEC $A, 'write', {path: 'made.txt', content: 'by a program'}
    TOOL_EXEC $B, 'read', {path: 'made.txt'}
    DISPLAY $B.text
"""


async def test_a_tool_asks_as_any_call_does_and_its_change_is_a_version(session: Session) -> None:
    (session.cwd / "tools.spu").write_text(TOOLS)
    with pytest.raises(RagforgeError, match="write was not allowed"):
        await run(session, "tools.spu", consent=ConsentAnswer.NO)
    assert not (session.cwd / "made.txt").exists()
    heard = await run(session, "tools.spu", consent=ConsentAnswer.ONCE)
    assert "asked about write" in heard
    assert "by a program" in heard[-1]
    rows = await session.workspace.store.versions.rows(session.workspace.project.id)
    versions = await session.workspace.store.versions.get([each.version.id for each in rows])
    assert "made.txt" in {change.path for version in versions for change in version.changes}
    assert not any("asked about read" in each for each in heard)


async def test_a_tool_is_no_call_of_a_model_no_task_and_nothing_to_understand(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    env = environ(tmp_path, gemini)
    async with opened(tmp_path, env) as session:
        (session.cwd / "tools.spu").write_text(TOOLS)
        await turn(session, gemini, "Hello")
        await run(session, "tools.spu", consent=ConsentAnswer.ONCE)
        workspace, project = session.workspace, session.workspace.project.id
        rows = await workspace.store.usage.by_model(project_id=project)
        calls = {row.purpose: row.calls for row in rows if not row.purpose.is_memory}
        assert calls == {Purpose.CHAT: 1}
        measured = await measured_tasks(workspace.store, project, since=None)
        assert [text_of(each.task.turns[0].user) for each in measured] == ["Hello"]
        turns = await _program_turns(session)
        assert [text_of(each.user) for each in turns] == ["tools: read", "tools: write"]
        for each in turns:
            assert says_nothing(each, await workspace.store.calls.of_turns([each.id]))


async def _program_turns(session: Session) -> list[Turn]:
    store, project = session.workspace.store, session.workspace.project.id
    rows = await store.sessions.recent(project_id=project, limit=10)
    paths = [await store.turns.path(row.session.head, limit=10) for row in rows]
    return [turn for path in paths for turn in path if turn.purpose is Purpose.PROGRAM]


async def test_a_run_is_offered_as_an_example_where_it_can_be_one(session: Session, tmp_path: Path) -> None:
    folder = tmp_path / "config" / "programs"
    folder.mkdir(parents=True)
    (folder / "words.spu").write_text(".program words\n    DISPLAY 'Hello'\n")
    reading = ".needs tools\n    TOOL_EXEC $READ, 'read', {path: 'notes.txt'}\n    DISPLAY $READ.text\n"
    (folder / "files.spu").write_text(f".program files\n{reading}")
    (session.cwd / "notes.txt").write_text("A line of the project.\n")
    assert "/program example words" in (await followed(session, "words"))[-1]
    assert "A line of the project." in (await followed(session, "files"))[-1]


async def followed(session: Session, name: str) -> list[str]:
    outcome = await RUN.run(session, RunArguments(name))
    assert isinstance(outcome, Follow)
    said = [each async for each in outcome.lines]
    return [str(each.exact) if isinstance(each, Report) else str(each) for each in said]


async def test_what_was_tried_is_told_before_work_begins(session: Session, gemini: GeminiStandIn) -> None:
    task = "TASK=Make the export of invoices faster"
    assert "Nothing similar" in (await run(session, "tried", task, consent=ConsentAnswer.NO))[-1]
    await turn(session, gemini, "Make the export of invoices faster")
    gemini.script(Text("You cached it before."))
    heard = await run(session, "tried", task, consent=ConsentAnswer.NO)
    assert heard[-1] == "You cached it before."
    assert (
        "Make the export of invoices faster"
        in gemini.asked("streamGenerateContent")[-1].last_text.split("## tried")[1]
    )


AGENTS = """\
.program agents
.needs agents
    AGENT_EXEC $A, {prompt: 'Look around', model: 'scout'}
    DISPLAY $A.text
"""


async def test_what_an_agent_of_a_program_costs_counts_as_the_programs(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    env = environ(tmp_path, gemini, RAGFORGE_PROGRAMS_COST_USD_PER_DAY_MAX="0.01")
    env["RAGFORGE_MEMORY_MODEL"] = "local"
    async with opened(tmp_path, env) as session:
        (session.cwd / "agents.spu").write_text(AGENTS)
        await turn(session, gemini, "Hello")
        gemini.script((Text("I looked."), Finish(usage=Tokens(prompt=100_000, candidates=100))))
        await run(session, "agents.spu", consent=ConsentAnswer.ONCE)
        offered = str(gemini.asked("streamGenerateContent")[-1].body["tools"])
        assert "'name': 'write'" in offered
        assert not any(f"'name': '{each}'" in offered for each in ("agent", "memory_save", "todo"))
        usage, project = session.workspace.store.usage, session.workspace.project.id
        rows = await usage.by_model(project_id=project)
        assert [(row.purpose, row.calls) for row in rows] == [(Purpose.PROGRAM, 1), (Purpose.CHAT, 1)]
        (row,) = await usage.statistics(StatisticsGroup.PROJECT, project_id=project)
        assert (row.prompts, row.calls) == (1, 2)
        assert row.cost_usd == sum_costs(each.cost_usd for each in rows)
        counted = [sample[:2] for sample in await all_counts(session.workspace.local)]
        assert ("llm_cost_usd_total", (MODEL, "program")) in counted
        # The day's cap is used up by it.
        with pytest.raises(RagforgeError, match=r"cost_usd_per_day_max is \$0.01"):
            await run(session, "agents.spu", consent=ConsentAnswer.ONCE)


async def test_an_agent_without_a_known_price_works_unless_a_price_limit_was_given(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    gemini.models["gemini-unpriced"] = (1_000_000, 10_000)
    async with opened(
        tmp_path, environ(tmp_path, gemini, RAGFORGE_MODEL="gemini:gemini-unpriced")
    ) as session:
        (session.cwd / "agents.spu").write_text(AGENTS)
        (session.cwd / "notes.txt").write_text("The wheel turns.\n")
        gemini.script(Calls(Call("read", {"path": "notes.txt"})), Text("I looked around."))
        assert (await run(session, "agents.spu", consent=ConsentAnswer.ONCE))[-1] == "I looked around."
        asked = len(gemini.asked())
        arguments = RunArguments("agents.spu", max_price=0.5)
        execution = await execution_for(session, arguments, (front := RunFront()).front)
        with pytest.raises(RagforgeError, match=r"unknown, so the limit of \$0\.5 cannot be enforced"):
            async for _ in front.follow(execution):
                pass
        assert len(gemini.asked()) == asked


async def test_plan_mode_holds_for_programs_too(session: Session) -> None:
    await session.set_mode(Mode.PLAN)
    (session.cwd / "tools.spu").write_text(TOOLS)
    with pytest.raises(RagforgeError, match="write was not allowed"):
        await run(session, "tools.spu", consent=ConsentAnswer.ONCE)


async def test_build_goes_another_round_until_the_second_model_agrees(
    session: Session, gemini: GeminiStandIn
) -> None:
    gemini.script(
        Text("1. Write one.txt"),
        Calls(Call("write", {"path": "one.txt", "content": "1"})),
        Text("I wrote one.txt."),
        Calls(Call("write", {"path": "two.txt", "content": "2"})),
        Text("I wrote two.txt too."),
    )
    verdicts = iter([{"holds": False, "reasons": ["two.txt is missing"]}, {"holds": True, "reasons": []}])
    gemini.always_structured(
        lambda request: JsonText(next(verdicts) if "holds" in str(request.schema) else {})
    )
    heard = await run(session, "build", "TASK=Write two files", consent=ConsentAnswer.ONCE)
    assert (session.cwd / "one.txt").exists()
    assert (session.cwd / "two.txt").exists()
    assert heard[-1] == "I wrote two.txt too."
    assert any("two.txt is missing" in request.last_text for request in gemini.asked())


@pytest.mark.parametrize(
    ("command", "reasons", "said"),
    [
        ("", ["It has no test."], ["- It has no test."]),
        ("", [], ["The second model gave no reasons."]),
        ("echo all is well", ["It has no test."], ["- It has no test."]),
        ("echo all is well", [], ["The second model gave no reasons."]),
        ("echo two failed; exit 3", [], ["The check command failed.", "two failed"]),
        ("exit 3", ["It has no test."], ["- It has no test.", "The check command failed."]),
    ],
)
async def test_build_says_only_what_is_still_wrong(
    tmp_path: Path, gemini: GeminiStandIn, command: str, reasons: list[str], said: list[str]
) -> None:
    gemini.always_structured(JsonText({"holds": False, "reasons": reasons}))
    more = {"RAGFORGE_HISTORY_CHECK_COMMAND": command} if command else {}
    async with opened(tmp_path, environ(tmp_path, gemini, **more)) as session:
        heard = await run(session, "build", "TASK=Write two files", consent=ConsentAnswer.ONCE)
    at = heard.index("Three rounds were not enough. What is still wrong:")
    assert [each for each in heard[at + 1 :] if not each.startswith("ProgramView(")] == said


async def test_a_wait_is_marked_and_goes_on_without_a_word_of_calls(session: Session) -> None:
    (session.cwd / "slow.spu").write_text(".program slow\nDISPLAY 'before'\nWAIT_SECONDS 30\n")
    front = RunFront()
    execution = await execution_for(session, RunArguments("slow.spu"), front.front)
    async with asyncio.timeout(20), aclosing(front.follow(execution)) as said:
        async for each in said:
            if isinstance(each, ProgramView) and 3 in each.present:
                break  # as Esc does
    resumed = RunFront()
    execution = await execution_for(session, RunArguments("slow.spu", resume=True), resumed.front)
    async with asyncio.timeout(20), aclosing(resumed.follow(execution)) as said:
        assert await anext(each async for each in said if not isinstance(each, ProgramView)) == (
            "Continuing at line 3."
        )


async def test_a_state_of_any_size_goes_on(session: Session) -> None:
    lines = (
        ".program big",
        ".input $X text",
        "EXTRACT $Y, $X",
        "APPEND $L, $X",
        "WAIT_INPUT $Z",
        "DISPLAY $Y",
    )
    (session.cwd / "big.spu").write_text("\n".join(lines))
    large = "é and more " * 30_000
    front = RunFront()
    execution = await execution_for(session, RunArguments("big.spu", input=(f"X={large}",)), front.front)
    async with aclosing(front.follow(execution)) as said:
        async for each in said:
            if isinstance(each, ProgramView):
                continue
            assert isinstance(each, UserQuestion)
            break  # as Esc does
    resumed = RunFront(inputs=["on"])
    execution = await execution_for(session, RunArguments("big.spu", resume=True), resumed.front)
    said = [each async for each in resumed.follow(execution)]
    continuing, shown = [each for each in said if not isinstance(each, ProgramView)]
    assert continuing == "Continuing at line 5."
    assert isinstance(shown, Report)
    assert str(shown.exact).strip() == large.strip()
    store = session.workspace.store
    assert not (await lacking(store, session.workspace.blobs, None, None)).needed


async def test_a_register_that_is_not_there_is_answered_with_those_that_are(session: Session) -> None:
    (session.cwd / "steps.spu").write_text(".program steps\n    EXTRACT $A, 'one'\n    DISPLAY $A\n")
    front = RunFront(steps=True)
    execution = await execution_for(session, RunArguments("steps.spu", step=True), front.front)
    answers, heard = iter(["plan", "", "plan", "a", "", ""]), list[str]()
    async for each in front.follow(execution):
        if isinstance(each, UserQuestion):
            each.reply(next(answers))
        elif isinstance(each, str):
            heard.append(each)
    assert heard[:3] == [
        "There is no register $PLAN. No registers are set.",
        "There is no register $PLAN. Registers: $A.",
        "one",
    ]
