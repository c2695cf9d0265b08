"""What the status line means is said where it is seen."""

from textual.widgets import Markdown

from ragforge.tui.widgets.status_line import StatusLine
from tests.standins.gemini import Text
from tests.tui.chat_app import Lab


async def test_an_explanation_is_in_view_for_one_who_has_scrolled_up(lab: Lab) -> None:
    lab.gemini.script(Text("\n\n".join(f"paragraph {number}" for number in range(60))))
    async with lab.chat() as chat:
        await chat.say("hello")
        await chat.sees("paragraph 59")
        await chat.turn_ended()
        for ask in ("f7", "click"):
            await chat.pilot.press("pageup")
            await chat.until(lambda: not chat.screen.transcript.following, "scrolled up")
            before = len(chat.screen.query(Markdown))
            if ask == "click":
                await chat.pilot.click(StatusLine, offset=(2, 0))
            else:
                await chat.pilot.press(ask)
            await chat.until(lambda before=before: len(chat.screen.query(Markdown)) > before, "explained")
            await chat.until(lambda: chat.screen.transcript.following, "at the end")
