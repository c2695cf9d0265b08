"""The first prompt: it takes the terminal at once, echoes keys, and passes all of them to the interface.

Python takes longer to load the interface than a user to press a key. So the terminal is set up and the prompt
drawn before anything else is imported; a thread reads keys from then on. They are kept as the original bytes
for the interface, which alone interprets them.
"""

import os
import select
import signal
import sys
import termios
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from time import monotonic
from types import FrameType
from typing import Any, NamedTuple, NoReturn

from ragforge.tui.first_prompt.answers import QUESTION, Answers
from ragforge.tui.first_prompt.echo import Echo
from ragforge.tui.first_prompt.picture import Picture, frame, look_of

STANDARD_INPUT, STANDARD_OUTPUT, STANDARD_ERROR = 0, 1, 2
READ_BYTES = 65_536
ESCAPE_S = 0.1
"""What follows Escape later than this is another key, as for Textual."""
ANSWERED_SOON_S = 0.015
"""A local terminal has reported its background by then: the first picture has the right colours."""
ASK_FOR_BRACKETS = b"\x1b[?2004$p"
"""DECRQM of bracketed paste; terminals that do not know the query ignore it."""
_ENTER = b"\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[?2004h"
_LEAVE = b"\x1b[?2004l\x1b[?7h\x1b[0m\x1b[?1049l\x1b[?25h"
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_SIGNALS = (*_STOP_SIGNALS, signal.SIGTSTP, signal.SIGCONT, signal.SIGWINCH)


class Typed(NamedTuple):
    """What was typed before the interface took over: bytes with the time of their read."""

    chunks: Sequence[tuple[bytes, float]]
    answers: Answers
    attributes: list[Any]
    """The previous settings of the terminal."""


class FirstPrompt:
    """The prompt until the interface has the terminal: `begin`, then `hand_over` and `end`, or `leave`."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.asked_to_go: list[int] = []
        """Signals that arrived when the terminal was no longer this one's: they are for the interface."""
        self.answers = Answers(environ)
        self._environ = environ
        self._asked_at_s = monotonic()
        self._in, self._out = STANDARD_INPUT, STANDARD_ERROR  # where Textual reads and draws
        self._echo = Echo()
        self._chunks: list[tuple[bytes, float]] = []
        self._attributes: list[Any] = []
        self._is_drawing = False
        self._is_reading = False
        self._is_dark: bool | None = None
        self._size = os.terminal_size((0, 0))
        self._top = 0
        self._lock = threading.RLock()  # a signal's handler may run while its own thread draws
        self._thread: threading.Thread | None = None
        self._woken, self._wake = os.pipe()

    @property
    def text(self) -> str:
        """What has been typed, as the prompt would hold it."""
        return self._echo.whole

    # From the start to the interface

    def begin(self) -> None:
        """Take the terminal, draw the prompt, and start reading keys. Raises termios.error, OSError."""
        self._attributes = termios.tcgetattr(self._in)
        for number in _SIGNALS:
            signal.signal(number, self._on_signal)
        self._set_raw()
        typed_ahead = b""
        while select.select([self._in], [], [], 0)[0] and (data := os.read(self._in, READ_BYTES)):
            typed_ahead += data
        if typed_ahead:
            self._keep(as_keys(typed_ahead))
        self._enter()
        self._thread = threading.Thread(target=self._read, name="first-prompt", daemon=True)
        self._is_reading = True
        self._thread.start()

    def show_theme(self, setting: str) -> None:
        """Draw in this theme, `dark` or `light`, from now on; `auto` follows the terminal's answer."""
        if setting != "auto":
            with self._lock:
                self._is_dark = setting == "dark"
                self._draw(anew=True)

    def is_dark(self, *, timeout_s: float) -> bool | None:
        """Return whether the background is dark, waiting at most this long after the query."""
        while self.answers.is_expected and self._is_reading and monotonic() - self._asked_at_s < timeout_s:
            threading.Event().wait(0.005)
        return self.answers.is_dark

    def hand_over(self) -> Typed:
        """Stop reading; return what was typed, for the interface. The picture stays until `end`."""
        self._stop_reading()
        return Typed(tuple(self._chunks), self.answers, self._attributes)

    def echo(self, data: bytes) -> None:
        """Draw what the interface reads while it draws nothing itself."""
        with self._lock:
            if self._is_drawing:
                self._echo.feed(data)
                self._draw()

    def end(self) -> None:
        """The interface draws from now on."""
        with self._lock:
            self._is_drawing = False

    def leave(self) -> str:
        """Restore the terminal, unless the interface has it; return what was typed and is nowhere else."""
        if not self._attributes or not self._is_reading:
            return ""
        self._stop_reading()
        self._leave()
        return self.text

    # Signals

    def take_signals(self) -> None:
        """Handle signals again, after something else has taken them."""
        for number in (signal.SIGTSTP, signal.SIGCONT):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        if number == signal.SIGWINCH:
            self._nudge()
        elif number == signal.SIGTSTP:
            self._leave()
            os.kill(os.getpid(), signal.SIGSTOP)
        elif number == signal.SIGCONT:
            self._return()
        elif self._is_reading:
            self._go(number)
        else:
            # An exception might be swallowed here, as in `__del__`: so it is recorded.
            self.asked_to_go.append(number)

    def _go(self, number: int) -> NoReturn:
        """Nothing is open yet that would have to be closed: end at once.

        The reading thread is not joined: it may not have started, or wait for a lock that is held where
        the signal arrived.
        """
        self._is_reading = False
        self._leave()
        say_not_sent(self.text)
        os._exit(128 + number)

    def _return(self) -> None:
        """Return from the shell: the terminal's settings may differ now."""
        if not self._is_reading:
            return
        with suppress(termios.error):
            if not self._is_drawing:
                self._attributes = termios.tcgetattr(self._in)
            self._set_raw()
        self._enter()

    # Reading

    def _read(self) -> None:
        """Store and draw what is typed until reading should stop, or the terminal is gone."""
        while self._is_reading:
            is_begun = self._echo.is_begun or self.answers.is_begun
            try:
                ready, _, _ = select.select([self._in, self._woken], [], [], ESCAPE_S if is_begun else None)
                if not self._is_reading:
                    return
                if self._woken in ready:
                    os.read(self._woken, READ_BYTES)
                    self._draw(anew=True)
                if self._in in ready:
                    if not (data := os.read(self._in, READ_BYTES)):
                        return
                    self._take(data)
                elif not ready:
                    self._take(b"")
            except OSError:
                return  # the terminal is gone; the interface notices that too

    def _take(self, data: bytes) -> None:
        """Process what was read; nothing if nothing has followed a partial key."""
        was_dark = self.answers.is_dark
        self._keep(self.answers.take(data) if data else self.answers.release())
        if not data:
            self._echo.settle()
        self._draw(anew=was_dark != self.answers.is_dark)

    def _keep(self, data: bytes) -> None:
        if data:
            self._chunks.append((data, monotonic()))
            with self._lock:
                self._echo.feed(data)

    def _stop_reading(self) -> None:
        self._is_reading = False
        self._nudge()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _nudge(self) -> None:
        with suppress(OSError):
            os.write(self._wake, b"x")

    # The terminal

    def _set_raw(self) -> None:
        """Keys one by one, none of them a signal, and no echo: like Textual's settings."""
        iflag, oflag, cflag, lflag, ispeed, ospeed, cc = termios.tcgetattr(self._in)
        lflag &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
        iflag &= ~(termios.IXON | termios.IXOFF | termios.ICRNL | termios.INLCR | termios.IGNCR)
        cc = [*cc]
        cc[termios.VMIN] = 1
        termios.tcsetattr(self._in, termios.TCSANOW, [iflag, oflag, cflag, lflag, ispeed, ospeed, cc])

    def _enter(self) -> None:
        """Send the queries, and draw on the second screen."""
        self._asked_at_s = monotonic()
        self._write(_ENTER + (QUESTION if self.answers.is_expected else b"") + ASK_FOR_BRACKETS)
        deadline_s = self._asked_at_s + ANSWERED_SOON_S
        while self.answers.is_expected and self._thread is None:
            ready, _, _ = select.select([self._in], [], [], max(0.0, deadline_s - monotonic()))
            if not ready or not (data := os.read(self._in, READ_BYTES)):
                break
            self._keep(self.answers.take(data))
        with self._lock:
            self._is_drawing = True
            self._draw(anew=True)

    def _leave(self) -> None:
        with self._lock:
            self._is_drawing = False
            self._write(_LEAVE)
            with suppress(termios.error):
                termios.tcsetattr(self._in, termios.TCSANOW, self._attributes)

    def _draw(self, *, anew: bool = False) -> None:
        """Draw the prompt, and on a redraw the screen around it."""
        with self._lock:
            if not self._is_drawing:
                return
            if anew:
                self._size = _size(self._environ)
            columns, lines = self._size
            is_dark = self.answers.is_dark if self._is_dark is None else self._is_dark
            look = look_of(self._environ, is_dark=is_dark)
            picture = frame(self._echo.text, self._echo.cursor, columns=columns, lines=lines, look=look)
            first = 0 if anew else min(self._top, picture.top)
            self._top = picture.top
            self._write(_rows(picture, first=first, columns=columns, lines=lines, ground=look.text))

    def _write(self, data: bytes) -> None:
        with suppress(OSError):  # the terminal is gone
            while data:
                data = data[os.write(self._out, data) :]


_standing: list[FirstPrompt] = []
"""There is one terminal, so at most one prompt."""


def begin(environ: Mapping[str, str]) -> FirstPrompt | None:
    """Return this terminal's prompt, drawn if there was none; None if it is impossible."""
    if not _standing and can_stand(environ):
        first = FirstPrompt(environ)
        _standing.append(first)
        try:
            first.begin()
        except (OSError, termios.error):
            first.leave()
            _standing.clear()
    return _standing[0] if _standing else None


def leave() -> None:
    """Restore the terminal if the interface has not taken it, with what was typed."""
    if _standing:
        say_not_sent(_standing[0].leave())


def can_stand(environ: Mapping[str, str]) -> bool:
    """Whether this is a terminal that can be drawn on."""
    if environ.get("TERM", "dumb") in ("", "dumb", "unknown"):
        return False
    return all(
        stream is not None and stream.isatty() for stream in (sys.__stdin__, sys.__stdout__, sys.__stderr__)
    )


def as_keys(typed: bytes) -> bytes:
    """Convert input from before the terminal's raw mode to the keys that were pressed.

    The terminal turned Enter into a new line then, and Ctrl+D into NUL. Whether several lines were pasted is
    unknown: they become a text, and only an Enter at the end is a key.
    """
    return typed.removesuffix(b"\n").replace(b"\0", b"\x04") + (b"\r" if typed.endswith(b"\n") else b"")


def say_not_sent(text: str) -> None:
    """Print what was typed and is stored nowhere."""
    if text.strip():
        try:
            from ragforge.domain.printable import printable

            shown = printable(text)
        except ImportError:  # a signal arrived while that module was being loaded
            shown = "".join(each for each in text if each.isprintable() or each == "\n")
        with suppress(OSError, ValueError):
            sys.stdout.write(f"Not sent:\n{shown}\n")
            sys.stdout.flush()


def _rows(picture: Picture, *, first: int, columns: int, lines: int, ground: str) -> bytes:
    """Return the picture from a row on, with everything around it empty."""
    empty = f"{ground}{' ' * columns}"
    drawn = dict(enumerate(picture.rows, start=picture.top))
    rows = [f"\x1b[{row + 1};1H{drawn.get(row, empty)}" for row in range(first, lines)]
    return "".join([*rows, "\x1b[0m"]).encode()


def _size(environ: Mapping[str, str]) -> os.terminal_size:
    """Return the terminal's size like Textual: the environment may override it."""
    said = [
        int(value) if value.isdecimal() else 0 for value in map(environ.get, ("COLUMNS", "LINES"), ("", ""))
    ]
    try:
        found = os.get_terminal_size(STANDARD_OUTPUT)
    except OSError:
        found = os.terminal_size((80, 24))
    return os.terminal_size((said[0] or found.columns, said[1] or found.lines))
