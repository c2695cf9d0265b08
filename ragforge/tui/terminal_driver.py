"""How the interface reads from its terminal, and writes to it."""

import math
import os
import re
import selectors
import signal
from codecs import getincrementaldecoder
from collections.abc import Iterable, Mapping, Sequence
from time import monotonic
from typing import IO, Any, cast

from textual._xterm_parser import XTermParser
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.events import Paste
from textual.message import Message

from ragforge.tui.first_prompt.answers import Answers
from ragforge.tui.first_prompt.prompt import ASK_FOR_BRACKETS, ESCAPE_S, FirstPrompt

POLL_S = 0.1
READ_BYTES = 4096
BUSY_S = 1.0
"""How long after its first picture the interface still loads what it needs."""
TYPED_S, TYPED_BYTES_MAX = 0.03, 400
"""The fastest typing, and the most that is typed before the interface is up."""
_PICTURE_BEGIN, _PICTURE_END = "\x1b[?2026h", "\x1b[?2026l"
"""https://gist.github.com/christianparpart/d8a62cc1ab659194337d73e399004036"""
_SECOND_SCREEN = "\x1b[?1049h"
_REPORT = re.compile(r"\x1b\[\?2004;([0-4])\$y")
_REPORT_CHARS_MAX = 12
_PASTE_BEGIN, _PASTE_END = b"\x1b[200~", b"\x1b[201~"
_LINE_END = re.compile(rb"[\r\n]")
_ESCAPE_AND_KEY = re.compile(rb"\x1b(?=[^\x00-\x20\x7f\[\]OPX^_\\])")
"""Escape before what starts no sequence of the terminal."""
_SEQUENCE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~])?")
"""A control sequence, as those for colours (ECMA-48, 5.4), or Escape alone."""
_SEQUENCE_BEGUN = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*)?\Z")
_SEQUENCE_BYTES_MAX = 32
_CAN = frozenset("123")
"""Set, reset, always set; else it is unknown or never set. https://vt100.net/docs/vt510-rm/DECRPM.html"""


class BracketsPastes(Message):
    """The terminal marks where a paste starts and ends."""


class TerminalDriver(LinuxDriver):
    """Textual's driver, which also ends when the terminal is gone, and learns how the terminal pastes.

    Textual's writing thread dies of the first error, and later writes wait for it for ever: a closed
    window left the process behind.
    """

    def __init__(
        self,
        app: App[Any],
        *,
        first: FirstPrompt | None = None,
        env: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        """first: the prompt that has the terminal until the app starts."""
        cast(Any, super()).__init__(app, **options)
        self._file = cast(IO[str], _WhileThere(self._file))
        self._env = os.environ if env is None else env
        self._first = first
        self._typed: Sequence[tuple[bytes, float]] = ()
        self._answers: Answers | None = None
        self._is_taking_over = False
        self.parts_escape = False
        """As in `InputReader`."""
        self._busy_until_s = math.inf if first else 0.0
        """Until then, input may have arrived long before it is read."""
        self._held: list[str] | None = None
        """Pending output: pictures without what has been typed."""
        if first:
            first.take_signals()  # Textual's handlers would leave a screen that it has not entered

    def start_application_mode(self) -> None:
        """Enter the second screen; at the start, take the terminal over as it is."""
        if self._first is None or self._answers is not None:
            super().start_application_mode()
            return
        typed = self._first.hand_over()
        self._typed, self._answers = typed.chunks, typed.answers
        self._take_signals()
        self._is_taking_over = True
        super().start_application_mode()
        self._is_taking_over = False
        self.attrs_before = typed.attributes
        self._held = []

    def _take_signals(self) -> None:
        textual = cast(Any, self)
        signal.signal(signal.SIGTSTP, textual._sigtstp_application)
        signal.signal(signal.SIGCONT, textual._sigcont_application)

    def stop_application_mode(self) -> None:
        """Leave the second screen."""
        self.show()
        super().stop_application_mode()

    def show(self) -> None:
        """Draw from now on, in place of the first prompt."""
        held, self._held = self._held, None
        if self._first and held is not None:
            self._busy_until_s = monotonic() + BUSY_S
            self._first.end()
            # As one picture, in terminals that support synchronised output; others ignore the marks.
            whole = "".join(held).replace(_PICTURE_BEGIN, "").replace(_PICTURE_END, "")
            self.write(f"{_PICTURE_BEGIN}{whole}{_PICTURE_END}")

    def write(self, data: str) -> None:
        """Write it, or keep it until the interface should be shown."""
        if self._is_taking_over and data == _SECOND_SCREEN:
            return  # entering it again would clear it
        if self._held is None:
            super().write(data)
        else:
            self._held.append(data)

    def _enable_bracketed_paste(self) -> None:
        super()._enable_bracketed_paste()
        self.write(ASK_FOR_BRACKETS.decode())
        if always_brackets(self._env):
            self.process_message(BracketsPastes())

    def run_input_thread(self) -> None:
        """Read until the app ends or the terminal is gone. Each event has the time of its read."""
        reader = InputReader(debug=self._debug, answers=self._answers)
        typed, self._typed = self._typed, ()
        for event in reader.replay(typed):
            self.process_message(event)
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            is_last = False
            while not is_last:
                is_last = self.exit_event.is_set()  # earlier input is read too
                data = self._read_some() if selector.select(POLL_S) else None
                if data == b"":
                    # Its end is always ready to be read: this thread would keep a processor busy, and the
                    # process from ending.
                    return
                if data and self._held is not None and self._first:
                    self._first.echo(data)
                reader.parts_escape = self.parts_escape
                for event in reader.read(data, at_s=monotonic(), is_late=monotonic() < self._busy_until_s):
                    self.process_message(event)

    def _read_some(self) -> bytes:
        """Return what the terminal sent; empty if it is gone."""
        try:
            return os.read(self.fileno, READ_BYTES)
        except OSError:
            return b""


class InputReader:
    """Makes events of what the terminal sends."""

    def __init__(self, *, debug: bool = False, answers: Answers | None = None) -> None:
        """answers: pending answers to the first prompt's queries."""
        self._answers = answers
        self.parts_escape = False
        """Escape and a character are two keys, as in Vim, however quickly they follow each other, and never
        Alt with the character."""
        self._pastes = _Pastes()
        self._pasted: list[str] = []
        """The unfinished paste."""
        self._last = b""
        """An Escape that was read last: the key that follows may come in the next part."""
        self._parser = XTermParser(debug)
        self._decode = getincrementaldecoder("utf-8")("replace").decode
        self._end = ""
        """The rest of earlier input: a report may come in two parts."""

    def read(self, data: bytes | None, *, at_s: float, is_late: bool = False) -> Iterable[Message]:
        """Return the events of these bytes, read at this time. None: nothing came for a while.

        is_late: they may have come earlier, one by one, while this machine was busy.
        """
        if self._answers:
            data = self._answers.take(data) if data else self._answers.release()
        if not data:
            yield from self._parsed(None, at_s=at_s)
            return
        for typed in self._beside_pastes(data):
            if self.parts_escape:
                yield from self._read_in_parts(typed, at_s=at_s)
            elif is_late:
                yield from self._read_late(typed, at_s=at_s)
            else:
                yield from self._parsed(typed, at_s=at_s)

    def _beside_pastes(self, data: bytes) -> Iterable[bytes]:
        """Yield what is not pasted, with the marks of pastes. Pasted text is kept for the event of its end.

        Textual's parser takes half a second for each megabyte of it, character by character.
        """
        for part, is_pasted in self._pastes.parts(data):
            if is_pasted:
                self._pasted.append(self._decode(part))
            elif part:
                yield part

    def _read_late(self, data: bytes, *, at_s: float) -> Iterable[Message]:
        """Return the events of one line, and of an Enter after it, at plausible times of typing.

        By the time of their read they would be a paste. Anything more is unchanged, because nobody knows.
        """
        if len(data) > TYPED_BYTES_MAX or _LINE_END.search(data[:-1]):
            yield from self._parsed(data, at_s=at_s)
            return
        events = list(self._parsed(data, at_s=at_s))
        for after, event in enumerate(reversed(events)):
            event.time = at_s - after * TYPED_S
        yield from events

    def _read_in_parts(self, data: bytes, *, at_s: float) -> Iterable[Message]:
        whole, done = self._last + data, len(self._last)
        for escape in _ESCAPE_AND_KEY.finditer(whole):
            yield from self._parsed(whole[done : escape.end()], at_s=at_s)
            yield from self._escape(at_s=at_s)
            done = escape.end()
        yield from self._parsed(whole[done:], at_s=at_s)
        self._last = whole[-1:] if whole.endswith(b"\x1b") else b""

    def replay(self, chunks: Sequence[tuple[bytes, float]]) -> Iterable[Message]:
        """Yield the events of earlier input, each chunk with the time of its read."""
        whole = b"".join(data for data, _ in chunks)
        if self._reports_brackets(whole.decode("utf-8", "replace")):
            yield BracketsPastes()  # first: else an Enter after typed-ahead text would be taken for text
        read = b""
        before_s = 0.0
        for data, at_s in chunks:
            if at_s - before_s > ESCAPE_S and read.endswith(b"\x1b") and not _is_pasting(read):
                yield from self._escape(at_s=before_s)
            for typed in self._beside_pastes(data):
                yield from self._read_late(typed, at_s=at_s)
            read, before_s = (read + data)[-READ_BYTES:], at_s

    def _escape(self, *, at_s: float) -> Iterable[Message]:
        """Return the key Escape, which nothing has followed in time."""
        parser = cast(Any, self._parser)
        if parser._timeout_time is not None:  # else it was reported already
            parser._timeout_time = float("-inf")  # as if it had passed
            yield from self._parsed(None, at_s=at_s)

    def _parsed(self, data: bytes | None, *, at_s: float) -> Iterable[Message]:
        text = self._decode(data) if data else ""
        found = list(self._parser.feed(text)) if text else []
        found += self._parser.tick()
        found = [self._whole(event) if isinstance(event, Paste) else event for event in found]
        for event in found:
            event.time = at_s
        if self._reports_brackets(text):
            found.append(BracketsPastes())
        yield from found

    def _whole(self, paste: Paste) -> Paste:
        """Return the paste with the text kept for it."""
        text, self._pasted = "".join(self._pasted), []
        return Paste(text.replace("\x00", "") + paste.text)

    def _reports_brackets(self, text: str) -> bool:
        seen = self._end + text
        reports = list(_REPORT.finditer(seen))
        # Reported once: rereading it at each check would wake the interface ten times a second.
        self._end = seen[reports[-1].end() if reports else 0 :][-_REPORT_CHARS_MAX + 1 :]
        return any(report[1] in _CAN for report in reports)


class _Pastes:
    """Removes control sequences from pastes: Textual would read them as keys, Enter among them."""

    def __init__(self) -> None:
        self._is_open = False
        self._tail = b""
        """Inside a paste, the possible start of a sequence that is held back; else that of a mark."""

    def parts(self, data: bytes) -> Iterable[tuple[bytes, bool]]:
        """Return the bytes without them, in parts, and whether each was pasted; without the marks of a paste.

        What may continue in the next part is returned with that.
        """
        while True:
            whole = self._tail + data
            begin, found, rest = whole.partition(_PASTE_END if self._is_open else _PASTE_BEGIN)
            sent = 0 if self._is_open else len(self._tail)
            if not found:
                break
            if self._is_open:
                yield _SEQUENCE.sub(b"", begin), True
                yield found, False
            else:
                yield (begin + found)[sent:], False
            self._is_open, self._tail, data = not self._is_open, b"", rest
        if self._is_open:
            begun = _SEQUENCE_BEGUN.search(whole, max(0, len(whole) - _SEQUENCE_BYTES_MAX))
            self._tail = begun[0] if begun else b""
            yield _SEQUENCE.sub(b"", whole[: len(whole) - len(self._tail)]), True
        else:
            self._tail = whole[-len(_PASTE_BEGIN) + 1 :]
            yield whole[sent:], False


def _is_pasting(read: bytes) -> bool:
    return read.rfind(_PASTE_BEGIN) > read.rfind(_PASTE_END)


def always_brackets(env: Mapping[str, str]) -> bool:
    """Whether this is tmux, which has bracketed paste and does not answer the query.

    Not if GNU screen runs in it.
    """
    in_tmux = bool(env.get("TMUX")) or env.get("TERM", "").startswith("tmux")
    return in_tmux and not env.get("STY")


class _WhileThere:
    """A file that swallows what can no longer be written."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> int:
        """Write it, or drop it."""
        try:
            return self._file.write(text)
        except OSError:
            return len(text)

    def flush(self) -> None:
        """Flush it, or do nothing."""
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
