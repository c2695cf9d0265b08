"""Read typed and pasted lines, in parallel to everything else."""

import asyncio
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import monotonic

from msgspec import Struct

from ragforge.cli.lines.line_editor import END, LineEditor, RawTerminal

PASTE_S = 0.05
"""Lines that follow each other faster are one paste, and so one message."""


class Typed(Struct, frozen=True):
    """What was sent with Enter, or pasted. at_s: when its first key came. before_s: the one before."""

    text: str
    at_s: float
    before_s: float


class LineReader:
    """Passes input to `take`, and None at the end of the input (Ctrl+D)."""

    def __init__(self, terminal: int, editor: LineEditor, take: Callable[[Typed | None], None]) -> None:
        self._terminal = terminal
        self._raw = RawTerminal(terminal)
        self._editor = editor
        self._take = take
        self._lines: list[str] = []
        self._began_s = self._last_s = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Start reading."""
        self._raw.take()
        asyncio.get_running_loop().add_reader(self._terminal, self._read)

    def stop(self) -> None:
        """Stop reading; complete lines are passed on."""
        asyncio.get_running_loop().remove_reader(self._terminal)
        self._raw.give_back()
        self._hand_over()

    @contextmanager
    def lent(self) -> Generator[None]:
        """Give the terminal to another program for the duration."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    def _read(self) -> None:
        try:
            data = os.read(self._terminal, 65_536)
        except OSError:
            data = b""  # the terminal is gone
        if not self._lines and not self._editor.line:
            self._began_s = monotonic()
        lines = self._editor.feed(data) if data else [*filter(None, [self._editor.clear()]), END]
        is_last = END in lines
        self._lines += lines[: lines.index(END)] if is_last else lines
        if self._timer is not None:
            self._timer.cancel()
        if is_last:
            self.stop()
            self._take(None)
        else:
            self._timer = asyncio.get_running_loop().call_later(PASTE_S, self._hand_over)

    def _hand_over(self) -> None:
        self._editor.settle()
        if not self._lines:
            return
        whole, self._lines = "\n".join(self._lines), []
        before_s, self._last_s = self._last_s, monotonic()
        began_s, self._began_s = self._began_s, self._last_s
        self._take(Typed(whole, began_s, before_s))
