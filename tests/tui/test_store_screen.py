"""`/store`: what it shows of where conversations are kept, and connecting from within."""

import os
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList

from ragforge.tui.screens.model import ModelScreen
from ragforge.tui.screens.store import StoreScreen
from ragforge.tui.widgets.fact_columns import FactColumns
from ragforge.tui.widgets.plain import PlainText
from tests.tui.chat_app import Chat, Lab
from tests.tui.test_screens import Compare, after_typing, app_in, shop, shop_with_sessions
from tests.tui.test_store_opening import nobody
from tests.tui.waiting import until

__all__ = ["nobody", "shop", "shop_with_sessions"]

PASSWORD = "graph-pass-0123"


def words(chat: Chat) -> str:
    return "\n".join(widget.text for widget in chat.top.query(PlainText))


def hint(chat: Chat) -> str:
    return chat.top.query_one(".dialog-hint", PlainText).text


def listed(chat: Chat) -> list[str]:
    found = chat.top.query_one(OptionList)
    return [str(found.get_option_at_index(at).prompt) for at in range(found.option_count)]


async def at_store(chat: Chat, line: str = "/store") -> None:
    await chat.say(line)
    await chat.until(lambda: isinstance(chat.top, StoreScreen) and "Looking" not in words(chat))


async def field_for(chat: Chat, what: str) -> Input:
    await chat.until(
        lambda: isinstance(chat.top, StoreScreen) and chat.top._asked == what, f"it asks for {what}"
    )
    field = chat.top.query_one(Input)
    await chat.until(lambda: field.has_focus)
    return field


async def test_it_shows_kind_place_and_what_is_kept(lab: Lab) -> None:
    async with lab.chat() as chat:
        await chat.say("hello")
        await chat.sees("You said")
        await chat.turn_ended()
        await at_store(chat)
        assert "SQLite" in words(chat)
        assert "ragforge.db" in words(chat)
        assert "1 session, 1 turn" in words(chat)
        assert listed(chat) == ["Connect to a Neo4j server", "Close"]
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.top is chat.screen)


async def test_an_applications_server_is_mentioned_without_its_password_and_not_used(lab: Lab) -> None:
    lab.monkeypatch.setenv("NEO4J_URI", f"neo4j://app:{PASSWORD}@graph.example")
    async with lab.chat() as chat:
        await at_store(chat)
        assert "NEO4J_URI is set (neo4j://app@graph.example)" in words(chat)
        assert PASSWORD not in words(chat)
        assert "SQLite" in words(chat)
        await chat.pilot.press("enter")
        assert (await field_for(chat, "url")).value == ""


async def test_what_went_wrong_is_said_and_nothing_is_kept(lab: Lab, nobody: str) -> None:
    place = nobody.rpartition("@")[2]
    async with lab.chat() as chat:
        await at_store(chat)
        await chat.pilot.press("enter")
        (await field_for(chat, "url")).value = "postgres://x"
        await chat.pilot.press("enter")
        await chat.until(lambda: "not a Neo4j server's address" in hint(chat))
        (await field_for(chat, "url")).value = place
        await chat.pilot.press("enter")
        user = await field_for(chat, "user")
        assert user.value == "neo4j"
        user.value = "ann"
        await chat.pilot.press("enter")
        field = await field_for(chat, "password")
        assert field.password
        field.value = PASSWORD
        await chat.pilot.press("enter")
        url = await field_for(chat, "url")
        assert url.value == f"bolt://ann@{place}"
        assert "Neo4j" in hint(chat)
        assert PASSWORD not in words(chat)
        assert not url.password
    config = Path(os.environ["RAGFORGE_CONFIG_DIR"])
    assert not config.exists() or not any(PASSWORD in file.read_text() for file in config.iterdir())


async def test_an_address_that_cannot_be_read_is_not_shown_again(lab: Lab) -> None:
    async with lab.chat() as chat:
        await chat.say(f"/store bolt://me:{PASSWORD}/x@db")
        assert (await field_for(chat, "url")).value == ""
        assert PASSWORD not in words(chat)


async def test_escape_goes_back_step_by_step(lab: Lab) -> None:
    async with lab.chat() as chat:
        await at_store(chat)
        await chat.pilot.press("enter")
        await field_for(chat, "url")
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.top.query_one(OptionList).has_focus)
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.top is chat.screen)


async def test_one_can_go_back_to_the_embedded_store(lab: Lab) -> None:
    lab.monkeypatch.setenv("RAGFORGE_STORE", f"sqlite://{lab.tmp_path}/other.db")
    async with lab.chat() as chat:
        await at_store(chat)
        await chat.pilot.press("down", "enter")
        await chat.sees("kept in ")
        assert "RAGFORGE_STORE" in chat.words()


async def test_the_first_start_offers_it_and_comes_back_to_the_models(lab: Lab) -> None:
    lab.set_environ(key=False)
    async with lab.chat() as chat:
        await chat.until(lambda: isinstance(chat.top, ModelScreen) and len(listed(chat)) >= 4)
        at = next(at for at, words in enumerate(listed(chat)) if "Neo4j" in words)
        await chat.pilot.press(*["down"] * at, "enter")
        await chat.until(lambda: isinstance(chat.top, StoreScreen))
        await chat.pilot.press("escape")
        await chat.until(lambda: isinstance(chat.top, ModelScreen))


@pytest.mark.parametrize("columns", [100, 60])
def test_the_screen_of_the_store(shop_with_sessions: Path, snap_compare: Compare, columns: int) -> None:
    app = app_in(shop_with_sessions, new=True)
    before = after_typing("/store")

    async def opened(pilot: Pilot[Any]) -> None:
        await before(pilot)
        # The place and the time it took are another each time.
        shown = pilot.app.screen.query_one(FactColumns)
        await until(pilot, lambda: "SQLite" in shown.text)
        holds = dict(shown.facts)["contains"]
        shown.show([("kind", "SQLite"), ("location", "/home/me/ragforge.db"), ("contains", holds)])

    assert snap_compare(app, terminal_size=(columns, 24), run_before=opened)
