"""What the chat tells of a server that goes away, and of a session that another machine takes over."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec.structs import replace
from textual.widgets import Input

from ragforge.domain.errors import StoreUnavailable
from ragforge.store.base import Link
from ragforge.tui.screens.search import SearchScreen
from ragforge.tui.widgets.plain import PlainText
from ragforge.tui.widgets.status_line import Status, status_words
from tests.flow.test_link import lose
from tests.tui.chat_app import Chat, Lab


@dataclass
class Linked:
    """The store that is open, as if it were that of a server of which it says how it stands."""

    store: Any
    link: Link = field(default_factory=Link)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)


def words_of(chat: Chat) -> str:
    """What the screen in front tells."""
    return "\n".join(widget.text for widget in chat.top.query(PlainText))


def linked(chat: Chat) -> Linked:
    conversation = chat.screen.ready()
    store = Linked(conversation.workspace.store)
    workspace = replace(conversation.workspace, store=store)
    conversation.workspace = workspace
    conversation.session = replace(conversation.session, workspace=workspace)
    return store


async def test_the_status_line_says_that_the_server_is_away_until_all_is_carried(lab: Lab) -> None:
    async with lab.chat() as chat:
        store = linked(chat)
        store.link = Link(3, "it did not answer")
        await chat.until(lambda: "server away · 3 waiting" in chat.status)
        await chat.say("hello")
        await chat.sees("You said")
        await chat.turn_ended()
        assert "server away · 3 waiting" in chat.status
        store.link = Link(2)
        await chat.until(lambda: "2 waiting" in chat.status and "away" not in chat.status)
        store.link = Link()
        await chat.until(lambda: "waiting" not in chat.status)


async def test_who_holds_up_what_waits_is_said_once_and_stays_in_the_status_line(lab: Lab) -> None:
    async with lab.chat() as chat:
        store = linked(chat)
        store.link = Link(3, held="process 12 has been sending rows since 14:03 and does not end")
        await chat.sees("3 rows cannot be sent to the server: process 12 has been sending rows since 14:03")
        await chat.until(lambda: "3 waiting · held up" in chat.status)
        store.link = Link(4, held=store.link.held)
        await chat.until(lambda: "4 waiting · held up" in chat.status)
        assert chat.words().count("process 12") == 1
        store.link = Link()
        await chat.until(lambda: "held up" not in chat.status)


async def test_search_says_while_it_is_limited(lab: Lab) -> None:
    async with lab.chat() as chat:
        store = linked(chat)
        await chat.say("/search x")
        await chat.until(lambda: isinstance(chat.top, SearchScreen))
        line = chat.top.query_one("#limit", PlainText)
        await chat.until(lambda: not line.display)
        store.link = Link(0, "it did not answer")
        chat.top.query_one(Input).value = "y"
        await chat.until(lambda: line.display and "it did not answer" in line.text)
        store.link = Link()
        chat.top.query_one(Input).value = "z"
        await chat.until(lambda: not line.display)
        await chat.pilot.press("escape")


async def test_the_store_screen_tells_what_waits_while_the_server_is_away_and_why_once(lab: Lab) -> None:
    why = "Neo4j at bolt://db does not answer. Start it."

    async def status() -> None:
        raise StoreUnavailable(why)

    async with lab.chat() as chat:
        store = linked(chat)
        store.link = Link(3, why)
        store.status = status
        await chat.say("/store")
        await chat.until(lambda: "rows for the server: 3" in words_of(chat), "what waits")
        assert words_of(chat).count(why) == 1
        await chat.pilot.press("escape")


async def test_rows_that_wait_are_told_when_one_leaves(lab: Lab) -> None:
    async with lab.chat() as chat:
        linked(chat).link = Link(3)
    assert lab.left is not None
    assert lab.left.waits == "3 rows wait for the server and are sent at the next start"
    assert lab.left.exit_code == 0


async def test_a_lost_session_is_told_once_and_a_fork_goes_on(lab: Lab) -> None:
    async with lab.chat() as chat:
        await chat.say("mine")
        await chat.sees("You said")
        await chat.turn_ended()
        before = chat.screen.ready().session
        await lose(before)
        await chat.sees("ann on laptop has taken this session over")
        await chat.until(lambda: "read only" in chat.status)
        await chat.say("still mine?")
        await chat.sees("/fork continues from it")
        await chat.until(lambda: chat.draft == "still mine?")
        assert chat.words().count("ann on laptop") == 1
        chat.screen.prompt.set_draft("")
        await chat.say("/fork")
        await chat.sees("This is a fork")
        await chat.until(lambda: "read only" not in chat.status)
        await chat.say("in the fork")
        await chat.turn_ended()
        assert chat.screen.ready().session.id != before.id
        assert "mine" in chat.words()


@pytest.mark.parametrize(
    ("width", "line"),
    [
        (200, "ask · server away · 3 waiting · gemini:gemini-3-flash · ~/code/parser"),
        (40, "ask · away · 3 · gemini-3-flash · parser"),
        (17, "ask · away · 3"),
    ],
)
def test_it_stays_in_the_line_when_there_is_little_room(width: int, line: str) -> None:
    status = Status(model="gemini:gemini-3-flash", folder="~/code/parser", away=True, waiting=3)
    assert status_words(status, width) == line


def test_a_server_that_is_away_with_nothing_waiting_says_so() -> None:
    assert status_words(Status(model="m", away=True), 40) == "ask · server away · m"
    assert status_words(Status(model="m", waiting=2), 40) == "ask · 2 waiting · m"
