"""Copying, and saying truly what was done."""

import base64
from pathlib import Path

import pytest
from textual.app import App

from ragforge.tui import clipboard
from ragforge.tui.widgets.prompt import Prompt
from tests.processes import write_program
from tests.tui.prompt_app import PromptApp
from tests.tui.waiting import until


def refusing(text: str) -> None:
    raise RuntimeError("no clipboard program")


def test_with_a_display_it_is_copied():
    copied: list[str] = []
    told = clipboard.copy("text", App(), env={"DISPLAY": ":0"}, system=copied.append)
    assert copied == ["text"]
    assert told == "Copied 4 characters."


@pytest.mark.parametrize("name", ["SSH_CONNECTION", "SSH_TTY", "STY"])
def test_over_ssh_it_is_sent_to_the_terminal_and_not_called_copied(name: str):
    app = App[None]()
    told = clipboard.copy("a\nb", app, env={"DISPLAY": ":0", name: "x"}, system=refusing)
    assert told == "Sent 2 lines to the terminal."
    assert app.clipboard == "a\nb"


def test_without_a_clipboard_program_it_is_sent_to_the_terminal():
    app = App[None]()
    assert "Sent" in clipboard.copy("x", app, env={"DISPLAY": ":0"}, system=refusing)
    assert app.clipboard == "x"


@pytest.mark.parametrize(
    ("size", "sent"), [(clipboard.OSC52_BYTES_MAX, True), (clipboard.OSC52_BYTES_MAX + 1, False)]
)
def test_what_terminals_would_drop_is_not_sent_and_the_limit_is_told(size: int, sent: bool):
    app = App[None]()
    told = clipboard.copy("x" * size, app, env={"SSH_TTY": "x"})
    assert (app.clipboard != "") is sent
    assert ("Not copied" in told and "75,000" in told) is not sent
    assert (len(base64.b64encode(b"x" * size)) <= clipboard.OSC52_BASE64_MAX) is sent


def test_in_tmux_its_own_command_gets_the_text_too(tmp_path: Path):
    write_program(tmp_path / "tmux", f'import sys\nopen("{tmp_path}/got", "w").write(sys.stdin.read())')
    told = clipboard.copy("text", App(), env={"TMUX": "x", "PATH": str(tmp_path)})
    assert told == "Sent 4 characters to tmux and the terminal."
    assert (tmp_path / "got").read_text() == "text"


def test_in_tmux_without_the_command_the_terminal_is_left(tmp_path: Path):
    assert "to the terminal" in clipboard.copy("text", App(), env={"TMUX": "x", "PATH": str(tmp_path)})


def test_nothing_is_not_copied():
    assert clipboard.copy("", App(), env={}) == "Nothing to copy."


async def test_ctrl_c_copies_a_selection_and_clears_nothing():
    app = PromptApp(env={"SSH_TTY": "x"})
    async with app.run_test() as pilot:
        await pilot.press(*"one two", "ctrl+shift+left", "ctrl+c")
        await until(pilot, lambda: app.got(Prompt.Noticed))
        assert app.clipboard == "two"
        assert app.prompt.text == "one two"
        await pilot.press("end", "ctrl+v")
        await until(pilot, lambda: app.prompt.text == "one twotwo")
