"""Keys on a list that is narrowed by typing: however fast they come, each acts behind those before it."""

import asyncio

import pytest
from textual import events

from ragforge.domain import timeouts
from ragforge.tui.screens.memory import MemoryScreen
from ragforge.tui.screens.search import SearchScreen
from ragforge.tui.screens.sessions import SessionsScreen
from ragforge.tui.widgets.plain import PlainText
from ragforge.tui.widgets.session_list import SessionList
from tests.contract.builders import new_session
from tests.tui.chat_app import Chat, Lab

PATIENT_S = 60.0


@pytest.fixture(autouse=True)
def _what_is_typed_has_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may take longer for a few letters than a key waits for them."""
    monkeypatch.setattr(timeouts, "TYPED_KEYS_S_MAX", PATIENT_S)


def burst(chat: Chat, text: str, *keys: str) -> None:
    """Keys as they come while the program is busy: all of them wait when it looks again."""
    for char in text:
        chat.app.post_message(events.Key("space" if char == " " else char, char))
    for name in keys:
        chat.app.post_message(events.Key(name, "\r" if name == "enter" else None))


async def said(chat: Chat, *messages: str) -> None:
    """A session for each."""
    for words in messages:
        await chat.say("/new")
        # The session before began with the same words.
        await chat.until(lambda: "A new session" in chat.words() and "You said: " not in chat.words())
        await chat.say(words)
        await chat.sees(f"You said: {words}")
        await chat.turn_ended()


async def at(chat: Chat, line: str, screen: type) -> None:
    await chat.say(line)
    await chat.until(lambda: isinstance(chat.top, screen), line)


async def test_enter_resumes_the_session_that_was_typed_and_not_the_first(lab: Lab) -> None:
    async with lab.chat() as chat:
        await said(chat, "about apples", "about pears")
        await at(chat, "/sessions", SessionsScreen)
        burst(chat, "apples", "enter")
        await chat.until(lambda: chat.top is chat.screen, "the list is closed")
        await chat.sees("You said: about apples")
        await chat.until(lambda: "about apples" in chat.status)


async def test_what_is_typed_behind_ctrl_e_is_the_title(lab: Lab) -> None:
    async with lab.chat() as chat:
        await said(chat, "about apples")
        await at(chat, "/sessions", SessionsScreen)
        burst(chat, "", "ctrl+e")
        burst(chat, " and more", "enter")
        rows = chat.top.query_one(SessionList)
        await chat.until(lambda: [row.session.title for row in rows.rows] == ["about apples and more"])


async def test_ctrl_x_forgets_the_memory_that_was_typed_and_not_the_first(lab: Lab) -> None:
    async with lab.chat() as chat:
        for words in ("the theme is dark", "the tests are quick"):
            await chat.say(f"/remember {words}")
            await chat.sees(f"{words}")
        await at(chat, "/memory", MemoryScreen)
        burst(chat, "theme", "ctrl+x")
        hint = chat.top.query_one(".dialog-hint", PlainText)
        await chat.until(lambda: "Forgotten: " in hint.text)
        assert "Forgotten: the theme is dark" in hint.text


async def test_enter_before_the_hits_are_there_opens_the_first_of_them(lab: Lab) -> None:
    async with lab.chat() as chat:
        await said(chat, "about apples", "about pears")
        await at(chat, "/search", SearchScreen)
        burst(chat, "apples", "enter")
        await chat.until(lambda: chat.top is chat.screen, "the hit is opened")
        await chat.sees("You said: about apples")


async def test_a_session_is_deleted_after_a_yes_though_the_list_is_closed_at_once(lab: Lab) -> None:
    async with lab.chat() as chat:
        await said(chat, "about apples")
        await chat.say("/new")
        await chat.sees("A new session")
        conversation = chat.screen.ready()
        delete, begun, go_on, done = conversation.delete, asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def delete_slowly(session_id: str) -> None:
            begun.set()
            await go_on.wait()
            await delete(session_id)
            done.set()

        lab.monkeypatch.setattr(conversation, "delete", delete_slowly)
        await at(chat, "/sessions", SessionsScreen)
        await chat.pilot.press("ctrl+x")
        await chat.answers("y")
        await chat.until(begun.is_set, "it is being deleted")
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.top is chat.screen, "the list is closed")
        go_on.set()
        await chat.until(done.is_set, "it is deleted")
        assert await conversation.sessions() == []


async def test_an_archived_session_is_listed_by_a_key_and_a_message_brings_it_back(lab: Lab) -> None:
    async with lab.chat() as chat:
        await chat.say("/archive")
        await chat.sees("This session has no messages yet")
        await said(chat, "about apples", "about pears")
        await chat.say("/archive")
        await chat.sees("The previous session is archived")
        await at(chat, "/sessions", SessionsScreen)
        sessions = chat.top.query_one(SessionList)
        await chat.until(lambda: sessions.chosen is not None)
        assert "about pears" not in str(sessions.render())
        await chat.pilot.press("ctrl+f")
        await chat.until(lambda: "about pears" in str(sessions.render()), "the archived one")
        assert "about apples" not in str(sessions.render())
        await chat.pilot.press("enter")
        await chat.sees("This session is archived. It is listed again once you send a message.")
        await chat.say("and plums")
        await chat.sees("You said: and plums")
        await chat.turn_ended()
        rows = await chat.screen.ready().sessions()
        assert [row.session.title for row in rows] == ["about pears", "about apples"]


async def test_a_session_says_who_began_it_where_it_was_somebody_else(lab: Lab) -> None:
    async with lab.chat() as chat:
        await said(chat, "about apples")
        workspace = chat.screen.ready().workspace
        theirs = {"title": "about pears", "person": "bob@example.org", "cwd": str(lab.project)}
        await new_session(workspace.store, workspace.project, **theirs)
        await at(chat, "/sessions", SessionsScreen)
        sessions = chat.top.query_one(SessionList)
        await chat.until(lambda: "about pears" in str(sessions.render()))
        shown = str(sessions.render())
        assert "bob@example.org" in shown
        assert workspace.person.id not in shown
        burst(chat, "bob@example")
        await chat.until(lambda: "about apples" not in str(sessions.render()))
        assert "about pears" in str(sessions.render())


async def test_a_list_that_is_empty_because_all_are_archived_says_so(lab: Lab) -> None:
    async with lab.chat() as chat:
        await chat.say("about apples")
        await chat.sees("You said: about apples")
        await chat.turn_ended()
        await chat.say("/archive")
        await chat.sees("The previous session is archived")
        await at(chat, "/sessions", SessionsScreen)
        told = chat.top.query(PlainText)
        await chat.until(
            lambda: any("All sessions of this project are archived" in each.text for each in told)
        )
