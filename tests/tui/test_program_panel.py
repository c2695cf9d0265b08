"""The lines of a program while it runs: those that run now, and what each call cost, at any width."""

import asyncio

import pytest

from ragforge.domain.programs import CallsOfLine, ProgramRow, ProgramView
from ragforge.tui.widgets.program_panel import ProgramPanel, program_content
from tests.standins.gemini import Text, Until
from tests.tui.chat_app import Chat, Lab

PROGRAM = """\
.program pair
; The plan, then two at the same time.
plan:
    LLM_EXEC $PLAN, 'planner', {prompt: 'plan'}
    PARALLEL_START
        LLM_EXEC $ONE, 'first', {
            plan: $PLAN
        }
        LLM_EXEC $TWO, 'second', {plan: $PLAN}
        LLM_EXEC $THREE, 'third', {two: $TWO}
    PARALLEL_END
    DISPLAY [$ONE, $TWO, $THREE]
"""


def panel(chat: Chat) -> list[str]:
    found = chat.screen.query_one(ProgramPanel)
    return [line.rstrip() for line in str(found.render()).splitlines()] if found.is_shown else []


def marked(chat: Chat) -> list[str]:
    """The lines that run, as the panel numbers them."""
    return [line.split()[1] for line in panel(chat) if line.startswith("▸")]


@pytest.mark.parametrize("width", [40, 60, 100, 200])
async def test_the_lines_that_run_are_marked_and_each_call_is_told_at_its_line(lab: Lab, width: int) -> None:
    plan, one, two, three = (asyncio.Event() for _ in range(4))
    lab.project.mkdir(parents=True, exist_ok=True)
    (lab.project / "pair.spu").write_text(PROGRAM)
    lab.gemini.script((Until(plan), Text("The plan.")))
    async with lab.chat((width, 36)) as chat:
        assert panel(chat) == []
        await chat.say("/run pair.spu")
        await chat.until(lambda: marked(chat) == ["4"], "the plan is asked for")
        assert panel(chat)[0].startswith("pair · 0 calls")
        lab.gemini.script((Until(one), Text("One.")), (Until(two), Text("Two.")), (Until(three), Text("3.")))
        plan.set()
        await chat.until(lambda: marked(chat) == ["6", "9"], "the third waits for the second")
        done = next(line for line in panel(chat) if line.startswith("✓"))
        assert "$0.00" in done
        assert ("gemini:gemini-3.8-flash" in done) is (width >= 100)
        assert panel(chat)[0].startswith("pair · 1 call · ")
        assert panel(chat)[0].endswith(" of $1")
        one.set()
        two.set()
        await chat.until(lambda: marked(chat) == ["10"], "the second let the third begin")
        assert max(map(len, panel(chat))) <= width - 4
        three.set()
        await chat.until(lambda: panel(chat) == [], "the program has ended")
        assert "> line" not in chat.words()  # the panel said so
        assert "third (gemini:gemini-3.8-flash): " in chat.words()


async def test_esc_takes_the_lines_away(lab: Lab) -> None:
    lab.project.mkdir(parents=True, exist_ok=True)
    (lab.project / "pair.spu").write_text(PROGRAM)
    lab.gemini.script((Until(asyncio.Event()), Text("never")))
    async with lab.chat((40, 12)) as chat:
        await chat.say("/run pair.spu")
        await chat.until(lambda: marked(chat) == ["4"])
        assert len(panel(chat)) <= 4
        await chat.pilot.press("escape")
        await chat.sees("Stopped. /run pair.spu --resume")
        await chat.until(lambda: panel(chat) == [])


@pytest.mark.parametrize("rows", range(2, 9))
@pytest.mark.parametrize("present", range(1, 21))
def test_what_runs_is_always_among_the_rows(rows: int, present: int) -> None:
    listed = tuple(ProgramRow(line, f"EXTRACT $A{line}, 'x'") for line in range(1, 21))
    view = ProgramView("long", listed, frozenset({present}), {}, "")
    lines = program_content(view, rows_max=rows, width=60).plain.splitlines()
    assert len(lines) == rows
    assert [line.split()[1] for line in lines if line.startswith("▸")] == [str(present)]


@pytest.mark.parametrize("width", range(8, 60))
def test_no_line_is_wider_than_there_is_room(width: int) -> None:
    row = ProgramRow(7, "LLM_EXEC $ERGEBNIS, '模型模型模型模型', {prompt: 'שלום 🎉 long long long'}")
    calls = {7: CallsOfLine(3, "endpoint:a-model-of-a-long-name", 12.3, None)}
    view = ProgramView("wide", (row,), frozenset(), calls, "3 calls · unpriced of $1")
    content = program_content(view, rows_max=4, width=width)
    assert max(line.cell_length for line in content.split("\n")) <= width


async def test_a_tool_that_has_ended_is_marked_as_a_call_of_a_model_is(lab: Lab) -> None:
    answered = asyncio.Event()
    lab.project.mkdir(parents=True, exist_ok=True)
    (lab.project / "look.spu").write_text(
        ".program look\n.needs tools\n    TOOL_EXEC $A, 'read', {path: 'look.spu'}\n"
        "    LLM_EXEC $B, 'reader', {text: $A.text}\n    DISPLAY [{who: 'a'}, {who: 'b'}]\n"
    )
    lab.gemini.script((Until(answered), Text("It looks.")))
    async with lab.chat((100, 36)) as chat:
        await chat.say("/run look.spu")
        await chat.until(lambda: marked(chat) == ["4"], "the model is asked")
        assert next(line for line in panel(chat) if "TOOL_EXEC" in line).startswith("✓")
        answered.set()
        await chat.until(lambda: panel(chat) == [], "the program has ended")
        await chat.sees('"who": "b"')
        shown = [line.strip(" │") for line in chat.words().splitlines()]
        assert '"who": "a"' in shown, "each object has its own lines"
