"""What the terminal says of itself, when keys were read, and a terminal that goes."""

import os
import sys
import threading
from typing import Any

import pytest
from textual.app import App
from textual.drivers._writer_thread import WriterThread
from textual.events import Key

from ragforge.tui.terminal_driver import BracketsPastes, InputReader, TerminalDriver, always_brackets


async def test_what_is_drawn_for_a_closed_window_holds_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    window, terminal = os.openpty()
    with os.fdopen(terminal, "w") as file:
        monkeypatch.setattr(sys, "__stderr__", file)
        driver: Any = TerminalDriver(App[None]())
        writer = WriterThread(driver._file)
        writer.start()
        os.close(window)

        def draw() -> None:
            for _ in range(200):
                writer.write("x" * 100)
            writer.stop()

        drawing = threading.Thread(target=draw, daemon=True)
        drawing.start()
        drawing.join(20)
        assert not drawing.is_alive()


async def test_reading_ends_with_the_terminal_also_where_nobody_tells_it_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    window, terminal = os.openpty()
    with os.fdopen(terminal, "w") as file:
        monkeypatch.setattr(sys, "__stderr__", file)
        driver: Any = TerminalDriver(App[None]())
        driver.fileno = terminal
        reading = threading.Thread(target=driver.run_input_thread, daemon=True)
        reading.start()
        os.close(window)
        reading.join(20)
        assert not reading.is_alive()


@pytest.mark.parametrize(("report", "brackets"), [(0, False), (1, True), (2, True), (3, True), (4, False)])
@pytest.mark.parametrize("cut", [0, 5, 9])
def test_the_terminal_says_whether_it_marks_pastes(report: int, cut: int, brackets: bool) -> None:
    reader, answer = InputReader(), f"\x1b[?2004;{report}$y".encode()
    events = [*reader.read(answer[:cut], at_s=1.0), *reader.read(answer[cut:] + b"x", at_s=1.0)]
    assert any(isinstance(event, BracketsPastes) for event in events) == brackets
    assert [key.key for key in events if isinstance(key, Key)] == ["x"]
    assert not any(isinstance(event, BracketsPastes) for event in reader.read(b"y", at_s=2.0))
    list(reader.read(answer, at_s=3.0))
    assert list(reader.read(None, at_s=3.1)) == [], "told once: a look that finds nothing wakes nobody"


def test_keys_have_the_time_at_which_they_were_read() -> None:
    reader = InputReader()
    assert [event.time for event in [*reader.read(b"ab", at_s=7.0), *reader.read(b"\r", at_s=9.0)]] == [
        7,
        7,
        9,
    ]


@pytest.mark.parametrize(
    ("env", "brackets"),
    [
        ({"TMUX": "/tmp/tmux-0/default,1,0", "TERM": "screen-256color"}, True),
        ({"TERM": "tmux-256color"}, True),
        ({"TMUX": "/tmp/tmux-0/default,1,0", "STY": "12.pts-0", "TERM": "screen"}, False),
        ({"TERM": "xterm-256color"}, False),
        ({}, False),
    ],
)
def test_tmux_marks_pastes_though_it_does_not_say_so(env: dict[str, str], brackets: bool) -> None:
    assert always_brackets(env) == brackets
