"""The conversation in lines of text: on a terminal that draws no screen, and with --plain."""

import signal

from ragforge.domain.timeouts import APPROVAL_QUIET_S
from tests.terminal.screen import CTRL_C, CTRL_D, DOWN, ENTER, UP, Desk, Screen


def answer(screen: Screen, keys: bytes) -> None:
    """Answer a question that could be read first."""
    screen.press(b"", pause_s=2 * APPROVAL_QUIET_S)
    screen.press(keys + ENTER)


def waits_for_a_line(screen: Screen, *, after: str) -> None:
    screen.wait_for(lambda text: text.rstrip().rpartition(after)[2].endswith("\n>"))


def choose_from_lists(screen: Screen) -> None:
    """What the interface has screens for."""
    screen.send("/rewind")
    screen.wait_for("Go back to before which turn?")
    screen.wait_for("1 file, +1 -1: Make greet.txt more polite")
    screen.wait_for("Enter for none:")
    answer(screen, b"1")
    waits_for_a_line(screen, after="Undone turn")
    screen.send("/config")
    screen.wait_for("of one to change, or Enter for none:")
    answer(screen, b"ui.keys")
    screen.wait_for("The new value, or Enter")
    answer(screen, b"vim")
    waits_for_a_line(screen, after="`ui.keys` is set")
    screen.send("/config keys.expand ctrl+e")
    waits_for_a_line(screen, after="both use ctrl+e")
    screen.send("/foresight")
    waits_for_a_line(screen, after="Who foresees this project")
    screen.send("/dashboard")
    waits_for_a_line(screen, after="Numbers")
    screen.send("/theme dark")
    waits_for_a_line(screen, after="`theme` is set")
    screen.send("/store")
    waits_for_a_line(screen, after="holds: ")
    screen.send("/trust")
    waits_for_a_line(screen, after="has no instruction files")
    screen.send("/hints")
    waits_for_a_line(screen, after="There are no open hints")
    screen.send("/model")
    screen.wait_for("Which model?")
    screen.wait_for("Enter for none:")
    answer(screen, b"")
    waits_for_a_line(screen, after="Enter for none:")


def edit_lines(screen: Screen) -> None:
    """What the terminal's own editing lacks: the lines of before, and long ones."""
    screen.press(b"/now\x17/draft" + UP)
    screen.wait_for("> /model")
    screen.press(UP)
    screen.wait_for("> /hints")
    screen.press(DOWN + DOWN)
    screen.wait_for(lambda text: text.rstrip().endswith("\n> /draft"))
    screen.press("\x15é日\x7f\x7fx".encode())
    screen.wait_for(lambda text: text.rstrip().endswith("> x"))
    screen.press(b"\x15What is the capital of France? " + b"long " * 1_000 + b"tail", pause_s=0.1)
    screen.press(ENTER)
    screen.wait_for("tail\nIt is **Paris**, on the Seine.\n>")
    screen.press(b"not sent")
    screen.wait_for("> not sent")
    screen.press(CTRL_C)
    screen.wait_for("> not sent\n>")
    screen.press(UP)
    screen.wait_for("> not sent\n>\n> not sent")
    screen.press(b"\x15")


def test_a_dumb_terminal_has_the_whole_conversation_in_lines(desk: Desk):
    greeting = desk.project / "greet.txt"
    greeting.write_text("Hello there\n")
    desk.env["TERM"] = "dumb"
    screen = desk.start()
    screen.wait_for("Ctrl+D quits.")
    screen.send("What is the capital of France?")
    screen.wait_for("It is **Paris**, on the Seine.\n>")
    screen.send("Make greet.txt more polite")
    screen.wait_for("Edit greet.txt?")
    shown = screen.wait_for("a number or a letter:")
    assert "1 - Hello there" in shown
    assert "1 + Good day there" in shown
    # A paste is no answer, and no word of it is lost.
    screen.press(b"y\ry\r")
    screen.wait_for("not one of the answers, so it is kept")
    assert greeting.read_text() == "Hello there\n"
    answer(screen, b"y")
    screen.wait_for("Tool done, +1 -1: edit greet.txt")
    assert greeting.read_text() == "Good day there\n"
    waits_for_a_line(screen, after="It is polite now.")
    while "Not sent: Make greet.txt more polite" not in screen.text:
        before = screen.output.count(b"Undone turn")
        screen.send("/undo")
        screen.wait_until(lambda: screen.output.count(b"Undone turn") > before, what="another is undone")  # noqa: B023
        waits_for_a_line(screen, after="Undone turn")
    assert greeting.read_text() == "Hello there\n"
    screen.send("!echo from the shell")
    screen.wait_for("[Exit code 0")
    screen.send("Make greet.txt more polite")
    screen.wait_for("Edit greet.txt?")
    answer(screen, b"y")
    waits_for_a_line(screen, after="Tool done")
    choose_from_lists(screen)
    edit_lines(screen)
    assert greeting.read_text() == "Hello there\n"
    screen.send("/nosuch")
    screen.wait_for("Unknown command /nosuch.")
    screen.press(CTRL_D)
    assert screen.ended() == 0
    assert "Resume this session with: ragforge -r" in screen.text
    assert b"\x1b" not in screen.output


def test_plain_asks_again_about_a_call_that_waited_and_ctrl_c_ends_a_turn(desk: Desk):
    greeting = desk.project / "greet.txt"
    greeting.write_text("Hello there\n")
    desk.env["EDITOR"] = "sed -i s/day/evening/"
    screen = desk.start("--plain", "Make greet.txt more polite")
    screen.wait_for("a number or a letter:")
    answer(screen, b"e")
    screen.wait_for("1 + Good evening there")
    screen.process.kill(signal.SIGTERM)
    assert screen.ended() == 128 + signal.SIGTERM
    again = desk.start("--plain", "-c")
    again.wait_for("a number or a letter:")
    answer(again, b"w")
    again.wait_for("What should the model do instead?")
    answer(again, b"Leave it.")
    again.wait_for("You said: Leave it.")
    again.wait_for(lambda text: text.rstrip().endswith("\n>"))
    again.send("go on for ever")
    again.wait_for("I begin to count")
    again.press(CTRL_C)
    again.wait_for("Turn interrupted.")
    again.press(CTRL_C)
    again.wait_for("Press Ctrl+C again, or Ctrl+D, to quit.")
    again.press(CTRL_C)
    assert again.ended() == 0
    for one in (screen, again):
        assert b"\x1b" not in one.output


def test_a_proposed_edit_is_edited_before_it_runs_on_a_terminal_that_answers_nothing(desk: Desk):
    greeting = desk.project / "greet.txt"
    greeting.write_text("Hello there\n")
    desk.env["EDITOR"] = "sed -i s/day/evening/"
    screen = desk.start(is_silent=True)
    screen.wait_for("gemini-3.8-flash")
    screen.send("Make greet.txt more polite")
    for key in (b"e", b"y"):
        screen.wait_for("press 1 to 5 or use the arrows")
        screen.press(key)
        screen.wait_for("Good evening there")
    screen.wait_for("It is polite now.")
    assert greeting.read_text() == "Good evening there\n"
