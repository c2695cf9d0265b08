"""Asking a real terminal (a pseudo-terminal that answers) for its background."""

import sys

import ptyprocess
import pytest

ASK = """
from ragforge.tui.background import ask_background
found = ask_background({"TERM": "xterm-256color"}, timeout_s=%s)
print("told", found.is_dark, found.typed, flush=True)
"""


def terminal(timeout_s: float) -> ptyprocess.PtyProcess:
    return ptyprocess.PtyProcess.spawn([sys.executable, "-c", ASK % timeout_s])


def read_until(process: ptyprocess.PtyProcess, ending: bytes) -> bytes:
    seen = b""
    while ending not in seen:
        seen += process.read(1024)
    return seen


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (b"\x1b]11;rgb:1515/1717/1b1b\x1b\\\x1b[?62;4c", b"told True b''"),
        (b"\x1b]11;rgb:fbfb/fbfb/f9f9\x07\x1b[?1;2c", b"told False b''"),
        (b"\x1b[?62c", b"told None b''"),
        (b"ab\x1b]11;rgb:00/00/00\x07cd\x1b[?62c", b"told True b'abcd'"),
    ],
)
def test_the_terminal_answers_and_what_was_typed_meanwhile_is_kept(answer: bytes, told: bytes) -> None:
    process = terminal(timeout_s=20)
    read_until(process, b"\x1b[c")
    process.write(answer)
    assert told in read_until(process, b"'\r\n")
    process.wait()


def test_a_terminal_that_does_not_answer_holds_nothing_up() -> None:
    process = terminal(timeout_s=0.05)
    assert b"told None b''" in read_until(process, b"'\r\n")
    process.wait()
