"""Line editing: echo, corrections and history; nothing is redrawn.

The terminal's own editing has no history and drops what is longer than 4,095 bytes, so it is switched off.
"""

import re
import termios
from codecs import getincrementaldecoder
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from rich.cells import cell_len

from ragforge.tui.widgets.history import Walk

_KEYS = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.)|[^\x00-\x1f\x7f]+|[\s\S]")
"""A key with a name, a run of text, or a control character."""
_BEGUN = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|O)?$")
"""What may be the first part of a key with a name."""
_UP, _DOWN = ("\x1b[A", "\x1bOA", "\x10"), ("\x1b[B", "\x1bOB", "\x0e")
_LAST_WORD = re.compile(r"\S*\s*$")
END = "\x04"


class LineEditor:
    """Makes lines from keys."""

    def __init__(self, echo: Callable[[str], None], before: Callable[[], Sequence[str]]) -> None:
        """echo: prints what is typed. before: the previous lines, newest first, if any are wanted."""
        self.line = ""
        self.prompt = ""
        """The text before the line, printed again with a previous one."""
        self._echo = echo
        self._before = before
        self._walk = Walk()
        self._held = ""
        self._decode = getincrementaldecoder("utf-8")("replace").decode

    def feed(self, data: bytes) -> list[str]:
        """Return the lines that ended with this; each but an END is without its newline."""
        text, ended, shown = self._held + self._decode(data), list[str](), list[str]()
        begun = _BEGUN.search(text)
        self._held = begun[0] if begun else ""
        parts: list[str] = []  # of the line: a long one arrives in many
        for key in _KEYS.findall(text[: len(text) - len(self._held)]):
            if (key >= " " and key != "\x7f") or key == "\t":
                parts.append(key)
                shown.append(key)
                continue
            self.line, parts = self.line + "".join(parts), []
            if key in "\r\n" or (key == END and self.line):
                ended.append(self.line)
                shown.append("\n")
                self.clear()
            elif key == END:
                ended.append(END)
            else:
                shown.append(self._edited(key))
        self.line += "".join(parts)
        self._echo("".join(shown))
        return ended

    def settle(self) -> None:
        """Nothing has followed an incomplete key: it was another one."""
        self._held = ""

    def clear(self) -> str:
        """Start a new line; return the previous one."""
        line, self.line = self.line, ""
        self._walk.end()
        return line

    def _edited(self, key: str) -> str:
        """Process the key; return what to print for it."""
        match key:
            case "\x7f" | "\b":
                return self._erased(1)
            case "\x17":
                found = _LAST_WORD.search(self.line.rstrip()) if self.line.strip() else None
                return self._erased(len(self.line) - (found.start() if found else 0))
            case "\x15":
                return self._erased(len(self.line))
            case _ if key in _UP or key in _DOWN:
                return self._walked(1 if key in _UP else -1)
            case _:
                return ""

    def _erased(self, count: int) -> str:
        kept = len(self.line) - min(count, len(self.line))
        columns = cell_len(self.line[kept:].replace("\t", ""))
        self.line = self.line[:kept]
        return "\b \b" * columns

    def _walked(self, by: int) -> str:
        """Return the previous line on a line of its own: nothing is overwritten."""
        found = self._walk.step(by, leaving=self.line, entries=self._before())
        if found is None:
            return ""
        self.line = found
        return f"\n{self.prompt}{found}"


class RawTerminal:
    """Switches the terminal's own editing and echo off, and on again; signal keys stay on."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self._before: list[Any] | None = None

    def take(self) -> None:
        """Receive every key as it is pressed, if this is a terminal."""
        with suppress(termios.error):
            before = termios.tcgetattr(self._terminal)
            now = [*before]
            now[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
            termios.tcsetattr(self._terminal, termios.TCSADRAIN, now)
            self._before = before

    def give_back(self) -> None:
        """Restore the previous state."""
        if self._before is not None:
            with suppress(termios.error):
                termios.tcsetattr(self._terminal, termios.TCSADRAIN, self._before)
            self._before = None
