"""The line above the prompt that tells what runs."""

from collections.abc import Sequence

import pytest
from rich.cells import cell_len
from textual.pilot import Pilot

from ragforge.domain.events import (
    AgentEvent,
    RetryWaiting,
    StepStarted,
    TextDelta,
    ThoughtDelta,
    ToolEnded,
    ToolStarted,
    TurnStarted,
    UsageUpdated,
)
from ragforge.domain.turns import TurnStatus
from ragforge.domain.usage import Usage
from tests.standins.gemini import Hang, Text
from tests.tui.chat_app import Lab
from tests.tui.transcript_app import ChatApp, call, turn
from tests.tui.waiting import until

BEGUN: Sequence[AgentEvent] = (TurnStarted(turn()), StepStarted(0, "a-model"))


def begin(app: ChatApp, *events: AgentEvent) -> None:
    app.live.begin_turn()
    for event in (*BEGUN, *events):
        app.live.show(event)


def line(app: ChatApp) -> str:
    """What the line says, without its sign; empty while it is not shown."""
    return str(app.live.words(100))[2:] if app.live.display else ""


async def later(app: ChatApp, pilot: Pilot[None], seconds: float) -> None:
    app.clock.now_s += seconds
    app.live.tick()
    await pilot.pause()


async def test_it_tells_what_runs_for_how_long_and_how_to_end_it_and_goes() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        assert line(app) == ""
        begin(app)
        assert line(app) == "thinking · 0 s · Esc interrupts"
        app.live.show(TextDelta("word " * 400))
        assert line(app) == "answering · 0 s · ~500 tokens · Esc interrupts"
        app.live.show(UsageUpdated(Usage(9_000, 0, 700, 300), 0.1, 15, 100))
        app.live.show(ToolStarted("1", "shell", {"command": "pytest -q"}, "pytest -q"))
        await later(app, pilot, 65)
        assert line(app) == "running pytest -q · 1 m 5 s · 1k tokens · Esc interrupts"
        app.live.show(ToolStarted("2", "read", {"path": "a.py"}, "a.py"))
        app.live.show(ToolEnded(call(id="1")))
        assert line(app).startswith("reading a.py ·")
        app.live.end_turn()
        assert line(app) == ""


async def test_a_wait_counts_down_until_the_model_answers() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        begin(app, RetryWaiting("429", 8.0, 2, 5))
        assert line(app).startswith("retrying in 8 s (429, attempt 2 of 5) ·")
        await later(app, pilot, 3)
        assert line(app).startswith("retrying in 5 s (429,")
        await later(app, pilot, 60)
        assert line(app).startswith("retrying (429, attempt 2 of 5)")
        app.live.show(ThoughtDelta("Hm."))
        assert line(app).startswith("thinking")


async def test_a_wait_is_read_to_its_last_second_at_40_columns() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        begin(app, RetryWaiting("429", 240.0, 2, 5))
        assert str(app.live.words(38))[2:] == "retrying in 240 s · Esc interrupts"
        await later(app, pilot, 236)
        assert str(app.live.words(38))[2:] == "retrying in 4 s · Esc interrupts"
        assert str(app.live.words(60))[2:].startswith("retrying in 4 s · 3 m 56 s")
        begin(app)
        await later(app, pilot, 75)
        assert str(app.live.words(38))[2:] == "no output for 75 s · Esc interrupts"


async def test_a_model_that_is_silent_is_said_to_be_until_it_speaks() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        begin(app)
        await later(app, pilot, 2)
        assert line(app).startswith("thinking")
        await later(app, pilot, 10)
        assert line(app).startswith("no output from the model for 12 s")
        app.live.show(TextDelta("Here I am."))
        assert line(app).startswith("answering")
        # What comes now is the user's to answer, or a tool's.
        app.live.show(UsageUpdated(Usage(10, 0, 5), 0.1, 15, 100))
        await later(app, pilot, 10)
        assert "no output" not in line(app)


async def test_a_command_is_told_of_once_it_has_taken_a_second_and_nothing_is_while_the_user_is_asked() -> (
    None
):
    app = ChatApp()
    async with app.run_test() as pilot:
        with app.live.during("/compact", ends_at_esc=lambda: False):
            assert line(app) == ""
            await later(app, pilot, 2)
            assert line(app) == "/compact · 2 s"
            with app.live.asking():
                assert line(app) == ""
            begin(app)
            assert line(app).startswith("thinking")
            with app.live.asking():
                await later(app, pilot, 60)
            await later(app, pilot, 3)
            assert " 3 s" in line(app), "a minute of thinking about an approval is no work"
            with app.live.asking(), app.live.asking():
                await later(app, pilot, 60)
            await later(app, pilot, 2)
            assert " 5 s" in line(app), "two are asked in the same minute"
            app.live.end_turn()
            assert line(app) == "/compact · 7 s"
        assert line(app) == ""


@pytest.mark.parametrize("width", [20, 40, 80, 200])
@pytest.mark.parametrize("summary", ["界" * 200, "مرحبا " * 60, "👩‍👩‍👧 " * 60, "a\nb\t\x1b[31m" * 40])
async def test_it_fits_whatever_runs(width: int, summary: str) -> None:
    app = ChatApp()
    async with app.run_test(size=(width, 12)) as pilot:
        begin(app, TextDelta("x" * 4_000), ToolStarted("1", "shell", {}, summary))
        await until(pilot, lambda: app.live.size.height == 1)
        words = str(app.live.render())
        assert cell_len(words) <= max(width - 2, len("✦ … · 0 s · Esc interrupts"))
        assert words.endswith("Esc interrupts")
        assert "\n" not in words


async def test_nothing_moves_when_it_comes_and_goes() -> None:
    app = ChatApp()
    async with app.run_test(size=(60, 16)) as pilot:
        await app.transcript.load(
            [turn(n, f"message {n}", TurnStatus.FINISHED, assistant="Yes.") for n in range(9)], [], []
        )
        await until(pilot, lambda: "Yes." in app.screen_text())
        await pilot.pause()
        before = app.screen_text().split("\n")
        begin(app)
        await until(pilot, lambda: "thinking" in app.screen_text())
        during = app.screen_text().split("\n")
        assert [
            row for row in zip(before, during, strict=True) if row[0] != row[1] and "thinking" not in row[1]
        ] == []
        app.live.end_turn()
        await until(pilot, lambda: app.screen_text().split("\n") == before)


async def test_while_a_turn_streams_it_is_drawn_by_the_clock_and_not_by_each_word() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        begin(app, TextDelta("one "))
        await pilot.pause()
        drawn: list[int] = []
        draw = app.live.render
        app.live.render = lambda: drawn.append(1) or draw()  # type: ignore[method-assign]
        for _ in range(200):
            app.live.show(TextDelta("word "))
        await pilot.pause()
        assert len(drawn) <= 1


async def test_a_turn_of_the_real_client_is_told_of_until_it_ends(lab: Lab) -> None:
    lab.gemini.script((Text("I begin"), Hang()))
    async with lab.chat() as chat:
        await chat.say("Count for ever")
        await chat.until(lambda: "answering" in chat.doing, "it answers")
        assert "Esc interrupts" in chat.doing
        await chat.pilot.press("escape")
        await chat.turn_ended()
        await chat.until(lambda: not chat.doing, "it is gone")
