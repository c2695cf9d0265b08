"""That what is kept takes more room than it may is said where a user sees it."""

from tests.standins.gemini import Call, Calls, Text
from tests.tui.chat_app import Lab


async def test_it_is_said_once_when_the_interface_is_opened(lab: Lab) -> None:
    async with lab.chat(yolo=True) as chat:
        lab.gemini.script(Calls(Call("write", {"path": "a.txt", "content": "one\n"})), Text("Done."))
        await chat.say("write a")
        await chat.sees("Done.")
        await chat.turn_ended()
    lab.set_environ(RAGFORGE_HISTORY_SIZE_GB_MAX="0.000001")
    async with lab.chat() as chat:
        await chat.sees("more than history.size_gb_max (1e-06 GB)")
        await chat.say("/history gc")
        await chat.sees("There is nothing to remove.")
        assert chat.words().count("history.size_gb_max") == 1
