"""The prompt in a real terminal: pastes without bracketed paste, Alt+Enter, another editor."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.processes import write_program
from tests.tui.terminal import Terminal, python_app

APP = """
from tests.tui.prompt_app import PromptApp
from textual.widgets import Static

class Shown(PromptApp):
    ticks = 0
    def compose(self):
        yield Static(id="told", markup=False)
        yield from super().compose()
    def on_mount(self):
        super().on_mount()
        self.set_interval(0.02, self.tick)
    def tick(self):
        self.ticks += 1
        sent = [f"{len(text)} {text[:30]!r}" for text in self.sent]
        notices = [message.text for message in self.messages if hasattr(message, "text")]
        self.query_one("#told").update(f"ticks {self.ticks}\\nsent {sent}\\ntold {notices[-1:]}")

Shown().run()
"""


@pytest.fixture
def editor(tmp_path: Path) -> Path:
    program = tmp_path / "editor"
    write_program(
        program,
        "import sys, pathlib\n"
        "path = pathlib.Path(sys.argv[1])\n"
        "print('EDITOR HAS', repr(path.read_text()), flush=True)\n"
        "try:\n"
        "    path.write_text(input() + '\\n')\n"
        "except KeyboardInterrupt:\n"
        "    print('INTERRUPTED', flush=True)\n"
        "    path.write_text(input())\n",
    )
    return program


@pytest.fixture
def terminal(editor: Path) -> Iterator[Terminal]:
    terminal = Terminal(python_app(APP), env={"EDITOR": str(editor), "VISUAL": "", "SSH_TTY": "x"})
    terminal.wait("Message, /command")
    yield terminal
    terminal.close()


def test_a_paste_without_brackets_folds_whole_and_only_a_later_enter_sends(terminal: Terminal):
    lines = "".join(f"line {number}\r" for number in range(200))
    terminal.write(lines.encode())
    terminal.wait("[pasted 201 lines]")
    terminal.wait("sent []")
    terminal.write(b"\x1b[200~!\x1b[201~\r")
    terminal.wait(f"sent [\"{len(lines) + 1} 'line 0")


def test_enter_typed_after_the_echo_sends_and_alt_enter_does_not(terminal: Terminal):
    terminal.write(b"a")
    terminal.wait("│ a")
    terminal.write(b"\x1b\r")
    terminal.write(b"b")
    terminal.wait("│ b")
    terminal.write(b"\x1b[200~\x1b[201~\r")
    terminal.wait("'a\\\\nb'")


def test_the_editor_has_the_terminal_alone_and_its_text_comes_back(terminal: Terminal):
    terminal.write(b"draft")
    terminal.wait("│ draft")
    terminal.write(b"\x07")
    before = terminal.wait("EDITOR HAS 'draft'")
    terminal.write(b"\x03")
    after = terminal.wait("INTERRUPTED")
    # pyte has no second screen, so that the app's last picture stays: it must be the last.
    assert before.splitlines()[0] == after.splitlines()[0]
    terminal.write(b"new words\r")
    terminal.wait("│ new words")
    terminal.write(b"\x1b[200~\x1b[201~\r")
    terminal.wait("'new words'")
