"""Whatever is clicked, what is typed goes to the prompt."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from textual import events
from textual.containers import VerticalScroll
from textual.widget import Widget

from ragforge.commands.base import run_command
from ragforge.domain.memories import MemoryFilter
from ragforge.tui.screens.confirm import ConfirmScreen
from ragforge.tui.widgets.fold import Fold
from ragforge.tui.widgets.more_line import MoreLine
from ragforge.tui.widgets.prompt import Prompt
from ragforge.tui.widgets.recall_line import RecalledHead, RecalledItem, RecalledView
from ragforge.tui.widgets.thoughts import ThoughtsHead
from ragforge.tui.widgets.tool_line import ToolHead
from tests.standins.gemini import Call, Calls, GeminiStandIn, Text, Thought
from tests.tui.chat_app import Chat, Lab

HEADS: tuple[type[Widget], ...] = (RecalledHead, ThoughtsHead, ToolHead)


@pytest.fixture
async def chat(lab: Lab, gemini: GeminiStandIn) -> AsyncIterator[Chat]:
    """A turn with a memory recalled, a thought and a tool call of many lines."""
    lab.project.mkdir(parents=True, exist_ok=True)
    (lab.project / "long.txt").write_text("a line\n" * 100)
    gemini.script(Calls(Call("read", {"path": "long.txt"})), (Thought("Hm."), Text("With tabs.")))
    async with lab.chat(size=(100, 60)) as found:
        await run_command(found.screen.ready().session, "remember", "decision: use tabs")
        await found.say("How do we indent, with tabs?")
        await found.sees("With tabs.")
        await found.turn_ended()
        await found.until(lambda: all(found.screen.query(head) for head in HEADS))
        yield found


async def kept(chat: Chat) -> list[str]:
    found = await chat.screen.ready().workspace.store.memories.find(MemoryFilter())
    return [memory.content for memory in found]


async def open_item(chat: Chat) -> RecalledItem:
    """The memory, opened by a click."""
    await chat.pilot.click(RecalledHead)
    await chat.until(lambda: bool(chat.screen.query(RecalledItem)), "the items")
    return chat.screen.query_one(RecalledItem)


async def home(chat: Chat) -> None:
    await chat.until(lambda: isinstance(chat.screen.focused, Prompt), "the prompt has the focus")


@pytest.mark.parametrize("head", HEADS)
async def test_a_click_takes_no_key_away(chat: Chat, head: type[Widget]) -> None:
    for _ in range(2):  # opened, and folded
        await chat.pilot.click(head)
        await chat.type("fix it ")
    assert chat.draft == "fix it fix it "
    assert await kept(chat) == ["use tabs"]


async def test_enter_sends_after_a_click(chat: Chat, gemini: GeminiStandIn) -> None:
    gemini.script(Text("Four."))
    await chat.type("How wide?")
    await chat.pilot.click(ToolHead)
    await chat.enter()
    await chat.sees("Four.")


async def test_letters_on_an_item_are_typed_and_forget_nothing(chat: Chat) -> None:
    await open_item(chat)
    await chat.pilot.click(RecalledItem)
    await chat.type("fix it")
    assert chat.draft == "fix it"
    await home(chat)
    assert await kept(chat) == ["use tabs"]


@pytest.mark.parametrize("key", ["delete", "ctrl+x"])
async def test_a_memory_is_forgotten_by_a_key_that_types_nothing_and_asks_first(chat: Chat, key: str) -> None:
    await open_item(chat)
    for answer, left in (("n", ["use tabs"]), ("y", [])):
        await chat.pilot.click(RecalledItem)
        await chat.pilot.press(key)
        await chat.until(lambda: isinstance(chat.top, ConfirmScreen), "a question")
        await chat.answers(answer)
        if not left:
            await chat.sees("Forgotten:")
        assert await kept(chat) == left


async def test_escape_returns_to_the_prompt_and_does_nothing_else(chat: Chat, gemini: GeminiStandIn) -> None:
    item = await open_item(chat)
    item.focus()
    await chat.until(lambda: chat.screen.focused is item)
    await chat.pilot.press("escape")
    await home(chat)
    assert chat.top is chat.screen
    await chat.pilot.press("escape", "escape")
    await chat.until(lambda: chat.top is not chat.screen, "twice in the prompt still goes back in time")


async def test_a_key_folds_and_keeps_the_cursor_and_a_click_gives_the_focus_back(chat: Chat) -> None:
    for head in HEADS:
        chat.screen.query_one(head).focus()
        for is_open in (True, False):
            await chat.pilot.press("enter")
            fold = chat.screen.query_one(head).parent
            assert isinstance(fold, Fold)
            await chat.until(lambda fold=fold, is_open=is_open: fold.is_open is is_open, "it opens and folds")
            assert isinstance(chat.screen.focused, head)
    await chat.pilot.press("escape")
    await home(chat)
    item = await open_item(chat)
    item.focus()
    await chat.pilot.click(RecalledHead)
    await chat.until(lambda: not chat.screen.query_one(RecalledView).is_open)
    await home(chat)


async def test_typing_and_pasting_leave_a_box_that_scrolls(chat: Chat) -> None:
    await chat.pilot.click(ToolHead)
    await chat.until(lambda: bool(chat.screen.query(MoreLine)))
    chat.screen.query_one(MoreLine).action_press()
    await chat.until(lambda: bool(chat.screen.query(".tool-whole")))
    box = chat.screen.query_one(".tool-whole", VerticalScroll)
    for given, draft in (("x", "x"), ("backspace", ""), (events.Paste("pasted"), "pasted")):
        box.focus()
        await chat.until(lambda: chat.screen.focused is box)
        if isinstance(given, str):
            await chat.pilot.press(given)
        else:
            chat.app.post_message(given)
        await chat.until(lambda draft=draft: chat.draft == draft)
        await home(chat)
    # What the box does itself stays its own.
    box.focus()
    await chat.pilot.press("down")
    await chat.until(lambda: box.scroll_y > 0)


async def test_the_conversation_is_walked_by_keys(chat: Chat) -> None:
    walked: list[Any] = []
    await chat.pilot.press("f6")
    for key in ("up", "shift+tab", "tab", "down"):
        walked.append(chat.screen.focused)
        await chat.pilot.press(key)
    assert [type(widget) for widget in walked] == [ThoughtsHead, ToolHead, RecalledHead, ToolHead]
    assert isinstance(chat.screen.focused, ThoughtsHead)
    await chat.pilot.press("escape")
    await home(chat)
