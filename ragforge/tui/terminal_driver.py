"""How the interface reads from its terminal, and writes to it."""

import os
import re
import selectors
from codecs import getincrementaldecoder
from collections.abc import Iterable, Mapping
from time import monotonic
from typing import IO, Any, cast

from textual._xterm_parser import XTermParser
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

POLL_S = 0.1
READ_BYTES = 4096
ASK_FOR_BRACKETS = "\x1b[?2004$p"
"""DECRQM of the mode; terminals that do not know the question leave it alone."""
_REPORT = re.compile(r"\x1b\[\?2004;([0-4])\$y")
_REPORT_CHARS_MAX = 12
_CAN = frozenset("123")
"""Set, reset, always set; else it is unknown or never set. https://vt100.net/docs/vt510-rm/DECRPM.html"""


class BracketsPastes(Message):
    """The terminal says where a paste begins and ends."""


class TerminalDriver(LinuxDriver):
    """Textual's driver, which also ends when the terminal is gone, and learns how the terminal pastes.

    Textual's writing thread dies of the first error, and what is written then waits for it for ever: a window
    that was closed left the process behind.
    """

    def __init__(self, app: App[Any], *, env: Mapping[str, str] | None = None, **options: Any) -> None:
        cast(Any, super()).__init__(app, **options)
        self._file = cast(IO[str], _WhileThere(self._file))
        self._env = os.environ if env is None else env

    def _enable_bracketed_paste(self) -> None:
        super()._enable_bracketed_paste()
        self.write(ASK_FOR_BRACKETS)
        if always_brackets(self._env):
            self.process_message(BracketsPastes())

    def run_input_thread(self) -> None:
        """Read until the app ends or the terminal is gone. Each event has the time of its read."""
        reader = InputReader(debug=self._debug)
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            is_last = False
            while not is_last:
                is_last = self.exit_event.is_set()  # what came until then is read too
                data = self._read_some() if selector.select(POLL_S) else None
                if data == b"":
                    # Its end is always ready to be read: this thread would keep a processor busy, and the
                    # process from ending.
                    return
                for event in reader.read(data, at_s=monotonic()):
                    self.process_message(event)

    def _read_some(self) -> bytes:
        """What the terminal sent; empty if it is gone."""
        try:
            return os.read(self.fileno, READ_BYTES)
        except OSError:
            return b""


class InputReader:
    """Makes events of what the terminal sends."""

    def __init__(self, *, debug: bool = False) -> None:
        self._parser = XTermParser(debug)
        self._decode = getincrementaldecoder("utf-8")("replace").decode
        self._end = ""
        """Of what was read before: a report may come in two parts."""

    def read(self, data: bytes | None, *, at_s: float) -> Iterable[Message]:
        """The events of these bytes, read at this time. None: nothing came for a while."""
        text = self._decode(data) if data else ""
        found = list(self._parser.feed(text)) if text else []
        found += self._parser.tick()
        for event in found:
            event.time = at_s
        if self._reports_brackets(text):
            found.append(BracketsPastes())
        return found

    def _reports_brackets(self, text: str) -> bool:
        seen = self._end + text
        self._end = seen[-_REPORT_CHARS_MAX + 1 :]
        return any(report[1] in _CAN for report in _REPORT.finditer(seen))


def always_brackets(env: Mapping[str, str]) -> bool:
    """Whether this is tmux, which has bracketed paste and does not answer when it is asked.

    Not where GNU screen runs in it.
    """
    in_tmux = bool(env.get("TMUX")) or env.get("TERM", "").startswith("tmux")
    return in_tmux and not env.get("STY")


class _WhileThere:
    """A file that swallows what can no longer be written."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> int:
        """Write it, or let it go."""
        try:
            return self._file.write(text)
        except OSError:
            return len(text)

    def flush(self) -> None:
        """Flush it, or let it go."""
        try:
            self._file.flush()
        except OSError:
            return

    def fileno(self) -> int:
        """The terminal's own."""
        return self._file.fileno()

    def isatty(self) -> bool:
        """Whether it was a terminal."""
        return self._file.isatty()
