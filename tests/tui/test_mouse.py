"""What the mouse does, and what it does not; afterwards keys go where they went before."""

import asyncio
from collections.abc import AsyncIterator
from time import monotonic

import pytest
from textual.containers import VerticalScroll
from textual.widgets import Input

from ragforge.commands.base import run_command
from ragforge.tui.screens.confirm import ConfirmScreen
from ragforge.tui.screens.model import ModelScreen
from ragforge.tui.screens.search import SearchScreen
from ragforge.tui.screens.trust import TrustScreen
from ragforge.tui.widgets.completion import Completion
from ragforge.tui.widgets.fold import Fold
from ragforge.tui.widgets.recall_line import RecalledItem
from ragforge.tui.widgets.todo_panel import TodoPanel
from ragforge.tui.widgets.tool_line import ToolHead
from ragforge.tui.widgets.turn_list import TurnList
from tests.standins.gemini import Call, Calls, Cut, GeminiStandIn, Hang, Text, Thought, Until
from tests.tui.chat_app import Chat, Lab
from tests.tui.mouse import MIDDLE, RIGHT, Mouse, place_of, rows

PARAGRAPHS = "\n\n".join(f"Paragraph {number} has several-words." for number in range(60))


@pytest.fixture
async def chat(lab: Lab, gemini: GeminiStandIn) -> AsyncIterator[Chat]:
    """A turn with a memory recalled, a tool call of many lines and an answer longer than the screen."""
    (lab.project / "long.txt").write_text("a line\n" * 100)
    gemini.script(Calls(Call("read", {"path": "long.txt"})), (Thought("Hm."), Text(PARAGRAPHS)))
    async with lab.chat(size=(100, 40)) as found:
        await run_command(found.screen.ready().session, "remember", "decision: use tabs")
        await found.say("How do we indent, with tabs?")
        await found.sees("Paragraph 59")
        await found.turn_ended()
        yield found


async def top_of(chat: Chat) -> TurnList:
    """The conversation, scrolled to its beginning."""
    turns = chat.screen.query_one(TurnList)
    await chat.until(lambda: turns.max_scroll_y > 0)

    def is_there() -> bool:
        turns.scroll_home(animate=False)  # again: the end of the answer may just have been followed
        return turns.scroll_y == 0 and bool(chat.screen.query(ToolHead))

    await chat.until(is_there)
    return turns


@pytest.mark.parametrize("button", [MIDDLE, RIGHT])
async def test_other_buttons_than_the_left_do_nothing(chat: Chat, button: int) -> None:
    await top_of(chat)
    mouse = Mouse(chat)
    [fold] = [each.parent for each in chat.screen.query(ToolHead)]
    assert isinstance(fold, Fold)
    chat.screen.prompt.set_draft("hello world")
    await mouse.click("read long.txt", button=button)
    await mouse.click("hello", button=button)
    await chat.type("!")
    assert (fold.is_open, chat.draft) == (False, "hello world!")
    await mouse.click("read long.txt")
    await chat.until(lambda: fold.is_open)


async def test_what_is_dragged_over_is_selected_and_not_clicked(chat: Chat) -> None:
    await top_of(chat)
    x, y = place_of(chat, "read long.txt")
    [fold] = [each.parent for each in chat.screen.query(ToolHead)]
    assert isinstance(fold, Fold)
    await Mouse(chat).drag((x, y), (x + 8, y))
    assert chat.screen.get_selected_text()
    await chat.type("k")
    assert (fold.is_open, chat.draft) == (False, "k")


async def test_a_double_click_selects_the_word_and_a_third_the_paragraph(chat: Chat) -> None:
    await top_of(chat)
    mouse = Mouse(chat)
    vars(chat.app)["CLICK_CHAIN_TIME_THRESHOLD"] = 60.0  # a busy machine clicks slowly
    x, y = place_of(chat, "Paragraph 2 ")
    await mouse.click((x + 16, y), times=2)
    assert chat.screen.get_selected_text() == "several"
    await mouse.click((x + 16, y))
    assert chat.screen.get_selected_text() == "Paragraph 2 has several-words."
    await chat.pilot.press("ctrl+c")
    await chat.type("k")
    assert (chat.app.clipboard, chat.draft) == ("Paragraph 2 has several-words.", "k")


async def test_the_wheel_over_the_prompt_moves_the_conversation(chat: Chat) -> None:
    turns = await top_of(chat)
    mouse = Mouse(chat)
    await mouse.wheel(chat.screen.prompt, times=3)
    await chat.until(lambda: turns.scroll_y == 3)
    await mouse.wheel(chat.screen.status, down=False)
    await chat.until(lambda: turns.scroll_y == 2)
    await chat.type("k")
    assert chat.draft == "k"


async def test_the_wheel_goes_through_what_is_offered_and_a_click_takes_it(chat: Chat) -> None:
    mouse = Mouse(chat)
    await chat.type("/s")
    offered = chat.screen.query_one(Completion)
    await chat.until(lambda: offered.is_open)
    first = offered.chosen
    await mouse.wheel(offered)
    second = offered.chosen
    assert first
    assert second
    assert second != first
    await mouse.wheel(offered, down=False)
    assert offered.chosen == first
    await mouse.click(second.label)
    assert chat.draft == second.insert
    await chat.type("k")
    assert chat.draft == f"{second.insert}k"


async def test_an_item_that_was_recalled_opens_and_is_forgotten_without_a_key(chat: Chat) -> None:
    await top_of(chat)
    mouse = Mouse(chat)
    await mouse.click("▸ recalled")
    await chat.until(lambda: chat.screen.query(RecalledItem))
    item = chat.screen.query_one(RecalledItem)
    for lines in (3, 1):
        await mouse.click((item.region.x + 2, item.region.y))
        await chat.until(lambda lines=lines: len(item.text.splitlines()) == lines)
    await mouse.click("Delete forgets")
    await chat.until(lambda: isinstance(chat.top, ConfirmScreen))
    await mouse.until("y  yes", lambda: chat.top is chat.screen)
    await chat.sees("Forgotten:")
    await chat.type("k")
    assert chat.draft == "k"


async def test_the_keys_of_a_recalled_item_do_nothing_by_a_click_while_none_has_the_focus(chat: Chat) -> None:
    await top_of(chat)
    mouse = Mouse(chat)
    await mouse.click("▸ recalled")
    await chat.until(lambda: chat.screen.query(RecalledItem))
    chat.screen.prompt.focus()
    await chat.type("not yet")
    chat.screen.prompt.move_cursor((0, 0))
    for words in ("Delete forgets", "Enter opens"):
        await mouse.click(words)
    await chat.pilot.pause()
    assert (chat.draft, chat.screen.busy) == ("not yet", False)


async def test_a_double_click_between_words_selects_nothing(chat: Chat) -> None:
    await top_of(chat)
    x, y = place_of(chat, "Paragraph 2 ")
    await Mouse(chat).click((x + 9, y), times=2)
    assert chat.screen.get_selected_text() is None


async def test_the_to_do_list_opens_with_a_click_and_shows_what_fits_with_another(lab: Lab) -> None:
    items = [{"text": f"step {number}", "state": "pending"} for number in range(12)]
    lab.gemini.script(Calls(Call("todo", {"items": items})), Text("Begun."))
    async with lab.chat(size=(100, 40)) as chat:
        await chat.say("begin")
        await chat.turn_ended()
        mouse, panel = Mouse(chat), chat.screen.query_one(TodoPanel)
        await chat.until(lambda: panel.region.height == 5)
        await mouse.click("To do ·")
        await chat.until(lambda: panel.region.height == 13, "all of it")
        await mouse.click("step 7")
        await chat.until(lambda: panel.region.height == 5, "what fits")
        await chat.type("k")
        assert chat.draft == "k"


async def test_a_queued_message_is_taken_back_with_a_click(lab: Lab) -> None:
    lab.gemini.script((Text("a "), Hang()))
    async with lab.chat() as chat:
        await chat.say("go")
        await chat.sees("a ")
        await chat.say("and then")
        mouse = Mouse(chat)
        await chat.until(lambda: any("queued  and then" in row for row in rows(chat)))
        await mouse.click("Up edits")
        await chat.until(lambda: chat.draft == "and then")
        await chat.type("!")
        assert chat.draft == "and then!"
        x, y = place_of(chat, "s · Esc interrupts")
        await mouse.click((x + 6, y))
        await chat.turn_ended()


async def test_a_click_on_what_waits_does_what_it_says_beside_a_draft(lab: Lab) -> None:
    lab.monkeypatch.setenv("RAGFORGE_RETRY_ATTEMPTS_MAX", "1")
    gate = asyncio.Event()
    lab.gemini.script((Text("Busy"), Until(gate), Cut("rst")), Text("Now."))
    async with lab.chat() as chat:
        await chat.say("one")
        await chat.sees("Busy")
        mouse = Mouse(chat)
        for number, words in enumerate(("two", "three"), 1):
            await chat.say(words)
            await chat.until(lambda number=number: chat.screen.prompt.queued == number)
        await chat.type("mine")
        await mouse.click("Up edits")
        await chat.until(lambda: chat.draft == "three\n\nmine")
        gate.set()
        await chat.turn_ended()
        await chat.until(lambda: any("Enter sends" in row for row in rows(chat)))
        await mouse.click("Enter sends")
        await chat.sees("Now.")
        await chat.turn_ended()
        assert chat.draft == "three\n\nmine"
        assert "two" in lab.gemini.asked()[-1].last_text
        assert "mine" not in str([asked.body for asked in lab.gemini.asked()])


async def test_the_wheel_at_the_end_of_what_it_scrolls_chooses_nothing_else(lab: Lab) -> None:
    lab.gemini.script(*(Text(f"Tabs, number {number}.") for number in range(4)))
    async with lab.chat(size=(80, 18)) as chat:
        for number in range(4):
            await chat.say(f"tabs {number}")
            await chat.turn_ended()
        await chat.say("/search tabs")
        await chat.until(lambda: isinstance(chat.top, SearchScreen))
        hits = chat.top.query_one(VerticalScroll)
        await chat.until(lambda: hits.max_scroll_y > 0)
        await Mouse(chat).wheel(hits, times=60)
        await chat.until(lambda: hits.scroll_y == hits.max_scroll_y)
        assert chat.top._index == 0
        await chat.type("k")
        assert chat.top.query_one(Input).value == "tabsk"


async def test_a_click_right_after_typing_answers_no_question_about_instructions(lab: Lab) -> None:
    (lab.project / "AGENTS.md").write_text("Use tabs.\n")
    async with lab.chat() as chat:
        await chat.until(lambda: isinstance(chat.top, TrustScreen))
        mouse, question = Mouse(chat), chat.top
        question._last_key_s = monotonic() + 60  # however slow this machine is: it is too soon
        await mouse.click("1  Trust")
        await chat.pilot.pause()
        assert chat.top is question
        question._last_key_s = 0.0
        await mouse.click("1  Trust")
        await chat.until(lambda: chat.top is chat.screen)
        await chat.type("k")
        assert chat.draft == "k"


async def test_a_key_that_is_refused_is_left_with_the_mouse(lab: Lab) -> None:
    lab.set_environ(key=False)
    async with lab.chat() as chat:
        await chat.until(lambda: isinstance(chat.top, ModelScreen))
        mouse = Mouse(chat)
        await chat.until(lambda: any("Esc closes" in row for row in rows(chat)))
        await mouse.click("Paste a Gemini")
        await chat.until(lambda: isinstance(chat.top.focused, Input))
        await chat.type("wrong")
        await mouse.click("Enter continues")
        await chat.until(lambda: not any("Get one at" in row or "Checking" in row for row in rows(chat)))
        await mouse.click("Esc goes back")
        await chat.until(lambda: any("Paste a Gemini" in row for row in rows(chat)))
