"""A screen is one file: its name, its command and what it does in the chat."""

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragforge.commands.base import find_verbs
from ragforge.tui import screens
from ragforge.tui.chat import frame
from ragforge.tui.screens.base import find_screens, interface_verbs
from ragforge.tui.widgets.completion import CommandRow, Completion
from tests.flow.examples import example
from tests.tui.chat_app import Lab


@pytest.fixture
def titles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "more_screens"
    folder.mkdir()
    (folder / "titles.py").write_text(example("A screen"))
    monkeypatch.setattr(screens, "__path__", [*screens.__path__, str(folder)])
    for found in (find_screens, interface_verbs):
        found.cache_clear()
    yield
    for found in (find_screens, interface_verbs):
        found.cache_clear()
    sys.modules.pop(f"{screens.__name__}.titles", None)


def test_every_screen_has_a_command() -> None:
    assert set(find_screens()) <= set(interface_verbs())
    assert not set(find_verbs()) & {screen.name for screen in find_screens().values() if screen.help}


@pytest.mark.usefixtures("titles")
async def test_a_file_is_a_screen_with_its_command(lab: Lab) -> None:
    async with lab.chat() as chat:
        await chat.say("about apples")
        await chat.sees("You said: about apples")
        await chat.turn_ended()
        await chat.say("/new")
        await chat.sees("A new session")
        await chat.say("/titlse")
        await chat.sees("Unknown command /titlse. Did you mean /titles?")
        await chat.say("/titles pears")
        await chat.sees("No title has 'pears' in it.")
        assert interface_verbs()["titles"].help == "Go to a session by its title."
        await chat.type("/tit")
        completion = chat.screen.query_one(Completion)
        await chat.until(lambda: completion.chosen is not None)
        assert completion.chosen is not None
        assert completion.chosen.detail == "Go to a session by its title."
        await chat.type("les apples")
        await chat.enter()
        await chat.until(lambda: type(chat.top).__name__ == "TitlesScreen", "the screen")
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.top is chat.screen)
        await chat.say("/titles apples")
        await chat.until(lambda: type(chat.top).__name__ == "TitlesScreen", "the screen")
        await chat.pilot.press("enter")
        await chat.sees("Opened about apples")
        await chat.sees("You said: about apples")
        await chat.until(lambda: chat.status.startswith("plan"))


async def test_commands_are_loaded_before_the_first_key(lab: Lab) -> None:
    async with lab.chat() as chat:
        await chat.until(lambda: "commands" in vars(chat.screen) and chat.screen.commands.done())
        loaded = set(sys.modules)
        await chat.pilot.press("slash")
        assert chat.screen.query_one(Completion).is_open
        assert not {name for name in set(sys.modules) - loaded if name.startswith("ragforge.commands")}


async def test_a_slash_that_comes_before_the_commands_waits_for_them(lab: Lab) -> None:
    loading, go_on = threading.Event(), threading.Event()

    def load_late() -> list[CommandRow]:
        loading.set()
        assert go_on.wait(60)
        return [CommandRow("help", "Show the commands and the keys.")]

    lab.monkeypatch.setattr(frame, "_load_commands", load_late)
    async with lab.chat() as chat:
        await chat.until(loading.is_set)
        await chat.type("plain words")
        assert chat.draft == "plain words"
        chat.screen.prompt.set_draft("")
        threading.Timer(0.05, go_on.set).start()
        await chat.pilot.press("slash")
        assert chat.screen.query_one(Completion).is_open
