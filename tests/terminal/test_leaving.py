"""However it ends, the terminal is restored and no word is lost."""

import shlex
import signal
import sqlite3
import sys
from itertools import product
from pathlib import Path

import pytest

from tests.terminal.screen import (
    ALTERNATE,
    COMMAND,
    CTRL_C,
    CTRL_D,
    CTRL_Z,
    ENTER,
    ESCAPE,
    OPEN,
    PASTE,
    Desk,
    Screen,
)

BROKEN = """
from ragforge.tui.app import RagforgeApp

async def open_session(*, embedded=False):
    raise ValueError("boom of the test")

left = RagforgeApp(open_session).run()
print("LEFT", left.exit_code, left.failure)
"""

HEARD_IN_A_DESTRUCTOR = """
import signal, sys
from ragforge.__main__ import main

class Gone:
    def __del__(self):
        signal.raise_signal({number})

{moment}
sys.argv = ["ragforge"]
main()
"""
WHILE_IT_IS_LOADED = """
class Imports:
    def find_spec(self, name, path=None, target=None):
        if name == "ragforge.tui.app":
            Gone()

sys.meta_path.insert(0, Imports())
"""
AS_THE_READER_BEGINS = """
import threading

begin = threading.Thread.start

def start(thread):
    signal.raise_signal(signal.SIGTERM)
    begin(thread)

threading.Thread.start = start
"""
AS_IT_BEGINS = """
from ragforge.tui.app import RagforgeApp

begin = RagforgeApp.run

def run(app, **options):
    Gone()
    return begin(app, **options)

RagforgeApp.run = run
"""


def opened(desk: Desk, *args: str) -> Screen:
    """A start at which the session is open, so that keys are its own."""
    screen = desk.start(*args)
    screen.wait_for(OPEN if "-c" not in args else "gemini-3.8-flash")
    return screen


def counting(desk: Desk) -> Screen:
    """In the middle of a turn."""
    screen = opened(desk)
    screen.send("go on for ever")
    screen.wait_for("I begin to count")
    return screen


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_restore_the_terminal_and_keep_what_had_arrived(desk: Desk, number: signal.Signals):
    screen = counting(desk)
    modes = screen.modes()
    assert modes[ALTERNATE]
    assert modes[PASTE]
    screen.process.kill(number)
    assert screen.ended() == 128 + number
    screen.assert_restored()
    assert "I begin to count" in screen.text
    assert "ragforge -r" in screen.unwrapped
    assert "Traceback" not in screen.text

    again = opened(desk, "-c")
    again.wait_for(lambda shown: "I begin to count" in shown and "interrupted" in shown)


def test_a_window_that_is_closed_ends_the_program_and_keeps_what_had_arrived(desk: Desk):
    screen = counting(desk)
    screen.close_window()
    assert screen.ended() == 128 + signal.SIGHUP
    again = opened(desk, "-c")
    again.wait_for("I begin to count")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_during_the_start_restore_the_terminal(desk: Desk, number: signal.Signals):
    screen = desk.start(argv=["env", "-u", "COLORFGBG", COMMAND])
    # The terminal is asked for its background, and gives no answer: it is set for that now.
    screen.wait_until(lambda: b"\x1b]11;?" in screen.output, what="the question for the background")
    screen.process.kill(number)
    assert screen.ended() == 128 + number
    screen.assert_restored()
    assert "Traceback" not in screen.text


@pytest.mark.parametrize(
    ("number", "moment"),
    [
        *product((signal.SIGTERM, signal.SIGHUP, signal.SIGINT), (WHILE_IT_IS_LOADED, AS_IT_BEGINS)),
        (signal.SIGTERM, AS_THE_READER_BEGINS),
    ],
)
def test_a_signal_is_heard_that_comes_where_python_swallows_what_is_raised(
    desk: Desk, number: signal.Signals, moment: str
):
    source = HEARD_IN_A_DESTRUCTOR.format(number=int(number), moment=moment)
    screen = desk.start(argv=[sys.executable, "-c", source])
    assert screen.ended() == 128 + number
    screen.assert_restored()
    assert "Traceback" not in screen.text


def test_a_program_that_needs_the_terminal_gets_it_with_ctrl_c_and_ragforge_does_not(desk: Desk):
    screen = opened(desk)
    less = desk.project / "bin" / "less"
    less.parent.mkdir()
    less.write_text("#!/bin/sh\necho in $((2000 + 26)); sleep 1000\n")
    less.chmod(0o755)
    screen.send("!./bin/less")
    screen.wait_for("in 2026")
    screen.press(CTRL_C)
    screen.wait_for("Enter returns")
    screen.press(ENTER)
    screen.wait_for("Message, /command")
    screen.press(CTRL_D)
    assert screen.ended() == 0
    screen.assert_restored()


def test_an_exception_restores_the_terminal_without_a_traceback(desk: Desk):
    screen = desk.start(argv=[sys.executable, "-c", BROKEN])
    assert screen.ended() == 0
    screen.assert_restored()
    shown = " ".join(screen.text.split())
    assert "LEFT 1" in shown
    assert "boom of the test" in shown
    assert "Traceback" not in shown


def test_ctrl_z_suspends_and_fg_comes_back(desk: Desk):
    shell = desk.start(argv=["bash", "--norc", "--noprofile", "-i"])
    shell.press(b"PS1='shell> '\r")
    shell.wait_for(lambda screen: screen.rstrip().endswith("\nshell>"))
    shell.press(shlex.quote(COMMAND).encode() + ENTER)
    shell.wait_for(OPEN)
    shell.type("half a thought")
    shell.press(CTRL_Z)
    shell.wait_for("Stopped")
    modes = shell.modes()
    assert not modes[ALTERNATE]
    shell.press(b"echo typed in the $((2000 + 26)) shell\r")
    shell.wait_for("typed in the 2026 shell")
    shell.press(b"fg\r")
    shell.wait_for(lambda screen: "│ half a thought" in screen and "2026" not in screen)
    assert shell.modes()[ALTERNATE]
    shell.type(" and more")
    shell.press(b"\x15")
    shell.wait_for("Message, /command")
    shell.press(CTRL_D)
    shell.wait_for(lambda screen: screen.rstrip().endswith("shell>"))
    assert not shell.modes()[ALTERNATE]


def test_escape_interrupts_and_keeps_what_had_arrived(desk: Desk):
    screen = counting(desk)
    screen.press(ESCAPE)
    shown = screen.wait_for("interrupted")
    assert "I begin to count" in shown
    screen.send("What is the capital of France?")
    screen.wait_for("on the Seine.")
    screen.press(CTRL_D)
    assert screen.ended() == 0


def test_a_turn_that_was_killed_is_shown_as_interrupted(desk: Desk):
    screen = counting(desk)
    screen.process.kill(signal.SIGKILL)
    assert screen.ended() == -signal.SIGKILL
    again = opened(desk, "-c")
    again.wait_for("go on for ever")
    again.wait_for("interrupted")


def test_an_approval_that_waits_at_the_end_is_asked_again(desk: Desk):
    file = desk.project / "greet.txt"
    file.write_text("Hello there\n")
    screen = opened(desk)
    screen.send("Make it more polite")
    screen.wait_for("press 1")
    screen.press(CTRL_D)
    assert screen.ended() == 0
    screen.assert_restored()
    assert file.read_text() == "Hello there\n"

    again = opened(desk, "-c")
    again.wait_for("press 1")
    again.press(b"1")
    shown = again.wait_for("It is polite now.")
    assert shown.count("Make it more polite") == 2  # in the turn, and as the title
    assert file.read_text() == "Good day there\n"


def test_a_draft_survives_a_kill_and_a_quit(desk: Desk):
    screen = opened(desk)
    screen.type("words that nobody sent")
    database = desk.data / "local.db"
    kept = "SELECT count(*) FROM draft WHERE text = 'words that nobody sent'"

    def is_kept() -> bool:
        with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
            return connection.execute(kept).fetchone() == (1,)

    screen.wait_until(is_kept, what="the draft was kept")
    screen.process.kill(signal.SIGKILL)
    screen.ended()

    again = opened(desk)
    again.wait_for("words that nobody sent")
    again.process.kill(signal.SIGTERM)
    again.ended()
    again.assert_restored()
    third = opened(desk)
    third.wait_for("words that nobody sent")


@pytest.mark.parametrize("mode", ["", "--plain"])
def test_the_command_that_resumes_works_where_the_path_has_spaces(desk: Desk, mode: str):
    tools = desk.project.parent / "my tools"
    tools.symlink_to(Path(COMMAND).parent)
    screen = desk.start(argv=[str(tools / "ragforge"), *filter(None, [mode]), "the capital of France?"])
    screen.wait_for("on the Seine.")
    screen.press(CTRL_D)
    assert screen.ended() == 0
    [command] = [line for line in screen.unwrapped.split("\n") if " -r " in line]
    command = command.removeprefix("Resume this session with: ")
    assert shlex.split(command)[:2] == [str(tools / "ragforge"), "-r"]
    screen = desk.start(argv=[*shlex.split(command), *filter(None, [mode])])
    screen.wait_for("on the Seine.")
