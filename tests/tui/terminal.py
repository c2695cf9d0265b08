"""A real terminal around a program, its screen read by pyte."""

import os
import sys
import threading
from collections.abc import Callable, Mapping
from time import monotonic, sleep

import pyte
from ptyprocess import PtyProcess


class Terminal:
    """A program in a pseudo-terminal. Close it, or the test leaves a process behind."""

    def __init__(self, argv: list[str], *, env: Mapping[str, str], rows: int = 24, columns: int = 80) -> None:
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._lock = threading.Lock()
        self._read_off: str | None = None
        full = {**os.environ, "TERM": "xterm-256color", **env}
        self.process = PtyProcess.spawn(argv, dimensions=(rows, columns), env=full)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while True:
            try:
                data = self.process.read(65536)
            except (EOFError, OSError):
                return
            # pyte takes the answers to Kitty's keyboard protocol for text.
            for unknown in (b"\x1b[>25u", b"\x1b[<u"):
                data = data.replace(unknown, b"")
            with self._lock:
                self._stream.feed(data)
                self._read_off = None

    @property
    def text(self) -> str:
        with self._lock:
            # Asked for fifty times a second while a test waits, and made in milliseconds.
            if self._read_off is None:
                self._read_off = "\n".join(line.rstrip() for line in self._screen.display)
            return self._read_off

    def write(self, data: bytes) -> None:
        self.process.write(data)

    def wait(self, condition: str | Callable[[str], object], *, timeout_s: float = 30.0) -> str:
        """The screen, once it holds the words or fits the condition."""
        deadline_s = monotonic() + timeout_s
        while True:
            text = self.text
            if condition in text if isinstance(condition, str) else condition(text):
                return text
            if monotonic() > deadline_s:
                raise AssertionError(f"after {timeout_s} s still not: {condition}\n{text}")
            sleep(0.02)

    def close(self) -> None:
        self.process.terminate(force=True)


def python_app(source: str) -> list[str]:
    """The command that runs this source."""
    return [sys.executable, "-c", source]
