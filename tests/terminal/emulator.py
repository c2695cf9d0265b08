"""What a program draws, as the user would see it: whole pictures only."""

import re
import threading
from collections.abc import Callable
from time import monotonic, sleep
from typing import Any

import pyte

TIMEOUT_S = 120.0
# A terminal that says that it can hold a picture back until it is whole is told where each begins and ends
# (https://gist.github.com/christianparpart/d8a62cc1ab659194337d73e399004036).
_CAN_IT, _IT_CAN = b"\x1b[?2026$p", b"\x1b[?2026;2$y"
# Modern terminals say too that they mark where a paste begins and ends (DECRQM, DECRPM).
_BRACKETS, _IT_BRACKETS = b"\x1b[?2004$p", b"\x1b[?2004;1$y"
_BEGIN, _END = b"\x1b[?2026h", b"\x1b[?2026l"
# pyte takes the Kitty protocol's answers for text, and has no second screen.
_KITTY = re.compile(rb"\x1b\[[<>=][0-9;]*u")
_SECOND_SCREEN_LEFT, _CLEARED = b"\x1b[?1049l", b"\x1b[2J\x1b[H"
# A control sequence of which the end is still to come.
_CUT_OFF = re.compile(rb"\x1b(\[[0-9;:?<>=$ ]*)?$")


class Emulator:
    """A terminal's screen. Bytes may come cut anywhere; a picture half drawn is never shown.

    brackets_pastes: whether it marks pastes, and says so.
    """

    def __init__(self, *, rows: int, columns: int, brackets_pastes: bool = True) -> None:
        self._brackets_pastes = brackets_pastes
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._lock = threading.Lock()
        self._held = b""
        self._read_off: str | None = None

    def feed(self, data: bytes) -> bytes:
        """Draw what has come, and have what the terminal answers."""
        with self._lock:
            held = self._held + data
            answer = _IT_CAN * (held.count(_CAN_IT) - self._held.count(_CAN_IT))
            if self._brackets_pastes:
                answer += _IT_BRACKETS * (held.count(_BRACKETS) - self._held.count(_BRACKETS))
            whole = _drawable(held)
            self._draw(held[:whole])
            self._held = held[whole:]
        return answer

    def ended(self) -> None:
        """Nothing more comes: what was held back is drawn."""
        with self._lock:
            self._draw(self._held)
            self._held = b""

    def _draw(self, data: bytes) -> None:
        if data:
            self._stream.feed(_KITTY.sub(b"", data).replace(_SECOND_SCREEN_LEFT, _CLEARED))
            self._read_off = None

    @property
    def text(self) -> str:
        with self._lock:
            # Asked for fifty times a second while a test waits, and made in milliseconds.
            if self._read_off is None:
                self._read_off = "\n".join(line.rstrip() for line in self._screen.display)
            return self._read_off

    def wait_for(self, condition: str | Callable[[str], Any], *, timeout_s: float = TIMEOUT_S) -> str:
        """The screen, once it holds the words or fits the condition."""
        deadline_s = monotonic() + timeout_s
        while True:
            text = self.text
            if condition in text if isinstance(condition, str) else condition(text):
                return text
            if monotonic() > deadline_s:
                raise AssertionError(f"after {timeout_s} s still not: {condition!r}\n{text}")
            sleep(0.02)


def _drawable(data: bytes) -> int:
    """Until where the bytes are whole: before a picture or a sequence that is cut off."""
    begun = data.rfind(_BEGIN)
    if begun >= 0 and data.find(_END, begun) < 0:
        return begun
    cut = _CUT_OFF.search(data)
    return cut.start() if cut else len(data)
