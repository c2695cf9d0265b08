"""Tables in answers: a figure is never cut off, however narrow the screen."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App, ComposeResult

from ragforge.tui.widgets.answer_markdown import (
    CELL_PADDING,
    WORD_CELLS_MAX,
    AnswerMarkdown,
    Cell,
    column_widths,
)
from tests.tui.waiting import until_still

HEAD = ["model", "for", "calls", "input", "cached", "output", "thoughts", "cost"]
ROWS = [
    ["gemini:gemini-3.8-flash", "chat", "7", "17,490", "12,000", "121", "0", "$0.0136"],
    ["gemini:gemini-3.5-flash", "memory summaries", "3", "3,957", "0", "12", "0", "$0.0012"],
]
TABLE = "\n".join("| " + " | ".join(row) + " |" for row in (HEAD, ["---"] * len(HEAD), *ROWS))
CELLS = st.lists(st.sampled_from(["", "one", "17,490", "a b", "端口", "x" * 30]), min_size=3, max_size=3)


@given(st.lists(CELLS, min_size=1, max_size=5), st.integers(1, 120))
def test_columns_fit_and_have_room_for_every_word(rows: list[list[str]], width: int) -> None:
    widths = column_widths(rows, width)
    if not widths:
        return
    assert sum(widths) <= width
    for column, room in zip(zip(*rows, strict=True), widths, strict=True):
        words = [cell_len(word) for cell in column for word in cell.split()]
        assert room >= min(max(words, default=0), WORD_CELLS_MAX) + CELL_PADDING


def test_where_not_even_words_have_room_there_are_no_columns() -> None:
    assert column_widths([HEAD, *ROWS], 40) == ()
    assert column_widths([HEAD, *ROWS], 78)
    assert sum(column_widths([HEAD, *ROWS], 200)) < 120  # no wider than what is in it


class TableApp(App[None]):
    def compose(self) -> ComposeResult:
        yield AnswerMarkdown(TABLE)


def rows_shown(app: App[None]) -> list[str]:
    screen: Any = app.screen
    return ["".join(part.text for part in strip) for strip in screen._compositor.render_strips()]


async def test_it_is_read_at_any_width_and_goes_back_to_columns() -> None:
    app = TableApp()
    async with app.run_test(size=(84, 30)) as pilot:
        for columns in (84, 40, 120, 40, 84):
            await pilot.resize_terminal(columns, 30)
            await until_still(pilot)
            shown = rows_shown(app)
            for figure in ("17,490", "12,000", "3,957", "$0.0136", "$0.0012", "thoughts"):
                assert any(figure in row for row in shown), (columns, figure, shown)
            beside = [row for row in shown if "17,490" in row and "$0.0136" in row]
            assert bool(beside) is (columns > 40)
            named = [row for row in shown if row.split()[:2] == ["input", "17,490"]]
            assert bool(named) is (columns == 40)


async def test_rows_that_come_later_are_laid_out_as_the_others() -> None:
    class Growing(App[None]):
        def compose(self) -> ComposeResult:
            yield AnswerMarkdown()

    app = Growing()
    async with app.run_test(size=(40, 60)) as pilot:
        answer = app.query_one(AnswerMarkdown)
        for at in range(0, len(TABLE), 20):
            await answer.append(TABLE[at : at + 20])
            await pilot.pause()
        await until_still(pilot)
        shown = rows_shown(app)
        assert [row.split()[1] for row in shown if row.split()[:1] == ["cost"]] == ["$0.0136", "$0.0012"]
        assert {cell.words.plain for cell in app.query(Cell)} == {*HEAD, *ROWS[0], *ROWS[1]}
