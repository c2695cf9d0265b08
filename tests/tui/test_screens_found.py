"""A screen is one file: its name, its command and what it does in the chat."""

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragforge.commands.base import find_verbs
from ragforge.tui import screens
from ragforge.tui.chat import frame
from ragforge.tui.screens.base import find_screens, screen_commands
from ragforge.tui.widgets.completion import CommandRow, Completion
from tests.tui.chat_app import Lab

SCREEN = '''
"""The first words of every session, to go to one."""

from textual.app import ComposeResult
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from ragforge.domain.errors import UsageError
from ragforge.tui.screens.base import Chat, NamedScreen
from ragforge.tui.screens.dialog import Dialog


class TitlesScreen(Dialog[str]):
    def __init__(self, titles: dict[str, str]) -> None:
        super().__init__()
        self._titles = titles

    def compose(self) -> ComposeResult:
        yield OptionList(*(Option(title, session_id) for session_id, title in self._titles.items()))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_id)


async def _open(chat: Chat, words: str) -> None:
    rows = await chat.ready().sessions()
    titles = {row.session.id: row.session.title for row in rows if words in row.session.title}
    if not titles:
        raise UsageError(f"No title has {words!r} in it.")
    if chosen := await chat.ask(TitlesScreen(titles)):
        await chat.go_to(chosen)
        await chat.run_line("mode plan")
        chat.say(f"Gone to {titles[chosen]}")


SCREEN = NamedScreen("titles", _open, "Go to a session by its title.", "[WORDS|]")
'''


@pytest.fixture
def titles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "more_screens"
    folder.mkdir()
    (folder / "titles.py").write_text(SCREEN)
    monkeypatch.setattr(screens, "__path__", [*screens.__path__, str(folder)])
    find_screens.cache_clear()
    yield
    find_screens.cache_clear()
    sys.modules.pop(f"{screens.__name__}.titles", None)


def test_every_screen_that_is_no_command_itself_has_one() -> None:
    assert set(find_screens()) <= {*find_verbs(), *(screen.name for screen in screen_commands())}
    assert not set(find_verbs()) & {screen.name for screen in screen_commands()}


@pytest.mark.usefixtures("titles")
async def test_a_file_is_a_screen_with_its_command(lab: Lab) -> None:
    async with lab.chat() as chat:
        await chat.say("about apples")
        await chat.sees("You said: about apples")
        await chat.turn_ended()
        await chat.say("/new")
        await chat.sees("A new session")
        await chat.say("/titles pears")
        await chat.sees("No title has 'pears' in it.")
        await chat.say("/help")
        await chat.sees(r"| /titles [WORDS\|] | Go to a session by its title. |")
        await chat.type("/tit")
        completion = chat.screen.query_one(Completion)
        await chat.until(lambda: completion.chosen is not None)
        assert completion.chosen is not None
        assert completion.chosen.detail == "Go to a session by its title."
        await chat.type("les apples")
        await chat.enter()
        await chat.until(lambda: type(chat.top).__name__ == "TitlesScreen", "the screen")
        await chat.pilot.press("enter")
        await chat.sees("Gone to about apples")
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
