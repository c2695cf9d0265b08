"""Vim's keys in the chat; `tests/unit/test_vim.py` has what each does to a text."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.pilot import Pilot

from ragforge.tui import keys
from tests.standins.gemini import Hang, Text
from tests.tui.chat_app import Lab
from tests.tui.prompt_app import PromptApp
from tests.tui.waiting import until


async def test_vims_keys_edit_send_and_leave_escape_to_the_chat(lab: Lab) -> None:
    lab.gemini.script((Text("I begin"), Hang()))
    async with lab.chat() as chat:
        await chat.say("/config ui.keys vim")
        await chat.until(lambda: "-- INSERT --" in chat.status, "it applies at once")
        await chat.type("say this twicee")
        await chat.pilot.press("escape")
        await chat.until(lambda: "-- NORMAL --" in chat.status)
        await chat.pilot.press("x")
        assert chat.draft == "say this twice"
        await chat.pilot.press("d", "b", "u")
        assert chat.draft == "say this twice"
        await chat.pilot.press("ctrl+r")
        assert chat.draft == "say this e"
        await chat.pilot.press("u", "z", "enter")
        await chat.sees("I begin")
        await chat.until(lambda: "-- INSERT --" in chat.status, "the next message begins with typing")
        await chat.type("wait")
        await chat.pilot.press("escape")
        await chat.until(lambda: "-- NORMAL --" in chat.status)
        assert chat.screen.busy
        assert chat.draft == "wait"
        await chat.pilot.press("escape")
        await chat.turn_ended()
        await chat.sees("interrupted")
        await chat.pilot.press("d", "d", "slash")
        assert chat.draft == "/"
        await chat.type("config ui.keys usual")
        await chat.pilot.press("enter")
        await chat.until(lambda: "INSERT" not in chat.status, "so does this")


async def test_a_selection_is_shown_and_a_change_is_repeated(lab: Lab) -> None:
    async with lab.chat() as chat:
        await chat.say("/config ui.keys vim")
        await chat.until(lambda: "-- INSERT --" in chat.status)
        await chat.type("one two three four")
        await chat.pilot.press("escape", "0", "v", "e")
        await chat.until(lambda: "-- VISUAL --" in chat.status)
        assert chat.screen.prompt.selected_text == "on"  # and the character under the cursor
        await chat.pilot.press("d")
        await chat.until(lambda: "-- NORMAL --" in chat.status)
        assert (chat.draft, chat.screen.prompt.selected_text) == (" two three four", "")
        await chat.pilot.press("u", "0", "c", "w", *"six", "escape", "w", ".")
        assert chat.draft == "six six three four"
        await chat.pilot.press("u")
        assert chat.draft == "six two three four"
        await chat.pilot.press("v", "e", "escape", "x")
        assert chat.draft == "six tw three four"


@asynccontextmanager
async def typed(text: str) -> AsyncGenerator[tuple[PromptApp, Pilot[Any]]]:
    """A prompt with Vim's keys and this text, in normal mode, the cursor at its end."""
    app = PromptApp()
    async with app.run_test() as pilot:
        app.prompt.use(bound=keys.bindings(), env={}, vim=True)
        app.prompt.brackets_pastes = True
        app.prompt.set_draft(text)
        await pilot.press("escape")
        yield app, pilot


async def test_a_paste_replaces_all_that_is_selected_and_ends_the_selection() -> None:
    async with typed("one two") as (app, pilot):
        await pilot.press("0", "v", "e")
        await app.prompt.paste_in("12345")
        assert app.prompt.text == "12345 two"
        await pilot.press("X")
        assert app.prompt.text == "1234 two"


async def test_arrow_keys_extend_the_selection() -> None:
    async with typed("one two\nthree") as (app, pilot):
        await pilot.press("g", "g", "v", "right", "right", "left", "d")
        assert app.prompt.text == "e two\nthree"
        await pilot.press("v", "down", "end", "d")
        assert app.prompt.text == ""


async def test_a_selection_towards_the_left_shows_where_it_began() -> None:
    async with typed("one two") as (app, pilot):
        await pilot.press("v", "h", "h")
        assert app.prompt.selected_text == "two"


@pytest.mark.parametrize(
    ("key", "after"), [("delete", " two"), ("ctrl+x", " two"), ("ctrl+u", " two"), ("ctrl+r", "one two")]
)
async def test_another_key_has_the_whole_selection_and_ends_it(key: str, after: str) -> None:
    async with typed("one two") as (app, pilot):
        await pilot.press("0", "v", "e", key)
        if app.prompt.is_lent:
            await pilot.press("escape")
        assert app.prompt.text == after
        await pilot.press("0", "x")
        assert app.prompt.text == after[1:]


async def test_another_text_ends_the_selection() -> None:
    async with typed("one two") as (app, pilot):
        await pilot.press("v", "0")
        app.prompt.set_draft("three")
        await pilot.press("0", "x")
        assert app.prompt.text == "hree"


async def test_a_click_ends_the_selection() -> None:
    async with typed("one two") as (app, pilot):
        await pilot.press("v", "0")
        await pilot.click(app.prompt, offset=(4, 1))
        await pilot.press("x")
        assert app.prompt.text == "on two"


@pytest.mark.parametrize("begun", ["r", "f", "d", "di", "g", "2", "vr"])
async def test_enter_cancels_a_command_that_has_begun(begun: str) -> None:
    async with typed("one two") as (app, pilot):
        await pilot.press(*begun, "enter", "escape", "x")
        assert (app.sent, app.prompt.text) == ([], "one tw")
        await pilot.press("enter")
        await until(pilot, lambda: app.sent == ["one tw"])


async def test_the_next_message_is_no_part_of_the_last_change() -> None:
    async with typed("one two") as (app, pilot):
        await pilot.press("c", "c", "s", "i", "x", "enter")
        await until(pilot, lambda: app.sent == ["six"])
        await pilot.press(*"seven", "escape", ".")
        assert app.prompt.text == "seven"


async def test_a_command_works_on_the_last_character_after_a_key_that_goes_behind_it() -> None:
    async with typed("one") as (app, pilot):
        await pilot.press("end", "x")
        assert app.prompt.text == "on"
