"""The prompt before the interface is loaded: no key is lost, and the terminal is always restored."""

import os
import random
import re
import shlex
import signal
import sqlite3
import sys
import termios
from pathlib import Path

import pyte
import pytest

from tests.terminal.emulator import Emulator
from tests.terminal.screen import ALTERNATE, COLUMNS, COMMAND, CTRL_C, CTRL_D, ENTER, OPEN, ROWS, Desk, Screen

HELD = """
import sys, time
from importlib.machinery import PathFinder
from pathlib import Path

class Imports:
    def find_spec(self, name, path=None, target=None):
        if name != "ragforge.tui.app":
            return None
        spec = PathFinder.find_spec(name, path)
        load = spec.loader.exec_module

        def exec_module(module):
            while not Path({go!r}).exists():
                time.sleep(0.01)
            load(module)

        # Not while it is looked for: nothing else could be imported then, such as what draws wide letters.
        spec.loader.exec_module = exec_module
        return spec

sys.meta_path.insert(0, Imports())
sys.argv = ["ragforge"]
from ragforge.__main__ import main
main()
"""
"""A start that goes on once there is a file of that name: until then the first prompt stands."""
TAKEN_OVER = b"\x1b[?1003h"
"""Textual's driver has started."""
KEYS = ["a", "B", "7", " ", ".", "é", "ß", "漢", "字", "한", "👍", "e\u0301", "न", "ש"]
PASTE = ("\x1b[200~", "two lines,\none of them 漢字", "\x1b[201~")


def held(desk: Desk) -> tuple[Screen, Path]:
    """A start that waits, its first prompt drawn, and the file that lets it go on."""
    go = desk.project.parent / "go"
    screen = desk.start(argv=[sys.executable, "-c", HELD.format(go=str(go))])
    screen.wait_for("Message, /command")
    return screen, go


def taken_over(screen: Screen) -> None:
    screen.wait_until(lambda: TAKEN_OVER in screen.output, what="the interface has the terminal")


def kept_draft(desk: Desk) -> str:
    with sqlite3.connect(f"file:{desk.data / 'local.db'}?mode=ro", uri=True) as connection:
        row = connection.execute("SELECT text FROM draft").fetchone()
    return row[0] if row else ""


def leave_with_draft(desk: Desk, screen: Screen) -> str:
    """What the prompt holds, once the interface is there, has all keys and has been told to end."""
    screen.wait_for(OPEN)
    screen.press(b"#")
    screen.wait_for("#")
    screen.process.kill(signal.SIGTERM)
    assert screen.ended() == 128 + signal.SIGTERM
    screen.assert_restored()
    draft = kept_draft(desk)
    assert draft.endswith("#")
    return draft[:-1]


def test_a_key_is_drawn_before_the_interface_is_loaded(desk: Desk):
    screen = desk.start(argv=[COMMAND])
    screen.press(b"early")
    screen.wait_for("│ early")
    taken_over(screen)
    assert "early" in re.sub(r"\x1b\[[0-9;]*m", "", screen.output.partition(TAKEN_OVER)[0].decode())


@pytest.mark.parametrize("seed", range(3))
def test_the_prompt_holds_what_was_typed_wherever_the_interface_takes_over(desk: Desk, seed: int):
    chance = random.Random(seed)
    keys = chance.choices(KEYS, k=60)
    keys[chance.randrange(60)] = PASTE[0] + PASTE[1] + PASTE[2]
    screen = desk.start(argv=[COMMAND])
    for key in keys:
        written = key.encode()
        cut = chance.randrange(len(written))
        screen.press(written[:cut], written[cut:], pause_s=chance.random() * 0.04)
    expected = "".join(keys).replace(PASTE[0], "").replace(PASTE[2], "")
    assert leave_with_draft(desk, screen) == expected


def test_a_paste_may_come_in_parts_on_both_sides_of_the_hand_over(desk: Desk):
    screen, go = held(desk)
    with screen.pressing:
        screen.press(b"so: \x1b[200~first\nlin")
        go.touch()
        taken_over(screen)
        screen.press(b"es\x1b[20", b"1~ and on")
    screen.wait_for("lines and on")
    assert leave_with_draft(desk, screen) == "so: first\nlines and on"


def test_keys_that_edit_do_so_before_and_after(desk: Desk):
    screen, go = held(desk)
    screen.press(b"one two\x17three\x1b[D\x1b[D\x7fR\x01>\x05<")
    screen.wait_for("│ >one thRee<")
    go.touch()
    assert leave_with_draft(desk, screen) == ">one thRee<"


def test_enter_that_was_pressed_early_sends_once(desk: Desk):
    screen, go = held(desk)
    screen.press(b"What is the capital of France?" + ENTER)
    go.touch()
    screen.wait_for("on the Seine.")
    screen.wait_for("Message, /command")
    screen.press(CTRL_D)
    assert screen.ended() == 0
    assert screen.text.count("on the Seine.") == 1


def test_a_message_that_was_typed_ahead_in_the_shell_is_sent(desk: Desk):
    shell = desk.start(argv=["bash", "--norc", "--noprofile", "-i"])
    shell.press(shlex.quote(COMMAND).encode() + ENTER)
    shell.press(b"What is the capital of France?" + ENTER)
    shell.wait_for("on the Seine.")


def test_ctrl_d_on_an_empty_prompt_quits_and_ctrl_c_twice_does(desk: Desk):
    for keys in (CTRL_D, CTRL_C + CTRL_C):
        screen, go = held(desk)
        screen.press(keys)
        go.touch()
        assert screen.ended() == 0
        screen.assert_restored()
        go.unlink()


def test_the_hand_over_is_not_seen(desk: Desk):
    """What was typed is on the screen all the time, and the second screen is entered once."""
    screen, go = held(desk)
    screen.press("what was typed 漢字".encode())
    screen.wait_for("│ what was typed 漢字")
    before = len(screen.output)
    go.touch()
    screen.wait_for(OPEN)
    output = screen.output
    assert output.count(b"\x1b[?1049h") == 1
    emulator = Emulator(rows=ROWS, columns=COLUMNS)
    emulator.feed(output[:before])
    for start in range(before, len(output), 16):
        emulator.feed(output[start : start + 16])
        assert "│ what was typed 漢字" in emulator.text


def test_the_first_prompt_is_drawn_as_the_interface_draws_it(desk: Desk):
    typed = "a long line of words that is longer than the prompt is wide, " * 3 + "é漢字 end"
    for variables in (
        {"COLORTERM": "truecolor"},
        {"COLORTERM": "truecolor", "COLORFGBG": "0;15"},
        {"COLORFGBG": "0;15"},
        {"TERM": "xterm"},
        {"TERM": "xterm", "COLORFGBG": "0;15"},
        {"NO_COLOR": "1"},
    ):
        desk.env |= variables
        screen, go = held(desk)
        for text in ("", typed):
            screen.press(text.encode())
            screen.wait_for("Message, /command" if not text else "字 end")
        first = box(screen.output)
        go.touch()
        screen.wait_for(OPEN)
        screen.wait_until(lambda: box(screen.output) == first, what="it is drawn the same")  # noqa: B023
        if "NO_COLOR" in variables:
            told_without_colours(screen)
        screen.close()
        go.unlink()
        for name in variables:
            del desk.env[name]


def told_without_colours(screen: Screen) -> None:
    """No colour is sent, and what is chosen or takes keys is told by an attribute."""
    screen.press(CTRL_C + b"/model" + ENTER)
    screen.wait_for("Paste another Gemini key")
    screen.wait_until(lambda: _underlined(screen.output), what="the chosen line is underlined")
    assert re.search(rb"\x1b\[7[0-9;]*m", screen.output), "the cursor is drawn in reverse"
    colours = {
        each
        for found in re.findall(rb"\x1b\[([0-9;]+)m", screen.output)
        for each in map(int, found.split(b";"))
        if each in {*range(30, 39), *range(40, 49), *range(90, 108)}
    }
    assert colours == set()


def _underlined(output: bytes) -> bool:
    return re.search(rb"\x1b\[1;4[0-9;]*m *Gemini", output) is not None


def box(output: bytes) -> list[list[tuple[str, str, str]]]:
    """Characters, their colours and those behind them, in the rows of the prompt."""
    emulated = pyte.Screen(COLUMNS, ROWS)
    pyte.ByteStream(emulated).feed(re.sub(rb"\x1b\[[<>=][0-9;]*u", b"", output))  # pyte takes these for text
    top = next(row for row, line in enumerate(emulated.display) if line.startswith("╭"))
    cells = [[emulated.buffer[row][column] for column in range(COLUMNS)] for row in range(top, ROWS - 1)]
    return [[(cell.data, cell.fg if cell.data.strip() else "", cell.bg) for cell in row] for row in cells]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_restores_the_terminal_and_leaves_what_was_typed(desk: Desk, number: signal.Signals):
    screen, _ = held(desk)
    screen.press(b"words of an early bird")
    screen.wait_for("│ words of an early bird")
    assert screen.modes()[ALTERNATE]
    screen.process.kill(number)
    assert screen.ended() == 128 + number
    screen.assert_restored()
    assert "Not sent:\nwords of an early bird" in screen.text


def test_a_stop_leaves_the_screen_and_fg_comes_back_to_it(desk: Desk):
    go = desk.project.parent / "go"
    shell = desk.start(argv=["bash", "--norc", "--noprofile", "-i"])
    shell.press(b"PS1='shell> '\r")
    shell.wait_for(lambda screen: screen.rstrip().endswith("\nshell>"))
    shell.press(shlex.join([sys.executable, "-c", HELD.format(go=str(go))]).replace("\n", "\x16\n").encode())
    shell.press(ENTER)
    shell.wait_for("Message, /command")
    shell.press(b"half a thought")
    shell.wait_for("│ half a thought")
    shell.press(b"\x1a")  # a key until the interface is there
    shell.wait_until_answered()  # or the shell gets the answer, once the program has stopped
    (child,) = _children(shell.process.pid)
    os.kill(child, signal.SIGTSTP)
    shell.wait_for("Stopped")
    assert not shell.modes()[ALTERNATE], shell.output[-1500:]
    shell.press(b"fg\r")
    shell.wait_for("│ half a thought")
    assert shell.modes()[ALTERNATE]


def _children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_it_follows_the_size_of_the_terminal(desk: Desk):
    screen, go = held(desk)
    screen.press(b"a word")
    screen.wait_for("│ a word")
    drawn = len(screen.output)
    termios.tcsetwinsize(screen.process.fd, (20, 60))
    screen.process.kill(signal.SIGWINCH)
    bottom = f"\x1b[18;1H\x1b[0;38;5;110;48;5;233m╰{'─' * 58}╯".encode()
    screen.wait_until(lambda: bottom in screen.output[drawn:], what="the prompt is drawn at the new size")
    go.touch()
    assert leave_with_draft(desk, screen) == "a word"


def test_keys_that_were_typed_early_answer_no_question(desk: Desk):
    (desk.project / "AGENTS.md").write_text("Use tabs.\n")
    screen, go = held(desk)
    screen.press(b"1yn" + ENTER)
    go.touch()
    screen.wait_for("AGENTS.md")
    screen.wait_for("│ 1yn")
    screen.process.kill(signal.SIGTERM)
    screen.ended()
    assert kept_draft(desk) == "1yn"


def test_a_wrong_setting_is_said_on_a_clean_terminal_with_what_was_typed(desk: Desk):
    desk.configure('theme = "pink"\n')
    # Typed before the program begins, which a busy machine may end before it lets a test press a key.
    waits = "stty -echo; echo ready; while [ ! -e typed ]; do sleep 0.01; done; stty echo"
    screen = desk.start(argv=["sh", "-c", f'{waits}; exec "$0"', COMMAND])
    screen.wait_for("ready")
    screen.press(b"typed too early")
    (desk.project / "typed").touch()
    assert screen.ended() == 2
    screen.assert_restored()
    assert "theme" in screen.text.replace("\n", "")  # a long path may break it
    assert "Not sent:\ntyped too early" in screen.text


@pytest.mark.parametrize("args", [["--version"], ["sessions"], ["-p", "hello"], ["--bad"]])
def test_nothing_is_drawn_for_what_is_no_interface(desk: Desk, args: list[str]):
    screen = desk.start(*args)
    screen.ended()
    assert b"\x1b[?" not in screen.output


def test_nothing_is_drawn_on_a_dumb_terminal(desk: Desk):
    desk.env["TERM"] = "dumb"
    screen = desk.start(argv=[COMMAND, "--model"])
    screen.ended()
    assert b"\x1b[?" not in screen.output
