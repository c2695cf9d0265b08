"""What the mouse does, and what it does not; afterwards keys go where they went before."""

from collections.abc import AsyncIterator

import pytest

from ragforge.commands.base import run_command
from ragforge.tui.widgets.fold import Fold
from ragforge.tui.widgets.tool_line import ToolHead
from ragforge.tui.widgets.turn_list import TurnList
from tests.standins.gemini import Call, Calls, GeminiStandIn, Text, Thought
from tests.tui.chat_app import Chat, Lab
from tests.tui.mouse import MIDDLE, RIGHT, Mouse, place_of

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
    turns.scroll_home(animate=False)
    await chat.until(lambda: turns.scroll_y == 0 and chat.screen.query(ToolHead))
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
    x, y = place_of(chat, "Paragraph 2 ")
    await mouse.click((x + 16, y), times=2)
    assert chat.screen.get_selected_text() == "several"
    await mouse.click((x + 16, y))
    assert chat.screen.get_selected_text() == "Paragraph 2 has several-words."
    await chat.pilot.press("ctrl+c")
    await chat.type("k")
    assert (chat.app.clipboard, chat.draft) == ("Paragraph 2 has several-words.", "k")
