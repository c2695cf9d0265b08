"""Starting where the server that keeps the conversations does not answer, or is none."""

import os
import shutil
import socket
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.widgets import OptionList

from ragforge.tui.screens.store_failure import NotOpenedScreen
from ragforge.tui.widgets.plain import PlainText
from tests.tui.chat_app import Chat, Lab

PASSWORD = "graph-pass-0123"


@pytest.fixture
def lab(lab: Lab) -> Lab:
    """A machine on which nothing was opened yet."""
    shutil.rmtree(lab.tmp_path / "data")
    return lab


@pytest.fixture
def nobody() -> Iterator[str]:
    """An address at which nobody listens, for as long as the test runs."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"bolt://ann:{PASSWORD}@127.0.0.1:{bound.getsockname()[1]}"


def shown(chat: Chat) -> str:
    return "\n".join(widget.text for widget in chat.top.query(PlainText))


async def asked(chat: Chat) -> OptionList:
    """The question what to do, taking keys."""
    await chat.until(lambda: isinstance(chat.top, NotOpenedScreen), "the store cannot be opened")
    options = chat.top.query_one(OptionList)
    await chat.until(lambda: options.has_focus)
    return options


async def choose(chat: Chat, number: int) -> None:
    await asked(chat)
    await chat.pilot.press(*["down"] * number, "enter")


def app_files() -> list[Path]:
    return list(Path(os.environ["RAGFORGE_DATA_DIR"]).glob("ragforge.db"))


async def test_an_unreachable_server_is_told_and_the_embedded_store_takes_its_place(
    lab: Lab, nobody: str
) -> None:
    lab.monkeypatch.setenv("RAGFORGE_STORE", nobody)
    async with lab.chat(opens=False) as chat:
        await chat.type("typed early")
        await asked(chat)
        assert "Neo4j" in shown(chat)
        assert "127.0.0.1" in shown(chat)
        assert PASSWORD not in shown(chat)
        assert "ragforge.db" in shown(chat)
        assert app_files() == []
        await choose(chat, 1)
        await chat.until(lambda: chat.screen.conversation is not None)
        await chat.sees("Type a message")
        assert chat.draft == "typed early"
        await chat.enter()
        await chat.sees("You said")
        await chat.turn_ended()
    (file,) = app_files()
    with sqlite3.connect(file) as kept:
        assert kept.execute("SELECT count(*) FROM turn").fetchone() == (1,)


async def test_trying_again_tries_again_and_quitting_leaves_quietly(lab: Lab, nobody: str) -> None:
    lab.monkeypatch.setenv("RAGFORGE_STORE", nobody)
    async with lab.chat(opens=False) as chat:
        await asked(chat)
        first = chat.top
        await chat.pilot.press("enter")
        await chat.until(lambda: isinstance(chat.top, NotOpenedScreen) and chat.top is not first)
        await choose(chat, 2)
        await chat.until(lambda: chat.app._exit)
    assert lab.left is not None
    assert (lab.left.exit_code, lab.left.failure) == (0, "")
    assert app_files() == []


async def test_a_wrong_address_is_told_and_what_answers_is_taken_when_tried_again(lab: Lab) -> None:
    lab.monkeypatch.setenv("RAGFORGE_STORE", "postgres://somewhere")
    async with lab.chat(opens=False) as chat:
        await asked(chat)
        assert "postgres://somewhere" in shown(chat)
        lab.monkeypatch.setenv("RAGFORGE_STORE", f"sqlite://{lab.tmp_path}/other.db")
        await chat.pilot.press("enter")
        await chat.sees("Type a message")
    assert (lab.tmp_path / "other.db").exists()


async def test_where_the_embedded_store_is_the_broken_one_nothing_takes_its_place(lab: Lab) -> None:
    folder = Path(os.environ["RAGFORGE_DATA_DIR"])
    folder.mkdir()
    (folder / "ragforge.db").write_text("no database at all" * 100)
    async with lab.chat() as chat:
        await chat.until(lambda: chat.app._exit)
    assert lab.left is not None
    assert lab.left.exit_code == 4
    assert "ragforge.db" in lab.left.failure
