"""A question with a few answers, where there is little room."""

import asyncio

import pytest
from textual import events
from textual.widget import Widget

from ragforge.commands.base import Option
from ragforge.domain import timeouts
from ragforge.tui.screens.choose import ChooseScreen
from ragforge.tui.screens.confirm import ConfirmScreen
from ragforge.tui.widgets.plain import PlainText
from ragforge.tui.widgets.text_rows import TextRows
from tests.tui.chat_app import Chat, Lab
from tests.tui.pictures import in_front, rows_of

OPTIONS = (
    Option("keep", "keep what is there now", "undo --on-conflict keep"),
    Option("restore", "put there what the version has; what lies there now is a version of its own", "undo"),
    Option("merge", "merge both, with conflict markers where both changed the same lines", "undo"),
)


@pytest.mark.parametrize("size", [(40, 20), (80, 24), (120, 40)])
async def test_every_answer_is_seen_however_many_files_are_asked_about(
    lab: Lab, size: tuple[int, int]
) -> None:
    paths = "\n".join(f"src/file{number}.py" for number in range(100))
    async with lab.chat(size=size) as chat:
        screen = ChooseScreen("100 files have changed since then, by you or another session.", paths, OPTIONS)
        await chat.app.push_screen(screen)
        answers = screen.query(".dialog-choice")
        await chat.until(
            lambda: (
                len(answers) == len(OPTIONS) + 1
                and all(answer.region.height and answer.region.bottom < size[1] for answer in answers)
            ),
            "all answers are on the screen",
        )
        assert screen.query_one("#choice-detail").region.height > 0


QUESTION = "A file has changed since then, by you or another session. What should happen to it?"
DIFF = "--- a\n+++ b\n" + "".join(f"+line {number}\n" for number in range(40))


async def test_the_lines_of_an_answer_begin_below_each_other(lab: Lab) -> None:
    async with lab.chat(size=(40, 30)) as chat:
        screen = ChooseScreen("Which?", "", OPTIONS)
        await chat.app.push_screen(screen)
        answer = screen.query_one("#_2", PlainText)
        await chat.until(lambda: answer.size.height > 1, "the answer takes several lines")
        await chat.pilot.press("down", "down")
        drawn = [line.text for line in answer.render_lines(answer.outer_size.region)]
        assert drawn[0].startswith("› 2  restore: put there")
        assert all(line.startswith(" " * 5) and line[5] != " " for line in drawn[1:])
        assert " ".join(line[5:].strip() for line in drawn) == f"restore: {OPTIONS[1].meaning}"


@pytest.mark.parametrize("diff", ["", DIFF], ids=["files", "diff"])
async def test_where_not_even_the_answers_fit_all_of_it_scrolls(lab: Lab, diff: str) -> None:
    size = (30, 14)
    async with lab.chat(size=size) as chat:
        screen = ChooseScreen(QUESTION, "src/a.py", OPTIONS, diff=diff)
        await chat.app.push_screen(screen)
        dialog = screen.query_one(".dialog")
        await chat.until(lambda: dialog.max_scroll_y > 0, "the dialog scrolls")
        seen: set[Widget] = set()

        def look() -> None:
            inside = dialog.content_region
            seen.update(part for part in dialog.children if inside.contains_region(part.region))

        look()
        assert screen.query_one(".dialog-title") in seen
        while dialog.scroll_offset.y < dialog.max_scroll_y:
            before = dialog.scroll_offset.y
            await chat.pilot.press("shift+down")
            await chat.until(lambda before=before: dialog.scroll_offset.y > before, "it scrolled")
            look()
        assert seen >= set(screen.query(".dialog-choice"))
        await chat.pilot.press("home")
        await chat.until(lambda: not dialog.scroll_offset.y, "back at its beginning")
        await chat.pilot.resize_terminal(80, 30)
        await chat.until(lambda: not dialog.max_scroll_y, "with more room the answers stand still")


async def test_a_double_click_answers_once(lab: Lab) -> None:
    async with lab.chat() as chat:
        answers: list[str | None] = []
        screen = ChooseScreen(QUESTION, "src/a.py", OPTIONS)
        await chat.app.push_screen(screen, answers.append)
        chosen = screen.query_one("#_1")
        for _ in range(2):
            screen.post_message(click_on(chosen))
        await chat.until(lambda: chat.app.screen is not screen, "the question is gone")
        await chat.pilot.pause()
        assert answers == [OPTIONS[0].then]
        assert chat.app.screen is chat.screen


@pytest.mark.parametrize(
    ("pressed", "chosen"),
    [
        (("enter", "1"), "keep"),
        (("down", "enter"), "keep"),
        (("down", "down", "down", "down", "up", "enter"), "restore"),
        (("up", "enter"), "merge"),
    ],
)
async def test_arrows_choose_among_several_answers_and_enter_gives_one(
    lab: Lab, pressed: tuple[str, ...], chosen: str
) -> None:
    async with lab.chat() as chat:
        answers: list[str | None] = []
        screen = ChooseScreen(QUESTION, "src/a.py", OPTIONS)
        await chat.app.push_screen(screen, answers.append)
        await chat.until(lambda: screen.query(".dialog-choice"), "the question")
        await chat.pilot.press(*pressed)
        await chat.until(lambda: bool(answers), "an answer")
        assert answers == [next(option.then for option in OPTIONS if option.name == chosen)]


HIDDEN = "a\u200bb\u202ec\U000e0041"
SPELLED = "a<U+200B>b<U+202E>c<U+E0041>"


async def test_a_choice_spells_out_what_cannot_be_seen(lab: Lab) -> None:
    async with lab.chat() as chat:
        diff = f"--- a\n+++ b\n@@ -0,0 +1 @@\n+{HIDDEN}\n"
        screen = ChooseScreen(HIDDEN, HIDDEN, [Option(HIDDEN, HIDDEN, "undo")], diff=diff)
        await chat.app.push_screen(screen)
        await chat.until(lambda: screen.query(TextRows), "the question")
        texts = [part.text for part in screen.query(PlainText)]
        assert texts[:3] == [SPELLED, SPELLED, f"  1  {SPELLED}: {SPELLED}"]
        assert [line.text for line in screen.query_one(TextRows).lines] == [SPELLED]


async def test_a_question_spells_out_what_cannot_be_seen(lab: Lab) -> None:
    async with lab.chat() as chat:
        screen = ConfirmScreen(HIDDEN, detail=HIDDEN)
        await chat.app.push_screen(screen)
        await chat.until(lambda: screen.query(".dialog-choice"), "the question")
        assert [part.text for part in screen.query(PlainText)][:2] == [SPELLED, SPELLED]


async def test_arrows_choose_an_answer_and_enter_gives_it(lab: Lab) -> None:
    async with lab.chat(size=(40, 12)) as chat:
        answers: list[bool | None] = []
        screen = ConfirmScreen("Send this message of 日本語 and up to 1,615k tokens?", detail="مرحبا " * 20)
        await chat.app.push_screen(screen, answers.append)
        await chat.until(lambda: screen.query(".dialog-choice"), "the question")
        await chat.until(lambda: all(0 < p.region.bottom < 12 for p in screen.query(".dialog-choice")))
        for keys, chosen in ((("enter",), ""), (("down", "down"), "› n"), (("up",), "› y")):
            for key in keys:
                screen._last_key_s -= timeouts.APPROVAL_QUIET_S
                await chat.pilot.press(key)
            assert "".join(t for p in screen.query(PlainText) if (t := p.text).startswith("›"))[:3] == chosen
        screen._last_key_s -= timeouts.APPROVAL_QUIET_S
        await chat.pilot.press("enter")
        await chat.until(lambda: answers == [True], "it is answered")


def click_on(widget: Widget) -> events.Click:
    return events.Click(widget, 1, 0, 0, 0, 1, False, False, False)


def drawn(chat: Chat) -> str:
    return "\n".join(rows_of(chat, in_front(chat)))


async def test_messages_typed_while_a_question_is_open_are_seen_and_stay_two(lab: Lab) -> None:
    async with lab.chat() as chat:
        screen = ConfirmScreen("Forget this memory?")
        asked = asyncio.create_task(chat.screen.ask(screen))
        await chat.until(lambda: screen.is_mounted, "the question")
        await chat.pilot.press("enter", *"make it blux", "backspace", "e", "enter")
        await chat.until(lambda: "kept for the prompt: make it blue" in drawn(chat), "it is seen")
        chat.app.post_message(events.Paste("and fast [bold]"))
        await chat.until(lambda: "make it blue and fast [bold]" in drawn(chat), "a paste too")
        await chat.pilot.press("enter")
        await chat.answers("n")
        assert await asked is False
        await chat.until(lambda: chat.draft == "make it blue\nand fast [bold]")
