"""How an answer is drawn while it grows: what stands already stays, and it is the same as drawn at once."""

import asyncio
from time import monotonic
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.containers import Horizontal
from textual.pilot import Pilot
from textual.widget import Widget

from ragforge.domain.events import TextDelta, TurnStarted
from ragforge.tui.widgets.answer import DRAW_EVERY_S, AnswerView
from ragforge.tui.widgets.answer_fence import PIECE_LINES_MAX, Piece, pieces_of
from ragforge.tui.widgets.answer_markdown import BulletList, NumberedList
from tests.tui.transcript_app import ChatApp, answers_drawn, turn
from tests.tui.waiting import until

CODE = "".join(f"def number_{number}():\n    return {number}\n\n" for number in range(40)).rstrip()
FENCE = f"```python\n{CODE}\n```\n"
BULLETS = "".join(f"- item **{number}**\n" for number in range(12))
NUMBERS = "".join(f"{number}. item {number}\n" for number in range(1, 13))
NESTED = "1. one\n   - a\n   - b\n2. two\n\n   more of two\n3. three\n"

QUOTE = "> said **once**\n> and again\n>\n> - a\n> - b\n>\n> the end\n\nafter it\n"
MIXED = """# One

Words that
---
- a

  more of *a*
- -
--

日本語の文章は空白なしで続きます、それでも折り返されます、どこまでも。 שלום לכל העולם 👩‍💻

1. ```sh
   ls -l
   ```
2. > quoted

***
words before
| a | b |
|---|---|
| `1` | 2 |
"""

COSTS = """| model | for | calls | input | cached | output | thoughts | cost |
|---|---|--:|--:|--:|--:|--:|---|
| at-127-0-0-1-8991:test-model | memory: summaries | 16 | 1,234,567 | 900 | 237 | 75 | price unknown |
"""

lines = st.lists(st.sampled_from(["", "x = 1", "    y = 2", "\tz", "  "]), max_size=PIECE_LINES_MAX + 50)


async def drawn(app: ChatApp, pilot: Pilot[Any]) -> None:
    await until(pilot, lambda: app.query(AnswerView) and answers_drawn(app))


async def grow(app: ChatApp, pilot: Pilot[Any], text: str, *, step: int) -> None:
    """Show the text in pieces, each drawn before the next comes."""
    for at in range(0, len(text), step):
        app.transcript.show(TextDelta(text[at : at + step]))
        app.transcript.flush()
        await drawn(app, pilot)


async def screen_of(text: str, *, step: int) -> tuple[str, str]:
    """What is on the screen, and what is copied, after the text came in pieces."""
    app = ChatApp()
    async with app.run_test(size=(60, 150)) as pilot:
        app.transcript.show(TurnStarted(turn(text="Go")))
        await grow(app, pilot, text, step=step)
        await pilot.pause()
        app.screen.text_select_all()
        return app.screen_text(), app.screen.get_selected_text() or ""


@given(lines, lines)
def test_more_code_changes_the_last_piece_only(code: list[str], more: list[str]) -> None:
    first = list(pieces_of("\n".join(code)))
    then = list(pieces_of("\n".join([*code, *more])))
    assert then[: len(first) - 1] == first[:-1]
    assert "\n".join(then) == "\n".join([*code, *more])
    assert all(piece.count("\n") < PIECE_LINES_MAX for piece in then)


@pytest.mark.parametrize(
    ("text", "step"),
    [(FENCE, 37), (BULLETS, 37), (NUMBERS, 37), (NESTED, 37), (COSTS, 9), (QUOTE, 5), (MIXED, 4)],
    ids=("code", "bullets", "numbers", "nested", "table", "quote", "mixed"),
)
async def test_what_grows_is_drawn_and_copied_as_what_is_there_at_once(text: str, step: int) -> None:
    grown, at_once = await screen_of(text, step=step), await screen_of(text, step=len(text))
    assert grown == at_once
    if text is FENCE:
        assert CODE in grown[1]
        shown = "\n".join(line.strip() for line in grown[0].splitlines())
        assert "\n".join(line.strip() for line in CODE.splitlines()) in shown


async def test_code_that_stands_is_not_drawn_again() -> None:
    app = ChatApp()
    async with app.run_test(size=(60, 150)) as pilot:
        app.transcript.show(TurnStarted(turn(text="Go")))
        await grow(app, pilot, FENCE[:-60], step=len(FENCE))
        before = {piece: piece.content for piece in app.query(Piece)}
        await grow(app, pilot, FENCE[-60:], step=10)
        after = {piece: piece.content for piece in app.query(Piece)}
        assert [*after] == [*before]
        changed = [at for at, piece in enumerate(after) if after[piece] is not before[piece]]
        assert changed == [len(after) - 1]


@pytest.mark.parametrize("kind", [BulletList, NumberedList])
async def test_items_that_stand_are_not_made_again(kind: type[Widget]) -> None:
    text = BULLETS if kind is BulletList else NUMBERS[: NUMBERS.index("10.")]
    app = ChatApp()
    async with app.run_test(size=(60, 50)) as pilot:
        app.transcript.show(TurnStarted(turn(text="Go")))
        half = text.index("item", len(text) // 2)
        await grow(app, pilot, text[:half], step=len(text))
        before = list(app.query_one(kind).query_children(Horizontal))
        await grow(app, pilot, text[half:], step=7)
        after = list(app.query_one(kind).query_children(Horizontal))
        assert len(after) > len(before)
        assert after[: len(before)] == before


@pytest.mark.parametrize(
    ("text", "more"),
    [("Some words", " of **a line**"), ("- one\n- two", " of `a line`"), ("```py\nx = 1\ny", " = 2")],
    ids=("paragraph", "item", "code"),
)
async def test_the_screen_is_laid_out_when_a_line_is_added_and_not_for_words_within_one(
    text: str, more: str
) -> None:
    app = ChatApp()
    async with app.run_test(size=(60, 50)) as pilot:
        app.transcript.show(TurnStarted(turn(text="Go")))
        await grow(app, pilot, text, step=len(text))
        layouts = list[object]()
        app.screen.screen_layout_refresh_signal.subscribe(app, layouts.append)
        await grow(app, pilot, more, step=4)
        await pilot.pause()
        shown = app.screen_text()
        assert not layouts
        assert more.strip(" *`")[-5:] in shown
        await grow(app, pilot, " word" * 15, step=100)
        await until(pilot, lambda: layouts)


async def test_words_within_a_line_have_room_where_the_screen_goes_back_to_a_width_it_had() -> None:
    app = ChatApp()
    async with app.run_test(size=(40, 50)) as pilot:
        app.transcript.show(TurnStarted(turn(text="Go")))
        await grow(app, pilot, "word " * 6, step=100)
        await pilot.resize_terminal(100, 50)
        await grow(app, pilot, "more " * 9, step=100)
        await pilot.resize_terminal(40, 50)
        await pilot.pause()
        assert app.screen_text().count("more") == 9


async def test_code_takes_the_colours_of_another_theme() -> None:
    app = ChatApp()
    async with app.run_test(size=(60, 50)) as pilot:
        app.transcript.show(TurnStarted(turn(text="Go")))
        await grow(app, pilot, FENCE[:300], step=300)
        (piece,) = app.query(Piece)
        app.theme = "textual-light"
        await until(pilot, lambda: not piece.lines.dark)


@pytest.mark.parametrize("step", [9, 1000])
async def test_a_narrow_table_shows_all_of_its_words_and_keeps_numbers_whole(step: int) -> None:
    app = ChatApp()
    async with app.run_test(size=(80, 60)) as pilot:
        app.transcript.show(TurnStarted(turn(text="Go")))
        await grow(app, pilot, COSTS, step=step)
        await until(pilot, lambda: "1,234,567" in app.screen_text())
        shown = app.screen_text()
        assert "…" not in shown
        assert all(word in shown for word in ("calls", "input", "cached", "output", "thoughts", "900", "237"))
        letters = "".join(shown.split())
        assert all(letters.count(char) >= COSTS.count(char) for char in "mduk")


async def test_an_answer_that_streams_is_drawn_at_once_and_then_a_dozen_times_a_second() -> None:
    app = ChatApp()
    async with app.run_test() as pilot:
        app.transcript.show(TurnStarted(turn(text="Go")))
        app.transcript.show(TextDelta("word "))
        await until(pilot, lambda: app.query(AnswerView) and answers_drawn(app))
        view = app.query_one(AnswerView)
        drawn, began_s = [view._drawn_chars], monotonic()
        while (took_s := monotonic() - began_s) < 10 * DRAW_EVERY_S:
            app.transcript.show(TextDelta("word "))
            await asyncio.sleep(0.01)
            drawn.append(view._drawn_chars)
        assert 1 < len(set(drawn)) <= took_s / DRAW_EVERY_S + 2
        await until(pilot, lambda: answers_drawn(app))
