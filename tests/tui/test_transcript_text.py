"""Text from anywhere is shown literally, and copied as it was."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.geometry import Offset
from textual.selection import SELECT_ALL, Selection

from ragforge.domain.events import (
    Notice,
    RetryWaiting,
    TextDelta,
    ThoughtDelta,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from ragforge.domain.printable import printable
from ragforge.domain.turns import CallStatus, TurnStatus
from ragforge.tui.widgets.diff_view import diff_lines
from ragforge.tui.widgets.plain import PlainText
from ragforge.tui.widgets.text_rows import TextLine, TextRows, extract
from ragforge.tui.widgets.tool_line import ToolHead
from tests import scope
from tests.tui.transcript_app import DIFF, ChatApp, answers_drawn, call, open_tools, turn
from tests.tui.waiting import until

HOSTILE = [
    "[bold]no[/bold] [/] [@click=app.quit]x[/] [red",
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b2J \x00 bell\x07 \r over",
    "a\u202eb\u2066c\u2028d\x85e\x0bf\x0cg",
    "\ud800 lone",
    "emoji 👩‍👩‍👧 日本語 e\u0301 \u200b",
    "\t\tif x:\n\t\t\treturn",
    "",
    "\n\n",
]

COMMANDS = {chr(code) for code in (*range(0x20), *range(0x7F, 0xA0), 0x202E, 0x2066, 0x2028)} - {"\n"}


async def test_hostile_text_is_shown_everywhere_without_a_crash() -> None:
    app = ChatApp()
    async with app.run_test(size=(40, 60)) as pilot:
        for index, text in enumerate(scope.some(HOSTILE)):
            await show_everywhere(app, index, text)
            await until(pilot, lambda: not app.transcript.is_live and answers_drawn(app))
            assert not set(app.screen_text()) & COMMANDS
            # Of the newest alone: those before were looked at, and drawing them again costs most of it.
            newest = app.transcript.turns.views[-1]
            for tool in newest.folds:
                tool.set_open(True)
                await pilot.pause()
                assert not set(app.screen_text()) & COMMANDS
                tool.set_open(False)
                await pilot.pause()
            for cell in newest.query("Cell"):  # Textual's own would read its tooltip as markup
                if cell.region and cell.region in app.transcript.region:
                    await pilot.hover(cell)
            app.screen.text_select_all()
            assert app.screen.get_selected_text()
        open_tools(app)
        await pilot.pause()
        assert not set(app.screen_text()) & COMMANDS


async def show_everywhere(app: ChatApp, index: int, text: str) -> None:
    show = app.transcript.show
    diff = f"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-{text}\n+{text}\n"
    show(TurnStarted(turn(index, text)))
    show(ThoughtDelta(text))
    show(ToolStarted("a", text, {text: text, "command": text}, text))
    show(ToolEnded(call("edit", {"path": text}, text, diff=diff, id="a")))
    show(ToolEnded(call("shell", {"command": text}, text, id="b")))
    show(TextDelta(f"{text}\n\n- {text}\n\n```\n{text}\n```\n\n| a |\n| - |\n| {text} |\n"))
    show(RetryWaiting(text, 1.0, 1, 2))
    show(Notice(text))
    show(TurnEnded(turn(index, text, TurnStatus.FAILED, error=text)))


async def test_markup_is_read_as_text() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        app.transcript.show(TurnStarted(turn(text="[bold]words[/bold]")))
        app.transcript.show(ToolEnded(call("shell", {"command": "echo [red]"}, "[/] out")))
        app.transcript.show(TextDelta("Use `List<String>` or Map<K> and <b>tags</b> [bold]."))
        await until(pilot, lambda: app.query(ToolHead) and answers_drawn(app) and "tags" in app.screen_text())
        open_tools(app)
        await until(pilot, lambda: "[/] out" in app.screen_text())
        assert "[bold]words[/bold]" in app.screen_text()
        assert "shell echo [red]" in app.screen_text()
        assert "Use List<String> or Map<K> and <b>tags</b> [bold]." in app.screen_text()


async def test_a_megabyte_on_one_line_is_shown_in_part_and_whole_on_demand() -> None:
    line = "x" * 1_000_000
    app = ChatApp()
    async with app.run_test() as pilot:
        app.transcript.show(TurnStarted(turn()))
        app.transcript.show(ToolEnded(call(result=line)))
        app.transcript.show(ToolEnded(call("shell", {"command": line}, status=CallStatus.FAILED, id="b")))
        await until(pilot, lambda: len(app.query(ToolHead)) == 2)
        open_tools(app)
        await until(pilot, lambda: "999,000 more characters" in app.text())
        assert len(app.text()) < 10_000
        next(iter(app.query("MoreLine"))).action_press()
        await until(pilot, lambda: line in app.text())


@pytest.mark.parametrize("gutters", [("", "1000 + "), ("1 ", "1000 + "), ("1000 + ", "")])
async def test_no_character_is_hidden_by_the_gutter_of_another_line(gutters: tuple[str, str]) -> None:
    text = "0123456789" * 5
    rows = TextRows([TextLine(text, gutter) for gutter in gutters])

    class RowsApp(App[None]):
        def compose(self) -> ComposeResult:
            yield rows

    async with RowsApp().run_test(size=(20, 30)) as pilot:
        await until(pilot, lambda: rows.size.width == 20 and rows.size.height > 2)
        drawn = "".join(rows.render_line(y).text for y in range(rows.size.height))
        for gutter in gutters:
            drawn = drawn.replace(gutter.strip(), "", 1)
        assert drawn.replace(" ", "") == text * 2


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        (
            "README.md exists and was not read. Read it first.",
            ["README.md exists and", "was not read. Read", "it first."],
        ),
        ("漢字漢字 漢字漢字漢字漢字 end", ["漢字漢字", "漢字漢字漢字漢字 end"]),
        ("x" * 45 + " y", ["x" * 20, "x" * 20, "x" * 5 + " y"]),
        ("  /a/very/long/path/to/a", ["  /a/very/long/path/", "to/a"]),
        ("x" * 20 + " ", ["x" * 20]),
        ("", [""]),
    ],
)
async def test_what_went_wrong_is_folded_between_words(text: str, drawn: list[str]) -> None:
    rows = TextRows([TextLine(text, kind="error")])

    class RowsApp(App[None]):
        def compose(self) -> ComposeResult:
            yield rows

    async with RowsApp().run_test(size=(20, 30)) as pilot:
        await until(pilot, lambda: rows.size.width == 20)
        assert [rows.render_line(y).text.rstrip() for y in range(len(drawn) + 1)] == [*drawn, ""]
        rows.screen.text_select_all()
        assert rows.screen.get_selected_text() == text or not text


async def test_everything_is_copied_without_wraps_gutters_and_labels() -> None:
    app = ChatApp()
    long = "a sentence that is long enough to be wrapped at forty columns, twice even, I am quite sure"
    async with app.run_test(size=(40, 60)) as pilot:
        app.transcript.show(TurnStarted(turn(text=f"{long}\n  second line")))
        app.transcript.show(ToolEnded(call("edit", {"path": "parser.py"}, "Edited.", diff=DIFF)))
        code, table = f"```py\nx = '{long}'\n```", "| a | b |\n|-|-|\n| 1 | 2 |\n"
        markdown = f"{long}\n\n1. {long}\n2. two\n\n- {long}\n\n{code}\n\n{table}"
        app.transcript.show(TextDelta(markdown))
        await until(pilot, lambda: app.query("Cell") and answers_drawn(app))
        app.screen.text_select_all()
        copied = app.screen.get_selected_text() or ""
        lines = copied.split("\n")
        assert lines[:3] == [long, "  second line", "✓ edit parser.py · +3 -2"]
        assert "    tokens = tokenize(text)" in lines
        for line in (long, f"1. {long}", "2. two", f"- {long}", f"x = '{long}'", "a\tb", "1\t2"):
            assert line in lines


async def test_dragging_over_wrapped_output_selects_the_logical_characters() -> None:
    rows: list[TextRows] = []

    class App(ChatApp):
        def compose(self):  # type: ignore[no-untyped-def]
            rows.append(TextRows("0123456789" * 5 + "\nsecond"))
            yield rows[0]

        def on_mount(self) -> None: ...

    app = App()
    async with app.run_test(size=(20, 10)) as pilot:
        await until(pilot, lambda: rows[0].region.height == 4)
        await pilot.mouse_down(rows[0], offset=(5, 1))
        await pilot.hover(rows[0], offset=(3, 3))
        await pilot.mouse_up(rows[0], offset=(3, 3))
        # The character under the pointer too.
        selected = ("0123456789" * 5)[25:] + "\nseco"
        await until(pilot, lambda: app.screen.get_selected_text() == selected)


@given(st.text())
def test_printable_text_holds_no_control_characters(text: str) -> None:
    shown = printable(text)
    assert shown.isprintable() or not [
        c for c in shown if (ord(c) < 0x20 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0
    ]
    assert printable(shown) == shown
    shown.encode("utf-8")


@given(
    st.text(alphabet="ab \n\t日"), st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)
)
def test_any_selection_is_a_part_of_the_text(text: str, x1: int, y1: int, x2: int, y2: int) -> None:
    selection = Selection.from_offsets(Offset(x1, y1), Offset(x2, y2))
    assert extract(text, selection) in text
    assert extract(text, SELECT_ALL) == text


@given(
    st.lists(
        st.sampled_from(["+a", "-b", " c", "@@ -1,2 +3 @@", "--- a/x", "+++ b/x", "\\ No newline", "", "?"])
    )
)
def test_any_text_can_be_shown_as_a_diff(lines: list[str]) -> None:
    drawn = diff_lines("\n".join(lines))
    assert len({len(line.gutter) for line in drawn}) <= 1


async def test_a_selection_past_the_end_of_a_text_is_no_error() -> None:
    widget = PlainText("one\n")
    assert widget.get_selection(Selection(Offset(0, 1), Offset(5, 1))) == ("", "\n")
    assert widget.get_selection(Selection(Offset(0, 7), None)) == ("", "\n")
