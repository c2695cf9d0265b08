"""While a call waits that goes against what was said, a key opens the turn in which it was."""

from ragforge.domain.memories import MemoryFilter
from ragforge.tui.screens.turn import TurnScreen
from ragforge.tui.widgets.plain import PlainText
from tests.standins.gemini import Call, Calls, GeminiStandIn, Text
from tests.tui.chat_app import Lab


async def test_the_turn_of_a_rule_opens_above_the_call_that_waits(lab: Lab, gemini: GeminiStandIn) -> None:
    lab.set_environ(RAGFORGE_MEMORY_MODEL="local")
    said = "By the way: never use pip, we use uv."
    gemini.script(
        Text("Noted, uv it is."), Calls(Call("shell", {"command": "pip install httpx"})), Text("No.")
    )
    async with lab.chat() as chat:
        await chat.say(said)
        await chat.turn_ended()
        store = chat.screen.ready().workspace.store
        while not await store.memories.find(MemoryFilter(binding=True)):
            await chat.pilot.pause(0.01)
        await chat.say("Add httpx.")
        panel = await chat.asked()
        await chat.pilot.press("o")
        await chat.until(lambda: isinstance(chat.top, TurnScreen), "the turn opens")
        shown = [each.text for each in chat.top.query(PlainText)]
        assert any(said in text for text in shown)
        assert "Noted, uv it is." in shown
        assert "turn 1" in shown[0]
        for key in ("down", "pagedown", "1", "3", "y", "enter"):  # no answer to what waits below
            await chat.until(lambda: panel.armed)
            await chat.pilot.press(key)
        await chat.until(lambda: chat.top is chat.screen, "closed")
        assert chat.panel is panel
        assert chat.screen.busy
        await chat.asked()
        await chat.pilot.press("3")
        await chat.turn_ended()
