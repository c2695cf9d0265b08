"""`/memory`: what is remembered, looked through with the keyboard."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from textual.widgets import Input

from ragforge.domain.memories import Memory, MemoryScope, MemorySource, MemoryType
from ragforge.memory.memories import new_memory, remember
from ragforge.session.memory_tools import save_memory
from ragforge.session.open import close_workspace, open_workspace
from ragforge.store.base import keep_project
from ragforge.tools.base import ToSave
from ragforge.tui.chat.folder_questions import ask_about_person
from ragforge.tui.screens.memory import MemoryScreen
from ragforge.tui.widgets.memory_list import MemoryList
from ragforge.tui.widgets.plain import PlainText
from tests.flow.running import environ
from tests.standins.gemini import GeminiStandIn, Text
from tests.tui.chat_app import Chat, Lab
from tests.tui.test_screens import after_typing, app_in, embed_all
from tests.tui.waiting import until

Compare = Callable[..., bool]
LONG_AGO = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)
"""More than a week: its age is shown as a date, which stays the same."""

MEMORIES = (
    ("Use MySQL for the shop", MemoryType.DECISION, MemoryScope.PROJECT),
    ("Ada writes the shop's billing", MemoryType.IDENTITY, MemoryScope.PROJECT),
    ("Tabs are four spaces wide", MemoryType.PREFERENCE, MemoryScope.GLOBAL),
    ("The nightly import runs at two", MemoryType.FACT, MemoryScope.PROJECT),
)


async def fill(lab_project: Path, env: dict[str, str]) -> None:
    """Memories of the folder's project, a minute between them; the newest replaces the first."""
    workspace = await open_workspace(cwd=lab_project, flags={}, environ=env)
    await keep_project(workspace.store, workspace.project)
    kept: list[Memory] = []
    for number, (words, type, scope) in enumerate(MEMORIES):
        kept.append(
            await remember(workspace.store, a_memory(workspace.project.id, words, type, scope, number))
        )
    newest = a_memory(
        workspace.project.id, "Use PostgreSQL for the shop", MemoryType.DECISION, MemoryScope.PROJECT, 4
    )
    await remember(workspace.store, newest, updates=[kept[0].id])
    # Else how many are still to be embedded stands on the screen for a moment.
    await embed_all(workspace)
    await close_workspace(workspace)


def a_memory(project_id: str, words: str, type: MemoryType, scope: MemoryScope, minute: int) -> Memory:
    return new_memory(
        words,
        type,
        project_id=project_id,
        at=LONG_AGO + timedelta(minutes=minute),
        source=MemorySource.USER,
        scope=scope,
    )


@pytest.fixture
async def filled(lab: Lab, gemini: GeminiStandIn) -> Lab:
    await fill(lab.project, environ(lab.tmp_path, gemini))
    return lab


def rows(chat: Chat) -> list[str]:
    return [memory.content for memory in chat.top.query_one(MemoryList).rows]


def hint(chat: Chat) -> str:
    return chat.top.query_one(".dialog-hint", PlainText).text


def detail(chat: Chat) -> str:
    return chat.top.query_one("#memory-detail", PlainText).text


async def open_screen(chat: Chat, line: str = "/memory") -> None:
    await chat.say(line)
    await chat.until(lambda: isinstance(chat.top, MemoryScreen), "the screen opens")
    await chat.until(lambda: chat.top.query_one(MemoryList).known, "memories are listed")


async def test_memories_are_narrowed_by_words_and_type_and_sorted(filled: Lab) -> None:
    async with filled.chat() as chat:
        await open_screen(chat)
        assert rows(chat)[0] == "Use PostgreSQL for the shop"
        assert len(rows(chat)) == 5
        await chat.fits_40x12(MemoryList)

        await chat.type("shop use")
        await chat.until(lambda: len(rows(chat)) == 2, "narrowed")
        assert rows(chat) == ["Use PostgreSQL for the shop", "Use MySQL for the shop"]
        assert "Memories · 2 of 5" in chat.top.query_one(".dialog-title", PlainText).text
        for _ in "shop use":
            await chat.pilot.press("backspace")

        await chat.pilot.press("ctrl+o")
        await chat.until(lambda: rows(chat)[0] == "Ada writes the shop's billing", "by importance")
        await chat.pilot.press("tab")
        await chat.until(lambda: rows(chat) == ["Ada writes the shop's billing"], "identities only")
        for _ in MemoryType:
            await chat.pilot.press("tab")
        await chat.until(lambda: len(rows(chat)) == 5, "all types again")


async def test_what_is_forgotten_is_taken_back_with_a_key(filled: Lab) -> None:
    async with filled.chat() as chat:
        await open_screen(chat, "/memory import")
        await chat.until(lambda: rows(chat) == ["The nightly import runs at two"])
        await chat.pilot.press("ctrl+x")
        await chat.until(lambda: rows(chat) == [], "forgotten")
        assert "Ctrl+U undoes this" in hint(chat)
        await chat.pilot.press("ctrl+u")
        await chat.until(lambda: rows(chat) == ["The nightly import runs at two"], "restored")

        await chat.pilot.press("ctrl+x")
        await chat.until(lambda: rows(chat) == [])
        await chat.pilot.press("ctrl+f")
        await chat.until(lambda: rows(chat) != [], "forgotten ones are shown")
        await chat.pilot.press("ctrl+x")
        await chat.until(lambda: "Restored" in hint(chat))
        await chat.pilot.press("ctrl+u")
        await chat.until(lambda: "Forgotten again" in hint(chat))
        await chat.pilot.press("ctrl+u")
        await chat.until(lambda: "Restored" in hint(chat))
        await chat.pilot.press("ctrl+u")
        await chat.until(lambda: "Nothing to undo" in hint(chat))


async def test_a_memory_is_made_the_users_own_and_everybodys_again(filled: Lab) -> None:
    async with filled.chat() as chat:
        await open_screen(chat, "/memory nightly")
        await chat.until(lambda: "everybody's" in detail(chat), "explained")
        await chat.pilot.press("ctrl+g")
        await chat.until(lambda: "yours alone" in detail(chat), "it has an owner")
        await chat.pilot.press("ctrl+u")
        await chat.until(lambda: "everybody's" in detail(chat), "taken back")


async def test_who_is_known_from_another_machine_may_say_that_they_are_somebody_else(lab: Lab) -> None:
    async with lab.chat() as chat:
        conversation = chat.screen.ready()
        person = replace(conversation.workspace.person, id="ada@example.org", elsewhere="laptop")
        conversation._work_in(replace(conversation.workspace, person=person))
        asking = asyncio.create_task(ask_about_person(chat.screen))
        await chat.answers("n")
        await asking
        workspace = conversation.workspace
        assert workspace.person.id == person.machine == conversation.session.live.record.person
        assert await workspace.local.chosen.person(workspace.store.url) == person.machine


async def test_an_edit_replaces_and_can_be_taken_back(filled: Lab) -> None:
    async with filled.chat() as chat:
        await open_screen(chat, "/memory nightly")
        await chat.pilot.press("ctrl+e")
        line = chat.top.query_one(Input)
        assert line.value == "The nightly import runs at two"
        for key in ("escape", "ctrl+e"):  # Esc keeps the old words and the screen
            await chat.pilot.press(key)
        line.value = "The nightly import runs at three"
        await chat.pilot.press("enter")
        await chat.until(lambda: "The nightly import runs at three" in rows(chat), "edited")
        await chat.until(lambda: "Replaces: The nightly import runs at two" in detail(chat), "explained")
        assert line.value == "nightly"
        listed = {memory.content: memory.replaced for memory in chat.top.query_one(MemoryList).rows}
        assert listed == {"The nightly import runs at three": False, "The nightly import runs at two": True}

        await chat.pilot.press("ctrl+u")
        await chat.until(lambda: rows(chat) == ["The nightly import runs at two"], "taken back")
        assert not chat.top.query_one(MemoryList).rows[0].replaced


async def test_words_that_cannot_be_kept_stay_to_be_made_right(filled: Lab) -> None:
    async with filled.chat() as chat:
        await open_screen(chat, "/memory nightly")
        await chat.pilot.press("ctrl+e")
        line = chat.top.query_one(Input)
        for words, told in (("  ", "needs a text"), ("x" * 2001, "at most 2,000")):
            line.value = words
            await chat.pilot.press("enter")
            await chat.until(lambda told=told: told in hint(chat), told)
            assert line.value == words


async def test_enter_opens_the_turn_that_a_memory_rests_on(lab: Lab, gemini: GeminiStandIn) -> None:
    gemini.script(Text("Noted."), Text("Yes."), Text("Hello."))
    async with lab.chat() as chat:
        for text in ("We use MySQL.", "Really?"):
            await chat.say(text)
            await chat.turn_ended()
        first = chat.screen.ready().session.id
        await save_memory(chat.screen.ready().session, ToSave("use MySQL", MemoryType.DECISION))
        await chat.say("/new")
        await chat.until(lambda: chat.screen.ready().session.id != first)
        await open_screen(chat)
        await chat.until(lambda: "turn 2" in detail(chat), "it rests on the newest turn")
        await chat.enter()
        await chat.until(lambda: chat.screen.ready().session.id == first, "the session is opened")
        await chat.sees("Shown up to turn 2")


async def test_a_memory_without_a_turn_says_so(filled: Lab) -> None:
    async with filled.chat() as chat:
        await open_screen(chat)
        await chat.enter()
        await chat.until(lambda: "not based on a stored turn" in hint(chat))
        assert isinstance(chat.top, MemoryScreen)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home" / "code" / "shop"
    folder.mkdir(parents=True)
    env = environ(tmp_path, RAGFORGE_MODEL="local")
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    asyncio.run(fill(folder, env))
    return folder


@pytest.mark.parametrize(("columns", "is_dark"), [(100, True), (80, False), (40, True)])
def test_the_screen_of_memories(shop: Path, snap_compare: Compare, columns: int, is_dark: bool) -> None:
    app = app_in(shop, terminal_is_dark=is_dark, new=True)

    async def before(pilot: Any) -> None:
        # A global one, whose id does not hang on the project's, which is random.
        await after_typing("/memory", "down", "down")(pilot)
        text = pilot.app.screen.query_one("#memory-detail", PlainText)
        await until(pilot, lambda: "based on" in text.text, what="the chosen one is explained")

    assert snap_compare(app, terminal_size=(columns, 24), run_before=before)
