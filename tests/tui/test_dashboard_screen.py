"""`/dashboard`: four tabs, all of it by key and by mouse."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot
from textual.widgets import Input

from ragforge.domain.memories import Memory, MemorySource, MemoryType, Strength, WishOrder
from ragforge.memory.memories import new_memory, remember
from ragforge.session.open import close_workspace, open_workspace
from ragforge.store.base import keep_project
from ragforge.tui.app import RagforgeApp
from ragforge.tui.screens.dashboard import DashboardScreen, Tab
from ragforge.tui.screens.search import SearchScreen
from ragforge.tui.widgets.action_line import ActionLine
from ragforge.tui.widgets.dashboard_lists import ConceptList, NumberList, SessionTimeline, WishTable
from ragforge.tui.widgets.plain import PlainText
from tests.flow.running import environ
from tests.standins.gemini import GeminiStandIn, Text
from tests.tui.chat_app import Chat, Lab
from tests.tui.test_screens import app_in, embed_all, opened
from tests.tui.waiting import until

Compare = Callable[..., bool]
LONG_AGO = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)
SIZES = [(40, 24), (80, 24), (200, 50)]

WISHES = (
    ("Never use pip here, we use uv", MemoryType.PREFERENCE, "tools", {"strength": Strength.MUST}),
    ("Run the tests with pytest", MemoryType.PREFERENCE, "tests", {"said": 3, "applies_to": ("pytest",)}),
    ("Add rate limiting to the login endpoint", MemoryType.TODO, "login", {"confidence": 0.6}),
)


async def fill(folder: Path, env: dict[str, str]) -> None:
    """Wishes of the folder's project, a minute between them."""
    workspace = await open_workspace(cwd=folder, flags={}, environ=env)
    await keep_project(workspace.store, workspace.project)
    memories = workspace.store.memories
    for number, (words, type, topic, facts) in enumerate(WISHES):
        memory = new_memory(
            words,
            type,
            project_id=workspace.project.id,
            at=LONG_AGO + timedelta(minutes=number),
            source=MemorySource.USER,
            topic=topic,
        )
        kept: Memory = await remember(workspace.store, replace(memory, **facts))
        for _ in range(number):
            await memories.count_answers([kept.id], held=True)
        if topic != "login":
            await memories.touch([kept.id], LONG_AGO + timedelta(days=1))
    await embed_all(workspace)
    await close_workspace(workspace)


@pytest.fixture
async def filled(lab: Lab, gemini: GeminiStandIn) -> Lab:
    await fill(lab.project, environ(lab.tmp_path, gemini))
    return lab


async def open_screen(chat: Chat, line: str = "/dashboard") -> None:
    await chat.say(line)
    await chat.until(lambda: isinstance(chat.top, DashboardScreen), "the screen opens")
    await chat.until(lambda: wishes(chat), "wishes are listed")


def wishes(chat: Chat) -> list[str]:
    return [wish.content for wish in chat.top.query_one(WishTable).rows]


def told(chat: Chat) -> str:
    return chat.top.query_one(".dialog-hint", PlainText).text


def drawn(chat: Chat, within: Any) -> str:
    widget = chat.top.query_one(within)
    return "\n".join(widget.render_line(y).text for y in range(widget.size.height))


async def click(chat: Chat, words: str, within: Any) -> None:
    """Click these words in the widget, wherever they are drawn."""
    widget = chat.top.query_one(within)
    lines = [strip.text for strip in (widget.render_line(y) for y in range(widget.size.height))]
    [(x, y)] = [(line.index(words), y) for y, line in enumerate(lines) if words in line]
    await chat.pilot.click(widget, offset=(x + 1, y))


async def test_a_narrow_screen_tells_below_what_has_no_column(lab: Lab, gemini: GeminiStandIn) -> None:
    env = environ(lab.tmp_path, gemini)
    topic = "a topic of so many words that it takes more than a line"
    words = "Tests go beside the code that they test, and never into a folder of their own"
    workspace = await open_workspace(cwd=lab.project, flags={}, environ=env)
    await keep_project(workspace.store, workspace.project)
    told = {"at": LONG_AGO, "source": MemorySource.USER, "topic": topic}
    wish = new_memory(words, MemoryType.PREFERENCE, project_id=workspace.project.id, **told)
    await remember(workspace.store, wish)
    await close_workspace(workspace)
    async with lab.chat((40, 24)) as chat:
        await open_screen(chat)
        below = " ".join(drawn(chat, "#dashboard-detail").split())
        assert "said 1 · held 0 · broken 0 · used never" in below


async def test_wishes_are_sorted_by_key_and_by_their_columns(filled: Lab) -> None:
    async with filled.chat((120, 40)) as chat:
        await open_screen(chat, "/dashboard --sort held")
        assert wishes(chat)[0].startswith("Add rate")
        await click(chat, "said", WishTable)
        await chat.until(lambda: wishes(chat)[0].startswith("Run the tests"), "by how often it was said")
        await click(chat, "said", WishTable)
        await chat.until(lambda: wishes(chat)[-1].startswith("Run the tests"), "the other way round")
        seen = list[str]()
        for _ in WishOrder:
            await chat.pilot.press("s")
            seen.append(chat.top.query_one(WishTable).order)
        assert sorted(seen) == sorted(WishOrder)


async def test_a_wish_is_edited_forgotten_and_made_a_rule_in_place(filled: Lab) -> None:
    async with filled.chat((120, 40)) as chat:
        await open_screen(chat, "/dashboard --sort text")
        await chat.pilot.press("down", "down", "e")
        field = chat.top.query_one(Input)
        assert field.value == "Run the tests with pytest"
        await chat.pilot.press("escape", "e", "down", "tab")  # nothing moves while something is typed
        assert (field.has_focus, field.value) == (True, "Run the tests with pytest")
        field.value = "  "
        await chat.pilot.press("enter")
        await chat.until(lambda: "needs a text" in told(chat), "what is wrong")
        field.value = "Run the tests with pytest -q"
        await chat.pilot.press("enter")
        await chat.until(lambda: "Run the tests with pytest -q" in wishes(chat), "edited")
        assert "Run the tests with pytest" not in wishes(chat)

        await click(chat, "R", "#dashboard-actions")
        await chat.until(lambda: field.value == "shell(pytest)", "a rule is proposed")
        await chat.pilot.press("enter")
        await chat.until(lambda: "Added shell(pytest)" in told(chat), "the rule is there")
        rules = chat.screen.ready().session.live.consent.rules
        assert list(map(str, rules)) == ["shell(pytest)"]

        await click(chat, "Never", WishTable)
        await chat.pilot.press("r")
        assert "can only allow" in told(chat)
        await chat.pilot.press("x")
        await chat.answers("n")
        assert any(wish.startswith("Never") for wish in wishes(chat))
        await click(chat, "X", "#dashboard-actions")
        await chat.answers("y")
        await chat.until(lambda: not any(wish.startswith("Never") for wish in wishes(chat)), "forgotten")
        assert "/memory restores it" in told(chat)


async def test_tabs_open_a_search_a_session_and_how_a_number_is_counted(
    lab: Lab, gemini: GeminiStandIn
) -> None:
    await fill(lab.project, environ(lab.tmp_path, gemini))
    gemini.script(Text("Hello."))
    async with lab.chat((100, 40)) as chat:
        await chat.say("Which colour is the kiosk?")
        await chat.turn_ended()
        first = chat.screen.ready().session.id
        await chat.say("/new")
        await chat.until(lambda: chat.screen.ready().session.id != first)
        await open_screen(chat)
        await chat.pilot.press("shift+tab")
        numbers = chat.top.query_one(NumberList)
        await chat.until(lambda: numbers.rows, "numbers")
        await chat.enter()
        await chat.until(lambda: any("quoted" in row for row in numbers.rows if isinstance(row, str)))
        await click(chat, "chat cost", NumberList)
        await chat.until(
            lambda: any("turns themselves" in row for row in numbers.rows if isinstance(row, str))
        )
        await click(chat, Tab.CONCEPTS, "#dashboard-tabs")
        await chat.until(lambda: chat.top.query_one(ConceptList).rows, "concepts")
        await chat.pilot.press("tab")
        timeline = chat.top.query_one(SessionTimeline)
        await chat.until(lambda: timeline.rows, "sessions")
        await click(chat, "Which colour", SessionTimeline)
        await chat.until(lambda: chat.screen.ready().session.id == first, "the session opened")

        await open_screen(chat)
        await chat.pilot.press("right")
        await chat.until(lambda: chat.top.query_one(ConceptList).rows, "concepts")
        topic = chat.top.query_one(ConceptList).chosen.topic
        await chat.enter()
        await chat.until(lambda: isinstance(chat.top, SearchScreen), "a search")
        assert chat.top.query_one(Input).value == topic


async def test_every_tab_fits_however_small_the_screen_is(filled: Lab) -> None:
    for size in (*SIZES, (40, 12)):
        async with filled.chat(size) as chat:
            await open_screen(chat)
            for tab in Tab:
                await chat.until(lambda tab=tab: tab in chat.top._read, tab)
                hint = chat.top.query_one("#dashboard-actions", ActionLine)
                bottom = hint.region.bottom
                assert bottom <= size[1], (size, tab, bottom)
                assert chat.top.query_one("#dashboard-list").size.height >= 3, "its head and two rows"
                if tab is Tab.NUMBERS:
                    await chat.until(lambda: chat.top.query_one(NumberList).rows, "numbers")
                    assert "…" not in drawn(chat, NumberList), size
                    if size == (40, 24):
                        rows = chat.top.query_one(NumberList).rows
                        await chat.until(
                            lambda rows=rows: drawn(chat, NumberList).count("\n") + 1 == len(rows),
                            "what was kept free for the wish above is used",
                        )
                await chat.pilot.press("tab")


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home" / "code" / "shop"
    folder.mkdir(parents=True)
    env = environ(tmp_path, RAGFORGE_MODEL="local")
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    asyncio.run(fill(folder, env))
    return folder


@pytest.mark.parametrize(("size", "tab"), zip(SIZES, (Tab.WANTED, Tab.CONCEPTS, Tab.WANTED), strict=True))
def test_the_screen_of_the_dashboard(
    shop: Path, snap_compare: Compare, size: tuple[int, int], tab: Tab
) -> None:
    async def before(pilot: Pilot[Any]) -> None:
        chat = await opened(pilot)
        assert isinstance(pilot.app, RagforgeApp)
        await Chat(pilot.app, pilot).sees("in this project")  # behind it, where there is room
        screen: Any = DashboardScreen(chat.ready())
        await pilot.app.push_screen(screen)
        await screen._show(tab)
        await until(pilot, lambda: tab in screen._read, what="it is read")
        await pilot.press("down")

    assert snap_compare(app_in(shop, new=True), terminal_size=size, run_before=before)
