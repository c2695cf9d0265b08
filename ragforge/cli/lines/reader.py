"""Lines as they are typed or pasted, read beside everything else that runs."""

import asyncio
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import monotonic

from msgspec import Struct

PASTE_S = 0.05
"""Lines that follow each other faster are one paste, and so one message."""
TERMINAL_LINE_BYTES_MAX = 4095
"""A terminal that edits lines itself drops what is typed beyond (Linux, N_TTY_BUF_SIZE)."""


class Typed(Struct, frozen=True):
    """What was sent with Enter, or pasted. at_s, before_s: when it began to come, and what came before it."""

    text: str
    at_s: float
    before_s: float
    is_cut: bool = False
    """The terminal may have dropped the end of a line."""


class LineReader:
    """Hands what is typed to `take`, and None at the end of the input (Ctrl+D)."""

    def __init__(self, terminal: int, take: Callable[[Typed | None], None]) -> None:
        self._terminal = terminal
        self._take = take
        self._data = bytearray()
        self._began_s = self._last_s = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Read from now on."""
        asyncio.get_running_loop().add_reader(self._terminal, self._read)

    def stop(self) -> None:
        """Read no more; what came whole is handed over."""
        asyncio.get_running_loop().remove_reader(self._terminal)
        self._hand_over()

    @contextmanager
    def lent(self) -> Generator[None]:
        """The terminal is another program's meanwhile."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    def _read(self) -> None:
        try:
            data = os.read(self._terminal, 65_536)
        except OSError:
            data = b""  # the terminal has gone
        if not data and not self._data:
            self.stop()
            self._take(None)
            return
        if not self._data:
            self._began_s = monotonic()
        self._data += data or b"\n"  # Ctrl+D behind words sends them
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(PASTE_S, self._hand_over)

    def _hand_over(self) -> None:
        whole, newline, rest = self._data.rpartition(b"\n")
        if not newline:
            return
        self._data = bytearray(rest)
        is_cut = any(len(line) >= TERMINAL_LINE_BYTES_MAX for line in whole.split(b"\n"))
        before_s, self._last_s = self._last_s, monotonic()
        self._take(Typed(whole.decode("utf-8", "replace"), self._began_s, before_s, is_cut))
