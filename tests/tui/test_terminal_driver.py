"""What the terminal says of itself, when keys were read, and a terminal that goes."""

import os
import sys
import threading
from time import monotonic, process_time
from typing import Any

import pytest
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.drivers._writer_thread import WriterThread
from textual.events import Key, Paste

from ragforge.tui.terminal_driver import (
    READ_BYTES,
    BracketsPastes,
    InputReader,
    TerminalDriver,
    always_brackets,
)
from ragforge.tui.widgets.paste import Burst


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


def test_a_line_that_is_read_late_was_typed_and_several_are_left_as_they_are() -> None:
    for data, is_typed in (
        (b"how wide\r", True),
        (b"\r", True),
        (b"one\rtwo\r", False),
        (b"ab" * 250, False),
    ):
        times = [event.time for event in InputReader().read(data, at_s=12.5, is_late=True)]
        burst = Burst()
        pasted = [burst.text_key(char, at_s) for char, at_s in zip(data.decode(), times, strict=True)]
        assert any(pasted) is not is_typed
        assert times[-1] == 12.5


def test_keys_have_the_time_at_which_they_were_read() -> None:
    reader = InputReader()
    assert [event.time for event in [*reader.read(b"ab", at_s=7.0), *reader.read(b"\r", at_s=9.0)]] == [
        7,
        7,
        9,
    ]


@pytest.mark.parametrize(
    ("chunks", "keys"),
    [
        ([b"\x1bdw"], ["escape", "d", "w"]),
        ([b"a\x1b0", b"\x1bb"], ["a", "escape", "0", "escape", "b"]),
        ([b"\x1b", b"$"], ["escape", "dollar_sign"]),
        ([b"\x1b\x1bh"], ["escape", "escape", "h"]),
        ([b"\x1b[A\x1bOP\x1b\x7f"], ["up", "f1", "ctrl+w"]),
        ([b"\x1b", b"[A"], ["up"]),
        ([b"\x1b[200~a\x1bd", b"w\x1b[201~x\x1bd"], ["x", "escape", "d"]),
        ([b"\x1b[20", b"0~", b"a" * 9_000, b"\x1bd\x1b[2", b"01~\x1bd"], ["escape", "d"]),
    ],
)
def test_with_vims_keys_escape_is_a_key_of_its_own_however_quickly_another_follows(
    chunks: list[bytes], keys: list[str]
) -> None:
    reader = InputReader()
    reader.parts_escape = True
    now = monotonic()
    events = [event for chunk in chunks for event in reader.read(chunk, at_s=now)]
    assert [event.key for event in events if isinstance(event, Key)] == keys


def test_an_escape_that_was_told_already_is_told_once() -> None:
    reader = InputReader()
    reader.parts_escape = True
    events = list(reader.read(b"\x1b", at_s=1.0))
    while not events:  # a sequence could go on
        events += reader.read(None, at_s=1.0)
    events += reader.read(b"dw", at_s=2.0)
    assert [event.key for event in events if isinstance(event, Key)] == ["escape", "d", "w"]


def test_without_them_alt_and_a_letter_is_one_key() -> None:
    reader = InputReader()
    events = list(reader.read(b"\x1bz", at_s=1.0))
    while not events:  # a sequence could go on
        events += reader.read(None, at_s=1.0)
    assert [event.key for event in events if isinstance(event, Key)] == ["alt+z"]


@pytest.mark.parametrize("parts_escape", [False, True])
@pytest.mark.parametrize(
    ("pasted", "text"),
    [
        (b"a\x1b[31mred\x1b[0m z", "ared z"),
        (b"a\x1b\rb\x1by\x1b[A", "a\rby"),
        (b"\x1b[200~nested", "nested"),
        ("漢字\x1b[1;32m🎉".encode(), "漢字🎉"),
        (b"no escape at all", "no escape at all"),
        (b"[2 of 3] [201", "[2 of 3] [201"),
    ],
)
def test_what_is_pasted_presses_no_key_wherever_it_is_cut(
    pasted: bytes, text: str, *, parts_escape: bool
) -> None:
    sent = b"x\x1b[200~" + pasted + b"\x1b[201~y"
    for at in range(1, len(sent)):
        reader = InputReader()
        reader.parts_escape = parts_escape
        chunks = [(sent[:at], 1.0), (sent[at:], 1.0)]
        read = [event for data, at_s in chunks for event in reader.read(data, at_s=at_s)]
        for events in (read, list(InputReader().replay(chunks))):
            keys = [event.key for event in events if isinstance(event, Key)]
            if (
                1 < at < 7
            ):  # within the mark that begins it, Escape may be a key: nothing has followed in time
                keys = [key for key in keys if len(key) == 1]
            assert keys == ["x", "y"], at
            assert [event.text for event in events if isinstance(event, Paste)] == [text], at


def test_five_megabytes_that_are_pasted_are_not_read_character_by_character() -> None:
    line = b"the quick brown fox jumps over the lazy dog\r"
    pasted = line * (5_000_000 // len(line))
    sent = b"\x1b[200~" + pasted + b"\x1b[201~"
    began_s, reader = process_time(), InputReader()
    chunks = (sent[at : at + READ_BYTES] for at in range(0, len(sent), READ_BYTES))
    [paste] = [event for chunk in chunks for event in reader.read(chunk, at_s=1.0)]
    ours_s, began_s = process_time() - began_s, process_time()
    [*XTermParser().feed("\x1b[200~" + pasted[:500_000].decode() + "\x1b[201~")]
    assert isinstance(paste, Paste)
    assert paste.text.encode() == pasted
    assert ours_s < process_time() - began_s, "all of it in less than Textual takes for a tenth"


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
