"""Whether the terminal's background is dark, asked before Textual owns the terminal. Needs no Textual."""

import os
import re
import select
import termios
import tty
from collections.abc import Mapping
from time import monotonic

from msgspec import Struct

from ragforge.domain import timeouts

_ANSWER_BYTES_MAX = 4096
# The second question, which every terminal answers, ends the wait where the first is not understood.
_QUESTION = b"\x1b]11;?\x1b\\\x1b[c"
_COLOR = re.compile(
    rb"\x1b\]11;rgba?:([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})/([0-9a-fA-F]{1,4})[^\x07\x1b]*(?:\x07|\x1b\\)"
)
_ATTRIBUTES = re.compile(rb"\x1b\[\?[0-9;]*c")


class Background(Struct, frozen=True):
    """What the terminal told: None where it did not. `typed` was typed meanwhile and must not be lost."""

    is_dark: bool | None
    typed: bytes = b""


def ask_background(environ: Mapping[str, str], *, timeout_s: float | None = None) -> Background:
    """The background by `COLORFGBG`, else by asking the terminal (OSC 11).

    May be called in a thread while Textual is being imported, never once its app runs.
    """
    if (told := from_colorfgbg(environ.get("COLORFGBG", ""))) is not None:
        return Background(told)
    # A dumb terminal prints the question; GNU screen swallows it and the answer.
    if environ.get("TERM", "dumb") in {"dumb", "linux"} or environ.get("TERM", "").startswith("screen."):
        return Background(None)
    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        return Background(None)
    try:
        return _ask(terminal, timeout_s=timeouts.TERMINAL_ANSWER_S_MAX if timeout_s is None else timeout_s)
    except (OSError, termios.error):
        return Background(None)
    finally:
        os.close(terminal)


def from_colorfgbg(value: str) -> bool | None:
    """Is the background of `15;0` dark? None where it does not say."""
    last = value.rpartition(";")[2]
    if not last.isdigit():
        return None
    return int(last) not in {7, *range(9, 16)}


def from_answer(answer: bytes) -> bool | None:
    """Is the colour that the terminal answered dark? None where there is no colour in it."""
    found = _COLOR.search(answer)
    if found is None:
        return None
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in found.groups())
    return 0.299 * red + 0.587 * green + 0.114 * blue < 0.5


def _ask(terminal: int, *, timeout_s: float) -> Background:
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal, termios.TCSANOW)
        os.write(terminal, _QUESTION)
        answer = b""
        deadline_s = monotonic() + timeout_s
        while not _ATTRIBUTES.search(answer) and len(answer) < _ANSWER_BYTES_MAX:
            ready, _, _ = select.select([terminal], [], [], max(0.0, deadline_s - monotonic()))
            if not ready:
                break
            answer += os.read(terminal, 1024)
    finally:
        termios.tcsetattr(terminal, termios.TCSANOW, before)
    return Background(from_answer(answer), _ATTRIBUTES.sub(b"", _COLOR.sub(b"", answer)))
