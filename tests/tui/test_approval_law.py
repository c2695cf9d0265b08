"""Every character that will run or be written is drawn, in order, on the panel or by scrolling it."""

import unicodedata
from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from textual.pilot import Pilot

from ragforge.domain.approvals import ChangeFile, Proposal, RunCommand, ToolApproval
from ragforge.files.diffs import unified
from ragforge.tui.screens.confirm import ConfirmScreen
from ragforge.tui.widgets.proposal import ProposalView, proposal_lines
from ragforge.tui.widgets.text_rows import TextRows
from tests.tui.test_approval import asked, key
from tests.tui.transcript_app import ChatApp
from tests.tui.waiting import until

PIECES = [
    *(
        "@@ ",
        "@@ -1,2 +1,2 @@",
        "--- ",
        "+++ ",
        "--- a/x",
        "+++ b/x",
        "\\ No newline at end of file",
        "+",
        "-",
    ),
    *(
        "[bold]",
        "[/]",
        "[link=x]",
        "\\[",
        "\x1b[2J",
        "\x1b[8m",
        "\x9b31m",
        "$(touch PWNED)",
        "# ",
        "> ",
        "$ ",
    ),
    *("PASSWORD=$(touch PWNED)", "sk-" + "a" * 30, "://user:pw@host", "[redacted]", "<U+200B>", "→   ", "·"),
    *("日本語", "🇫🇷", "👩‍👩‍👧", "👍🏽", "한", "é", "e\u0301", "ก็", "ﷺ", "\U0001f468\u200d", "\u0301"),
    *("\u200b", "\u00ad", "\u202e", "\u2066", "\U000e0041", "\ufe0f", "\u3164", "\u2800", "\u00a0", "\u3000"),
    *("\t", " ", "  ", "\n", "\n\n", "\r", "\r\n", "\x0b", "\x0c", "\x85", "\u2028", "\ud800", "\x7f"),
    *("p\u0430ypal", "сору", "привет", "\U0001d42bm", " " * 80, "x" * 80, "\n" * 9, "界" * 40),
]
texts = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=8)), min_size=1, max_size=6).map("".join)
HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"}
WIDTHS = (5, 13, 34, 74, 190)
widths = st.sampled_from(WIDTHS)
ATTACK = "@@ " + "x" * 130 + "\n--- $(touch PWNED)\nls -la"

Row = tuple[str, str]
"""What is drawn before the text, and the text."""


async def boxes(pilot: Pilot[None]) -> dict[int, TextRows]:
    """Widgets of these widths, to draw in."""
    found = {width: TextRows() for width in WIDTHS}
    await pilot.app.mount(*found.values())
    for width, box in found.items():
        box.styles.width = width
    await until(pilot, lambda: all(box.size.width == width for width, box in found.items()))
    return found


def drawn(box: TextRows, proposal: Proposal) -> list[Row]:
    """The rows of the proposal as they come to the screen, without what is told about it."""
    lines = proposal_lines(proposal)
    cells = len(lines[0].gutter)
    box.set_lines(lines)
    height = box.get_content_height(box.size, box.size, box.size.width)
    strips = [box.render_line(y) for y in range(height)]
    assert {strip.cell_length for strip in strips} == {box.size.width}
    rows = [(strip.text[:cells], strip.text[cells:]) for strip in strips]
    ours = next((at for at, (sign, _) in enumerate(rows) if sign.strip() not in ("", "·")), len(rows))
    return rows[ours:]


class Reader:
    """Reads the rows character by character, as somebody who compares them with the call."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = list(rows)
        self.at = 0

    def begins(self) -> str:
        """The sign of the line that begins here."""
        sign = self.rows[0][0].strip()
        assert sign
        return sign

    def read(self, wanted: str) -> None:
        for char in wanted:
            rest = self.rows[0][1][self.at :]
            if not rest.startswith(char):
                assert rest.strip(" ") == "", (char, rest)
                del self.rows[0]
                assert self.rows[0][0].strip() == "", "the fold of the same line"
                assert self.rows[0][1].startswith(char), (char, self.rows[0])
                self.at = 0
            self.at += 1

    def may_read(self, wanted: str) -> None:
        rows, at = list(self.rows), self.at
        try:
            self.read(wanted)
        except (AssertionError, IndexError):
            self.rows, self.at = rows, at

    def line(self, text: str) -> None:
        """Read one line of the call to its end."""
        end = len(text.rstrip(" "))
        for index, char in enumerate(text):
            escape = f"<U+{ord(char):04X}>"
            if char == "\t":
                self.read("→   ")
            elif char == " ":
                self.read(" " if index < end else "·")
            elif unicodedata.category(char) in HIDDEN or char in "\u3164\u2800\ufe0f\u0301":
                self.read(escape)
            else:
                self.read(char)
                self.may_read(escape)
        assert self.rows[0][1][self.at :].strip(" ") == ""
        del self.rows[0]
        self.at = 0

    def end(self) -> None:
        assert self.rows == []


async def test_every_character_of_a_command_is_drawn_in_order() -> None:
    async with ChatApp().run_test(size=(200, 10)) as pilot:
        found = await boxes(pilot)

        @settings(max_examples=60, deadline=None)
        @given(texts, widths)
        @example(ATTACK, 74)
        @example(ATTACK, 13)
        def law(command: str, width: int) -> None:
            reader = Reader(drawn(found[width], RunCommand(command)))
            for number, line in enumerate(command.split("\n")):
                assert reader.begins() == (">" if number else "$")
                reader.line(line)
            reader.end()

        law()


def written_lines(text: str, *, raw: bool) -> list[tuple[str, bool]]:
    """The lines of a file's text, and whether each ends in a line break."""
    lines = (text if raw else text.replace("\r\n", "\n")).split("\n")
    return [(line, True) for line in lines[:-1]] + ([(lines[-1], False)] if lines[-1] else [])


def breaks(text: str) -> set[str]:
    windows = text.count("\r\n")
    return ({"\r\n"} if windows else set()) | ({"\n"} if text.count("\n") > windows else set())


async def test_every_character_of_a_change_is_drawn_in_order() -> None:
    async with ChatApp().run_test(size=(200, 10)) as pilot:
        found = await boxes(pilot)

        @settings(max_examples=50, deadline=None)
        @given(st.none() | texts, texts, texts, widths.filter(lambda width: width > 5))
        @example(None, "", ATTACK, 74)
        @example("a\r\nb\r\n", "", "a\nb\r\n", 74)
        def law(old: str | None, same: str, new: str, width: int) -> None:
            old, new = None if old is None else same + old, same + new
            raw = len(breaks(old or "") | breaks(new)) > 1
            before, after = (written_lines(text, raw=raw) for text in (old or "", new))
            reader = Reader(drawn(found[width], ChangeFile("f", unified(old, new, "f", endings=True))))
            read_change(reader, before, after)

        law()


def read_change(reader: Reader, before: list[tuple[str, bool]], after: list[tuple[str, bool]]) -> None:
    """Read a drawn change. What it does not draw must be the same in both texts."""
    removed, added = set[int](), set[int]()
    while reader.rows:
        sign = reader.begins()
        if sign == "⋯":
            reader.line("")
            continue
        number = int(sign.split()[0]) - 1
        if sign.endswith("-"):
            text, whole = before[number]
            removed.add(number)
        else:
            text, whole = after[number]
            if sign.endswith("+"):
                added.add(number)
        reader.line(text)
        if not whole:
            assert reader.begins() == "\\"
            reader.line("No newline at end of file")
    kept_before = [line for number, line in enumerate(before) if number not in removed]
    assert kept_before == [line for number, line in enumerate(after) if number not in added]


@pytest.mark.parametrize("size", [(80, 24), (40, 12), (200, 50), (30, 10)])
async def test_all_of_it_is_reached_by_scrolling(size: tuple[int, int]) -> None:
    app = ChatApp()
    command = "\n".join([ATTACK, *(f"echo {number}" for number in range(size[1])), "rm -rf /"])
    async with app.run_test(size=size) as pilot:
        task = await asked(
            app, pilot, ToolApproval("c", "shell", command, RunCommand(command), "it may" * 50)
        )
        panel = app.dock.panel
        assert panel is not None
        view = panel.query_one(ProposalView)
        await until(pilot, lambda: "more lines below" in app.screen_text())
        seen: list[str] = []
        while True:
            top = view.scroll_offset.y
            box = view.query_one(TextRows)
            region = view.scrollable_content_region
            rows = app.screen_text().split("\n")[region.y : region.bottom]
            assert len(rows) == view.size.height >= 1
            seen[top:] = [row[region.x : region.right].rstrip() for row in rows]
            if not view.rows_below:
                break
            key(app, "pagedown")
            await until(pilot, lambda top=top: view.scroll_offset.y > top)
        want = [box.render_line(y).text.rstrip() for y in range(view.rows)]
        assert seen == want
        assert "the end" in app.screen_text()
        task.cancel()


async def test_a_projects_own_command_is_asked_about_whole() -> None:
    command = "make check" + " " * 300 + "; rm -rf ~"
    app = ChatApp()
    async with app.run_test(size=(40, 16)) as pilot:
        screen = ConfirmScreen("May it run?", command=command)
        app.push_screen(screen)
        await until(pilot, lambda: screen.is_mounted and "below (PgDn)" in app.screen_text())
        assert "n  no" in app.screen_text()
        assert "rm -rf ~" not in app.screen_text()
        for _ in range(8):
            key(app, "pagedown")
        await until(pilot, lambda: "; rm -rf ~" in app.screen_text())
        await until(pilot, lambda: "the end" in app.screen_text())
