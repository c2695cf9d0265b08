"""A password that is asked for where a user sits."""

import sys

from tests.terminal.screen import ENTER, Desk, flags_of_a_new_one

ASKED = """
import sys, termios
from ragforge.cli.login import ask_password

class Watched:
    def __init__(self, stream):
        self.stream, self.hidden = stream, []

    def write(self, text):
        if "Password" in text:
            self.hidden.append(not termios.tcgetattr(0)[3] & termios.ECHO)
        return self.stream.write(text)

    def __getattr__(self, name):
        return getattr(self.stream, name)

sys.stderr = Watched(sys.stderr)
print(f"got {ask_password()[::-1]}, hidden: {sys.stderr.hidden}")
"""


def test_a_password_is_hidden_by_the_time_it_is_asked_for(bare_desk: Desk) -> None:
    screen = bare_desk.start(argv=[sys.executable, "-c", ASKED])
    screen.wait_for("Password (not shown):")
    screen.press(b"hunter2" + ENTER)
    # Who sees the question types at once: that must neither be shown nor be thrown away.
    screen.wait_for("got 2retnuh, hidden: [True]")
    assert screen.ended() == 0
    assert "hunter2" not in screen.text
    assert screen.flags() == flags_of_a_new_one()
