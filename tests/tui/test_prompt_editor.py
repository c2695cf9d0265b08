"""The draft in another editor."""

from pathlib import Path

import pytest

from ragforge.tui import editor
from ragforge.tui.editor import editor_command
from ragforge.tui.widgets.prompt import Prompt
from tests.processes import write_program
from tests.tui.prompt_app import PromptApp
from tests.tui.waiting import until


def script(tmp_path: Path, body: str) -> dict[str, str]:
    """An environment whose editor is this Python; `path` is the file."""
    program = tmp_path / "my editor"
    write_program(program, f"import sys, pathlib\npath = pathlib.Path(sys.argv[-1])\n{body}")
    return {"EDITOR": f"'{program}' --wait"}


def test_the_text_comes_back_as_it_was_saved(tmp_path: Path):
    env = script(tmp_path, "path.write_text(path.read_text().upper() + 'é\\n', encoding='utf-8')")
    assert editor.edit_file("draft\nold", env) == editor.Edited("DRAFT\nOLDé")


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("path.write_text('lost'); sys.exit(3)", "ended with code 3"),
        ("path.unlink()", "its file no longer exists"),
        (r"path.write_bytes(b'\xff\xfe')", "not UTF-8"),
    ],
)
def test_a_failing_editor_leaves_the_draft(tmp_path: Path, body: str, told: str):
    edited = editor.edit_file("draft", script(tmp_path, body))
    assert edited.text is None
    assert told in edited.notice
    assert "The draft is unchanged" in edited.notice


def test_an_editor_that_is_not_there_leaves_the_draft():
    edited = editor.edit_file("draft", {"VISUAL": "/no/such/editor"})
    assert edited.text is None
    assert "no such program" in edited.notice


def test_without_any_editor_it_says_what_to_set(tmp_path: Path):
    edited = editor.edit_file("draft", {"PATH": str(tmp_path)})
    assert "EDITOR=nano" in edited.notice


def test_visual_comes_before_editor_and_arguments_are_words():
    assert editor_command({"VISUAL": "code --wait", "EDITOR": "vi"}) == ["code", "--wait"]
    assert editor_command({"EDITOR": "emacs 'unclosed"}) == ["emacs 'unclosed"]


def test_the_editor_gets_the_environment_that_was_handed_in(tmp_path: Path):
    env = script(tmp_path, "import os; path.write_text(repr('GEMINI_API_KEY' in os.environ))")
    assert editor.edit_file("draft", env).text == "False"


@pytest.mark.parametrize("pressed", [["ctrl+g"], ["ctrl+x", "ctrl+e"]])
async def test_a_terminal_that_cannot_be_handed_over_keeps_the_draft(tmp_path: Path, pressed: list[str]):
    app = PromptApp(env=script(tmp_path, "path.write_text('lost')"))
    async with app.run_test() as pilot:
        await pilot.press(*"draft", *pressed)
        await until(pilot, lambda: app.got(Prompt.Noticed))
        assert "cannot take over" in app.got(Prompt.Noticed)[0].text
        assert app.prompt.text == "draft"
