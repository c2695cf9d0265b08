"""The dashboard, the archived sessions and the hints at four widths; and in both themes nothing in them that
cannot be read.

After a change that is meant: `pytest tests/tui/test_dashboard_pictures.py --snapshot-update`, then look.
"""

import pytest
from syrupy.assertion import SnapshotAssertion

from ragforge.domain import words
from ragforge.tui.screens.dashboard import DashboardScreen, Tab
from ragforge.tui.screens.hints import HintsScreen
from ragforge.tui.screens.sessions import SessionsScreen
from ragforge.tui.widgets import dashboard_lists
from tests.flow.running import environ
from tests.standins.gemini import GeminiStandIn, Text
from tests.tui.chat_app import Chat, Lab
from tests.tui.pictures import AsText, in_front, picture, rows_of
from tests.tui.test_dashboard_screen import fill
from tests.tui.test_hints import some_hints
from tests.tui.test_screen_pictures import close


async def archive_one(chat: Chat, gemini: GeminiStandIn) -> None:
    """Two sessions, the older one archived."""
    for said, answer in (
        ("Which colour is the kiosk?", "Green, as agreed with the town."),
        ("Draw the sign of the kiosk", "Done."),
    ):
        gemini.script(Text(answer))
        first = chat.screen.ready().session.id
        await chat.say(said)
        await chat.turn_ended()
        if said.startswith("Which"):
            await chat.say("/archive")
            await chat.until(lambda first=first: chat.screen.ready().session.id != first, "a new session")


async def test_dashboard_archive_and_hints_look_as_they_should(
    lab: Lab, gemini: GeminiStandIn, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setattr(words, "MINUTE_S", 1_000_000)  # what was just now stays so
    monkeypatch.setattr(dashboard_lists, "day_words", lambda _: "2 Jan")
    lab.set_environ(RAGFORGE_MEMORY_MODEL="local")  # whose summaries cost nothing, whenever they are made
    looks_the_same = snapshot.use_extension(AsText)
    await fill(lab.project, environ(lab.tmp_path, gemini))
    async with lab.chat((120, 40), new=True) as chat:
        await archive_one(chat, gemini)
        await chat.say("/dashboard")
        await chat.until(lambda: isinstance(chat.top, DashboardScreen), "the dashboard")
        for tab in Tab:
            await chat.until(lambda tab=tab: tab in chat.top._read, tab)
            shown = await picture(chat)
            if tab in (Tab.WANTED, Tab.ARCHIVE):  # the others tell figures of the run
                assert shown == looks_the_same(name=f"dashboard-{tab}")
            await chat.pilot.press("tab")
        await close(chat)

        await chat.say("/sessions")
        await chat.until(lambda: isinstance(chat.top, SessionsScreen), "the sessions")
        await chat.pilot.press("ctrl+f")
        await chat.until(
            lambda: any("Which colour" in row for row in rows_of(chat, in_front(chat))),
            "the archived session",
        )
        assert await picture(chat) == looks_the_same(name="archived")
        await close(chat)

        hints = chat.screen.ready().hints
        hints.open = some_hints()
        await chat.app.push_screen(HintsScreen(hints))
        await chat.pilot.press("down")
        assert await picture(chat) == looks_the_same(name="hints")
        await close(chat)
