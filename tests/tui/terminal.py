"""A real terminal around a program, its screen read by pyte."""

import os
import sys
import threading
from collections.abc import Callable, Mapping

from ptyprocess import PtyProcess

from tests.terminal.emulator import Emulator


class Terminal:
    """A program in a pseudo-terminal. Close it, or the test leaves a process behind."""

    def __init__(self, argv: list[str], *, env: Mapping[str, str], rows: int = 24, columns: int = 80) -> None:
        self._emulator = Emulator(rows=rows, columns=columns)
        full = {**os.environ, "TERM": "xterm-256color", **env}
        self.process = PtyProcess.spawn(argv, dimensions=(rows, columns), env=full)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            while True:
                if answer := self._emulator.feed(self.process.read(65536)):
                    self.write(answer)
        except (EOFError, OSError, ValueError):  # ValueError: closed meanwhile
            self._emulator.ended()

    @property
    def text(self) -> str:
        return self._emulator.text

    def write(self, data: bytes) -> None:
        self.process.write(data)

    def wait(self, condition: str | Callable[[str], object], *, timeout_s: float = 120.0) -> str:
        """The screen, once it holds the words or fits the condition."""
        return self._emulator.wait_for(condition, timeout_s=timeout_s)

    def close(self) -> None:
        self.process.terminate(force=True)


def python_app(source: str) -> list[str]:
    """The command that runs this source."""
    return [sys.executable, "-c", source]
