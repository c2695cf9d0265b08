"""Vim's keys in the chat; `tests/unit/test_vim.py` has what each does to a text."""

from tests.standins.gemini import Hang, Text
from tests.tui.chat_app import Lab


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
