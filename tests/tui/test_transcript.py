"""What a conversation shows: live turns and stored ones."""

import asyncio

import pytest
from msgspec.structs import replace

from ragforge.domain.approvals import Constraint, ConstraintHit
from ragforge.domain.errors import StoreUnavailable
from ragforge.domain.events import (
    AgentEvent,
    ConstraintsMet,
    Notice,
    StepStarted,
    TextDelta,
    ThoughtDelta,
    ToolEnded,
    ToolOutput,
    ToolStarted,
    TurnEnded,
    TurnStarted,
    UsageUpdated,
)
from ragforge.domain.memories import Strength
from ragforge.domain.messages import ModelMessage
from ragforge.domain.turns import CallStatus, Step, ToolCall, TurnStatus, declined
from ragforge.domain.usage import Usage
from ragforge.tui.widgets.answer import AnswerView
from ragforge.tui.widgets.constraint_line import ConstraintView
from ragforge.tui.widgets.diff_view import diff_lines
from ragforge.tui.widgets.more_line import MoreLine
from ragforge.tui.widgets.text_rows import TextRows
from ragforge.tui.widgets.thoughts import ThoughtsHead
from ragforge.tui.widgets.tool_line import ToolCallView, ToolHead
from ragforge.tui.widgets.turn_record import SHOWN_CHARS_MAX
from tests.tui.transcript_app import DIFF, NOW, ChatApp, answers_drawn, call, open_tools, toggle_last, turn
from tests.tui.waiting import until

LIVE: list[AgentEvent] = [
    TurnStarted(turn()),
    StepStarted(0, "fake"),
    ThoughtDelta("The parser "),
    ThoughtDelta("comes first."),
    TextDelta("Let me look."),
    ToolStarted("call-1", "read", {"path": "parser.py"}, "parser.py"),
    ToolEnded(call()),
    UsageUpdated(Usage(10, 0, 5), 0.1, 15, 100),
    StepStarted(1, "fake"),
    TextDelta("It **splits**"),
    TextDelta(" at spaces."),
    TurnEnded(turn(status=TurnStatus.FINISHED, assistant="Let me look.\n\nIt **splits** at spaces.")),
]


async def test_a_live_turn_is_shown_in_the_order_in_which_it_happened() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        for event in LIVE:
            app.transcript.show(event)
        await until(pilot, lambda: "It **splits** at spaces." in app.text())
        assert app.text().split("\n") == [
            "Why does it break?",
            "▸ thought for 1 s",
            "Let me look.",
            "✓ read parser.py · 2 lines",
            "It **splits** at spaces.",
        ]


async def test_a_stored_turn_looks_like_the_live_one_did() -> None:
    live, stored = ChatApp(), ChatApp()
    async with live.run_test() as pilot:
        for event in LIVE:
            live.transcript.show(event)
        await until(pilot, lambda: "It **splits** at spaces." in live.text())
        as_lived = live.text()
    steps = [
        Step("turn-0", 1, ModelMessage("fake", "fake", "It **splits** at spaces.")),
        Step("turn-0", 0, ModelMessage("fake", "fake", "Let me look.", thoughts="The parser comes first.")),
    ]
    async with stored.run_test() as pilot:
        await stored.transcript.load([turn(status=TurnStatus.FINISHED)], steps, [call()])
        await until(pilot, lambda: "It **splits** at spaces." in stored.text())
        assert stored.text() == as_lived.replace("thought for 1 s", "thought")


async def test_the_answer_is_drawn_as_markdown_while_it_streams() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        app.transcript.show(TurnStarted(turn()))
        for piece in ("It **spl", "its** at spa", "ces.\n", "\n- fir", "st\n- s", "econd\n"):
            app.transcript.show(TextDelta(piece))
            await pilot.pause()
        for said in ("second", "It splits at spaces.", "• first"):
            await until(pilot, lambda said=said: said in app.screen_text(), what=said)


@pytest.mark.parametrize(
    ("status", "result", "words"),
    [
        (CallStatus.OK, "1 a\n2 b", "✓ shell make"),
        (CallStatus.FAILED, "boom\nexit code 2", "✗ shell make · exit 2"),
        (CallStatus.DENIED, "not allowed", "⊘ shell make · denied"),
        (CallStatus.INTERRUPTED, "", "■ shell make · interrupted"),
    ],
)
async def test_a_tool_line_tells_its_state_without_colour(
    status: CallStatus, result: str, words: str
) -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        app.transcript.show(TurnStarted(turn()))
        app.transcript.show(ToolStarted("call-1", "shell", {"command": "make"}, "make"))
        await until(pilot, lambda: "… shell make" in app.text())
        app.transcript.show(ToolEnded(call("shell", {"command": "make"}, result, status=status)))
        await until(pilot, lambda: words in app.text(), what=words)


async def test_a_call_that_waits_for_the_user_says_so_and_counts_no_seconds() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        app.transcript.show(TurnStarted(turn()))
        app.transcript.show(ToolStarted("call-1", "shell", {"command": "make"}, "make"))
        with app.transcript.asking("call-1"), app.transcript.asking("of another turn"):
            await until(pilot, lambda: "… shell make · waiting for you" in app.text())
            app.clock.now_s += 60
            app.transcript.tick()
            await until(pilot, lambda: app.text().endswith("… shell make · waiting for you"))
        await until(pilot, lambda: app.text().endswith("… shell make"))
        app.clock.now_s += 7
        app.transcript.tick()
        await until(pilot, lambda: app.text().endswith("… shell make · 7 s"))


async def test_a_running_tool_shows_its_last_lines_and_its_seconds() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        app.transcript.show(TurnStarted(turn()))
        app.transcript.show(ToolStarted("call-1", "shell", {"command": "make"}, "make"))
        app.transcript.show(ToolOutput("call-1", "".join(f"line {n}\n" for n in range(10))))
        app.clock.now_s += 7
        app.transcript.tick()
        await until(pilot, lambda: "… shell make · 7 s" in app.text())
        await until(pilot, lambda: "line 9" in app.text())
        assert "line 5" not in app.text()
        app.transcript.show(ToolEnded(call("shell", {"command": "make"}, "all")))
        await until(pilot, lambda: "line 9" not in app.text())


async def test_a_call_without_a_subject_has_one_blank_before_its_outcome() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        app.transcript.show(TurnStarted(turn()))
        app.transcript.show(ToolEnded(call("shell", {}, "no command", status=CallStatus.FAILED)))
        await until(pilot, lambda: app.query(ToolHead))
        assert app.query_one(ToolHead).render().plain.startswith("✗ shell · failed")


@pytest.mark.parametrize("how", ["click", "enter", "toggle"])
async def test_a_tool_line_opens_to_its_input_and_output_and_closes_again(how: str) -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        app.transcript.show(TurnStarted(turn()))
        app.transcript.show(ToolEnded(call("grep", {"pattern": "def", "path": "src"}, "src/a.py:1:def a")))
        await until(pilot, lambda: app.query(ToolHead))

        async def toggle() -> None:
            match how:
                case "click":
                    await pilot.click(ToolHead)
                case "enter":
                    app.query_one(ToolHead).focus()
                    await pilot.press("enter")
                case _:
                    toggle_last(app)

        await toggle()
        await until(pilot, lambda: "src/a.py:1:def a" in app.text())
        assert "pattern: def" in app.text()
        await toggle()
        await until(pilot, lambda: "src/a.py:1:def a" not in app.text())


async def test_one_key_opens_what_is_in_view_and_has_each_as_it_was() -> None:
    app = ChatApp()
    async with app.run_test(size=(80, 30)) as pilot:
        show = app.transcript.show
        for index in range(12):  # more than a screen
            show(TurnStarted(turn(index)))
            show(ToolEnded(call(result=f"result {index}", id=f"r{index}", turn_id=f"turn-{index}")))
            show(TurnEnded(turn(index, status=TurnStatus.FINISHED)))
        show(TurnStarted(turn(12)))
        show(ThoughtDelta("Hm, quotes."))
        show(ToolEnded(call(result="opened by hand", id="a")))
        show(ToolEnded(call("edit", {"path": "parser.py"}, "Edited.", diff=DIFF, id="b")))
        show(TextDelta("Done."))
        show(TurnEnded(turn(12, status=TurnStatus.FINISHED)))
        await until(pilot, lambda: "tokenize" in app.text() and "Done." in app.screen_text())
        list(app.query(ToolCallView))[-2].action_open_close()
        await until(pilot, lambda: "opened by hand" in app.text())
        await app.transcript.action_end()
        await pilot.pause()
        before, drawn = app.text(), app.screen_text()
        await app.transcript.action_toggle_in_view()
        await until(pilot, lambda: "Hm, quotes." in app.text() and "Edited." in app.text())
        assert "result 0" not in app.text()
        await app.transcript.action_toggle_in_view()
        await until(pilot, lambda: app.text() == before)
        await until(pilot, lambda: app.screen_text() == drawn)
        assert app.transcript.following


async def test_one_key_restores_also_what_its_opening_pushed_out_of_view() -> None:
    app = ChatApp()
    async with app.run_test(size=(80, 24)) as pilot:
        app.transcript.show(TurnStarted(turn(0)))
        app.transcript.show(ToolEnded(call(result="\n".join(f"row {n}" for n in range(60)), id="a")))
        app.transcript.show(ToolEnded(call(result="pushed away", id="b")))
        app.transcript.show(TextDelta("\n\n".join(f"paragraph {n}" for n in range(20))))
        app.transcript.show(TurnEnded(turn(0, status=TurnStatus.FINISHED)))
        await until(pilot, lambda: "paragraph 19" in app.screen_text())
        app.transcript.action_home()
        await until(pilot, lambda: len([each for each in app.query(ToolHead) if each.region.y > 0]) == 2)
        await pilot.pause()
        before, drawn = app.text(), app.screen_text()
        await app.transcript.action_toggle_in_view()
        await until(pilot, lambda: "row 3" in app.screen_text() and "pushed away" in app.text())
        assert "pushed away" not in app.screen_text()
        await app.transcript.action_toggle_in_view()
        await until(pilot, lambda: "row 3" not in app.text())
        assert app.text() == before
        await until(pilot, lambda: app.screen_text() == drawn)


async def test_what_one_key_restores_goes_to_the_end_only_where_it_was_opened_there() -> None:
    app = ChatApp()
    async with app.run_test(size=(80, 24)) as pilot:
        for number in range(2):
            app.transcript.show(TurnStarted(turn(number)))
            app.transcript.show(ToolEnded(call(result=f"result {number}", id=f"c{number}")))
            app.transcript.show(TextDelta("\n\n".join(f"paragraph {n}" for n in range(20 - 12 * number))))
            app.transcript.show(TurnEnded(turn(number, status=TurnStatus.FINISHED)))
        await until(pilot, lambda: len(app.query(ToolHead)) == 2 and app.transcript.following)
        app.transcript.action_home()
        await until(pilot, lambda: not app.transcript.following)
        for opened, go in (("result 0", app.transcript.action_end), ("result 1", None)):
            await app.transcript.action_toggle_in_view()
            await until(pilot, lambda opened=opened: opened in app.text())
            if go:
                await go()
                await until(pilot, lambda: app.transcript.following)
        app.transcript.action_home()
        await until(pilot, lambda: "result 0" in app.screen_text())
        await app.transcript.action_toggle_in_view()
        await until(pilot, lambda: "result 0" not in app.text())
        assert "result 1" in app.text()
        assert not app.transcript.following
        await app.transcript.action_end()
        await until(pilot, lambda: "result 1" in app.screen_text())
        await app.transcript.action_toggle_in_view()
        await until(pilot, lambda: "result 1" not in app.text())
        assert app.transcript.following


async def test_a_command_that_failed_shows_its_last_lines_in_red_and_people_read_seconds() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        app.transcript.show(TurnStarted(turn()))
        said = "\n".join(f"line {n}" for n in range(40)) + "\n\n[Exit code 2 after 2.3 s.]"
        failed = call("shell", {"command": "make"}, said, status=CallStatus.FAILED, duration_ms=2_310)
        app.transcript.show(ToolEnded(failed))
        await until(pilot, lambda: "✗ shell make · exit 2 · 2.3 s" in app.text())
        assert app.text().split("\n")[2:] == [f"line {n}" for n in range(34, 40)]
        rows = app.query_one(".tool-tail", TextRows)
        assert {line.kind for line in rows.lines} == {"error"}
        toggle_last(app)
        await until(pilot, lambda: "line 0" in app.text())
        assert app.text().count("line 39") <= 1
        toggle_last(app)
        await until(pilot, lambda: "line 0" not in app.text() and "line 39" in app.text())


async def test_a_line_that_quotes_the_user_opens_by_a_key_to_the_whole_message() -> None:
    rule = Constraint("m", "no npm", Strength.MUST, NOW, "turn-7", "s", ())
    app = Saying()
    async with app.run_test() as pilot:
        app.transcript.show(TurnStarted(turn()))
        hits = (ConstraintHit(rule, "npm"), ConstraintHit(replace(rule, turn="", text="no rm"), "rm"))
        app.transcript.show(ConstraintsMet("call-1", hits, asked=False, stopped=True))
        await until(pilot, lambda: app.text().count("▸ You said on") == 2)
        app.transcript.walk_from_view()
        await pilot.press("enter", "up", "enter")
        await until(pilot, lambda: "You stated it with a command." in app.text())
        await until(pilot, lambda: "All that was said in turn-7." in app.text())
        await pilot.press("enter")
        await until(pilot, lambda: "All that" not in app.text())


class Saying(ChatApp):
    """Answers for the chat what was said in a turn."""

    def on_constraint_view_said_wanted(self, event: ConstraintView.SaidWanted) -> None:
        event.view.show_said(f"All that was said in {event.turn_id}.")


async def test_a_long_output_is_cut_and_its_whole_comes_from_the_loader() -> None:
    asked: list[str] = []

    async def load_output(found: ToolCall) -> str:
        asked.append(found.id)
        await asyncio.sleep(0)
        return "\n".join(f"row {n}" for n in range(5000))

    app = ChatApp(load_output=load_output)
    async with app.run_test() as pilot:
        app.transcript.show(TurnStarted(turn()))
        app.transcript.show(ToolEnded(call(result="row 0\n…", result_blob="hash", result_chars=40_000)))
        await until(pilot, lambda: app.query(ToolHead))
        assert asked == []
        toggle_last(app)
        await until(pilot, lambda: "… all of it: 40 KB" in app.text())
        assert asked == []
        app.query_one(MoreLine).focus()
        await pilot.press("enter")
        await until(pilot, lambda: "row 4999" in app.text())
        assert asked == ["call-1"]


async def test_a_whole_output_that_cannot_be_read_says_so() -> None:
    async def load_output(_: ToolCall) -> str:
        raise StoreUnavailable("The disk is gone.")

    app = ChatApp(load_output=load_output)
    async with app.run_test() as pilot:
        app.transcript.show(TurnStarted(turn()))
        app.transcript.show(ToolEnded(call(result="head", result_blob="hash")))
        await until(pilot, lambda: app.query(ToolHead))
        toggle_last(app)
        await until(pilot, lambda: app.query(MoreLine))
        app.query_one(MoreLine).action_press()
        await until(pilot, lambda: "cannot be read: The disk is gone." in app.text())
        assert "head" in app.text()


async def test_an_edit_shows_its_diff_open_with_signs_and_numbers() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        app.transcript.show(TurnStarted(turn()))
        app.transcript.show(ToolEnded(call("edit", {"path": "parser.py"}, "Edited.", diff=DIFF)))
        await until(pilot, lambda: "tokenize" in app.text())
        assert "✓ edit parser.py · +3 -2" in app.text()
        assert "12 -     tokens = text.split()" in app.text()
        assert "13 +     check(tokens)" in app.text()
        assert "42 +     print(parse(sys.stdin.read()))" in app.text()
        toggle_last(app)
        await until(pilot, lambda: "tokenize" not in app.text())


async def test_what_a_call_shows_stands_below_its_line_however_fast_it_comes() -> None:
    app = ChatApp()
    async with app.run_test(size=(100, 40)) as pilot:
        show = app.transcript.show
        show(TurnStarted(turn()))
        show(TextDelta("I look."))
        await until(pilot, lambda: "I look." in app.text())
        show(ToolStarted("1", "edit", {"path": "src/parser.py"}, "src/parser.py"))
        show(ToolStarted("2", "shell", {"command": "make test"}, "make test"))
        app.transcript.flush()  # twice before anything of it stands
        open_tools(app)
        show(ToolOutput("2", "collected 41 items"))
        show(ToolEnded(call("edit", {"path": "src/parser.py"}, "Edited.", diff=DIFF, id="1")))
        app.transcript.flush()
        await until(pilot, lambda: "check(tokens)" in app.text() and "collected" in app.text())
        said = app.text()
        assert said.index("edit src/parser.py") < said.index("check(tokens)")
        assert said.index("make test") < said.index("collected 41 items")
        assert all(isinstance(view.children[0], ToolHead) for view in app.query(ToolCallView))


async def test_the_code_of_a_diff_is_coloured_on_both_sides_and_stays_as_it_is() -> None:
    lines = diff_lines(DIFF)
    pieces = {(line.kind, line.text[begin:end]): kind for line in lines for begin, end, kind in line.spans}
    assert pieces["plain", "def"] == "keyword"
    assert pieces["plain", "parse"] == "name"
    assert pieces["plain", "return"] == "keyword"
    assert pieces["removed", "1"] == "number"
    app = ChatApp()
    async with app.run_test() as pilot:
        app.transcript.show(TurnStarted(turn()))
        app.transcript.show(ToolEnded(call("edit", {"path": "parser.py"}, "Edited.", diff=DIFF)))
        await until(pilot, lambda: app.query(TextRows))
        rows = app.query_one(TextRows)
        [strip] = [
            strip for strip in map(rows.render_line, range(rows.size.height)) if "return" in strip.text
        ]
        [word] = [segment for segment in strip if segment.text == "return"]
        [other] = [segment for segment in strip if "build" in segment.text]
        assert word.style != other.style


async def test_the_reason_of_a_refusal_is_shown_below_the_call() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        app.transcript.show(TurnStarted(turn()))
        result = declined("use make test")
        app.transcript.show(ToolEnded(call("shell", {}, result, status=CallStatus.DENIED)))
        await until(pilot, lambda: "You said: use make test" in app.text())


async def test_a_long_diff_is_cut_and_opens() -> None:
    diff = "--- a/x\n+++ b/x\n@@ -0,0 +1,100 @@\n" + "".join(f"+line {n}\n" for n in range(1, 101))
    app = ChatApp()
    async with app.run_test() as pilot:
        app.transcript.show(TurnStarted(turn()))
        app.transcript.show(ToolEnded(call("write", diff=diff)))
        await until(pilot, lambda: "… 60 more lines" in app.text())
        assert "line 41" not in app.text()
        app.query_one(MoreLine).focus()
        await pilot.press("enter")
        await until(pilot, lambda: "100 + line 100" in app.text())
        await until(pilot, lambda: "more lines" not in app.text())


async def test_thoughts_are_folded_and_open() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        app.transcript.show(TurnStarted(turn()))
        app.transcript.show(ThoughtDelta("Hmm, quotes."))
        app.clock.now_s += 3
        app.transcript.tick()
        await until(pilot, lambda: "▸ thinking … 3 s" in app.text())
        app.transcript.show(TextDelta("Done."))
        await until(pilot, lambda: "▸ thought for 3 s" in app.text())
        assert "Hmm, quotes." not in app.text()
        app.query_one(ThoughtsHead).focus()
        await pilot.press("enter")
        await until(pilot, lambda: "Hmm, quotes." in app.text())
        assert "▾ thought for 3 s" in app.text()
        await pilot.press("enter")
        await until(pilot, lambda: "Hmm, quotes." not in app.text())


async def test_of_huge_thoughts_only_the_beginning_is_drawn() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        app.transcript.show(TurnStarted(turn()))
        app.transcript.show(ThoughtDelta("x" * (SHOWN_CHARS_MAX + 5_000)))
        await until(pilot, lambda: app.query(ThoughtsHead))
        app.query_one(ThoughtsHead).focus()
        await pilot.press("enter")
        await until(pilot, lambda: "5,000 more characters are not shown" in app.text())


async def test_a_line_said_while_it_thinks_does_not_keep_it_thinking() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        app.transcript.show(TurnStarted(turn()))
        app.transcript.show(ThoughtDelta("Hmm."))
        app.transcript.say("Copied.")
        app.clock.now_s += 3
        app.transcript.show(TextDelta("Done."))
        app.transcript.show(TurnEnded(turn(status=TurnStatus.FINISHED)))
        await until(pilot, lambda: "▸ thought for 3 s" in app.text())
        assert "thinking" not in app.text()


async def test_an_interrupted_turn_keeps_what_had_arrived_and_says_so() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        app.transcript.show(TurnStarted(turn()))
        app.transcript.show(TextDelta("It spli"))
        app.transcript.show(ToolStarted("call-1", "shell", {"command": "make"}, "make"))
        app.transcript.show(TurnEnded(turn(status=TurnStatus.INTERRUPTED)))
        await until(pilot, lambda: "■ interrupted" in app.text().split("\n"))
        assert "It spli" in app.text()
        assert "■ shell make · interrupted" in app.text()


async def test_a_failed_turn_says_why() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        app.transcript.show(TurnStarted(turn()))
        app.transcript.show(TurnEnded(turn(status=TurnStatus.FAILED, error="The key was refused [401].")))
        await until(pilot, lambda: "✗ The key was refused [401]." in app.text())


async def test_a_notice_is_shown_during_after_and_without_a_turn() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        app.transcript.say("Welcome.")
        await until(pilot, lambda: app.text() == "Welcome.")
        app.transcript.show(TurnStarted(turn()))
        app.transcript.show(Notice("The oldest results were cut."))
        app.transcript.show(TurnEnded(turn(status=TurnStatus.FINISHED)))
        app.transcript.show(Notice("Saved."))
        await until(pilot, lambda: "Saved." in app.text())
        lines = ["Welcome.", "Why does it break?", "The oldest results were cut.", "Saved."]
        assert app.text().split("\n") == lines


async def test_loading_replaces_what_is_shown() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        await app.transcript.load([turn(text="first", status=TurnStatus.FINISHED)], [], [])
        await until(pilot, lambda: "first" in app.text())
        await app.transcript.load([turn(text="second", status=TurnStatus.FINISHED, assistant="Yes.")], [], [])
        await until(pilot, lambda: app.text() == "second\nYes.")
        await app.transcript.load([], [], [])
        await until(pilot, lambda: app.text() == "")


async def test_a_transcript_that_goes_while_an_answer_streams_leaves_nothing_behind() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        app.transcript.show(TurnStarted(turn()))
        app.transcript.show(TextDelta("word " * 500))
        await until(pilot, lambda: app.query(AnswerView))
        await app.transcript.remove()
        app.transcript.show(TextDelta("more"))
        await pilot.pause()
        assert not app.query(AnswerView)


async def test_an_answer_that_arrives_before_the_first_frame_is_drawn_whole() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        for event in LIVE:
            app.transcript.show(event)
        app.transcript.flush()
        await until(pilot, lambda: len(app.query(AnswerView)) == 2 and answers_drawn(app))
        assert "It splits at spaces." in app.screen_text()


async def test_of_a_huge_answer_only_the_beginning_is_drawn() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        app.transcript.show(TurnStarted(turn()))
        app.transcript.show(TextDelta("word " * (SHOWN_CHARS_MAX // 5)))
        app.transcript.show(TextDelta("more " * 1_000))
        await until(pilot, lambda: "5,000 more characters are not shown" in app.screen_text())
        app.transcript.show(TextDelta("more " * 1_000))
        await until(pilot, lambda: "10,000 more characters are not shown" in app.screen_text())
        assert answers_drawn(app)
