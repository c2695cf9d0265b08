"""The installed program in a real pseudo-terminal, its screen read by pyte."""

import os
import pty
import queue
import re
import select
import signal
import socket
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from ptyprocess import PtyProcess

from tests.cli.forking import send_order
from tests.flow.running import environ
from tests.terminal.emulator import TIMEOUT_S, Emulator

COMMAND = str(Path(sys.executable).parent / "ragforge")
OPEN = "Type a message, or /help"
"""What greets in a new session, once it is open: keys are its own."""
LOADED = "ragforge, loaded"
"""In the place of a command: the program, forked from a process that has loaded it, which is quicker."""
ROWS, COLUMNS = 30, 100
# What a terminal must not be left in.
ALTERNATE, CURSOR, PASTE = 1049, 25, 2004
MOUSE = (1000, 1002, 1003, 1006, 1015, 1016)
_MODE = re.compile(rb"\x1b\[\?([0-9;]+)([hl])")

UP, DOWN, ENTER, ESCAPE = b"\x1b[A", b"\x1b[B", b"\r", b"\x1b"
CTRL_C, CTRL_D, CTRL_Z = b"\x03", b"\x04", b"\x1a"


class ForkedPty(PtyProcess):
    """The program in a terminal, forked from a process that has loaded it; see `tests.cli.loaded`."""

    _answers: socket.socket

    @classmethod
    def fork(
        cls, args: list[str], *, env: Mapping[str, str], cwd: Path, size: tuple[int, int]
    ) -> "ForkedPty":
        ours, terminal = pty.openpty()
        termios.tcsetwinsize(terminal, size)
        answers, theirs = socket.socketpair()
        send_order([theirs.fileno(), *[terminal] * 3], args=args, folder=cwd, env=env, terminal=True)
        os.close(terminal)
        theirs.close()
        process = cls(_line(answers), ours)
        process._answers = answers
        return process

    def isalive(self) -> bool:
        if not self.terminated and select.select([self._answers], [], [], 0)[0]:
            code = _line(self._answers)
            self._answers.close()
            self.terminated = True
            self.exitstatus, self.signalstatus = (code, None) if code >= 0 else (None, -code)
        return not self.terminated

    def wait(self) -> None:
        while self.isalive():
            select.select([self._answers], [], [])


def flags_of_a_new_one() -> list[Any]:
    """What a terminal is set to before a program, which may be quick, sets it."""
    ours, terminal = pty.openpty()
    try:
        return _flags(ours)
    finally:
        os.close(ours)
        os.close(terminal)


def _flags(terminal: int) -> list[Any]:
    return termios.tcgetattr(terminal)[:4]


def _line(answers: socket.socket) -> int:
    """The next number that is answered."""
    said = b""
    while not said.endswith(b"\n"):
        more = answers.recv(1)
        assert more, "the process that forks has ended; it says why on its standard error"
        said += more
    return int(said)


class Screen:
    """A program in a terminal of its own. Close it, or the test leaves a process behind."""

    def __init__(
        self,
        argv: list[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        brackets_pastes: bool = True,
        columns: int = COLUMNS,
        rows: int = ROWS,
        is_silent: bool = False,
    ) -> None:
        """is_silent: the terminal answers nothing that it is asked."""
        self.columns = columns
        self._is_silent = is_silent
        self._emulator = Emulator(rows=rows, columns=columns, brackets_pastes=brackets_pastes)
        self._is_leaving = False
        self.pressing = threading.RLock()
        """Who holds it keeps the terminal's answers back: they never come in the middle of a paste."""
        self._answers: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._asked = self._told = 0
        self.output = b""
        known = {} if is_silent else {"COLORFGBG": "15;0"}
        full = {"TERM": "xterm-256color", **known, "LANG": "C.UTF-8", **env}
        self.process = (
            PtyProcess.spawn(argv, dimensions=(rows, columns), env=full, cwd=str(cwd))
            if argv[0] != LOADED
            else ForkedPty.fork(argv[1:], env=full, cwd=cwd, size=(rows, columns))
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        # A thread of its own: while answers are kept back, the program is read all the same.
        threading.Thread(target=self._answer, daemon=True).start()

    def _answer(self) -> None:
        with suppress(OSError, ValueError):  # closed meanwhile
            while answer := self._answers.get():
                self.press(answer)
                self._told += 1

    def _read(self) -> None:
        try:
            while not self._is_leaving:
                data = self.process.read(65536)
                self.output += data
                answer = self._emulator.feed(data)
                if answer and not self._is_silent:
                    self._asked += 1
                    self._answers.put(answer)
        except (EOFError, OSError, ValueError):  # ValueError: closed meanwhile
            pass
        finally:
            self._answers.put(b"")
            self._emulator.ended()

    @property
    def text(self) -> str:
        return self._emulator.text

    @property
    def unwrapped(self) -> str:
        """The text with lines that were too long for the screen put together again."""
        return "".join(line if len(line) == self.columns else line + "\n" for line in self.text.split("\n"))

    def wait_for(self, condition: str | Callable[[str], Any], *, timeout_s: float = TIMEOUT_S) -> str:
        """The screen, once it holds the words or fits the condition."""
        return self._emulator.wait_for(condition, timeout_s=timeout_s)

    def wait_until(self, fact: Callable[[], Any], *, what: str = "the fact") -> None:
        deadline_s = monotonic() + TIMEOUT_S
        while not fact():
            if monotonic() > deadline_s:
                raise AssertionError(f"after {TIMEOUT_S} s still not: {what}\n{self.text}")
            sleep(0.02)

    def wait_until_answered(self) -> None:
        """Until the program has been told all that it had asked by the time of what the screen shows."""
        self.wait_until(lambda: self._told == self._asked, what="the terminal has answered")

    def press(self, *parts: bytes, pause_s: float = 0.0) -> None:
        """Press keys. Between parts of one nothing else is sent, such as an answer of the terminal."""
        with self.pressing:
            for part in parts:
                self.process.write(part)
                sleep(pause_s)

    def type(self, text: str) -> None:
        """Type into the prompt, and see it there."""
        self.press(text.encode())
        self.wait_for(lambda screen: text in screen)

    def send(self, text: str) -> None:
        """Type a message and send it."""
        self.type(text)
        self.press(ENTER)

    def click(self, words: str) -> None:
        """Click on the words, wherever they are."""
        lines = self.wait_for(words).split("\n")
        [y] = [number for number, line in enumerate(lines, 1) if words in line][:1]
        x = lines[y - 1].index(words) + 2
        self.press(f"\x1b[<0;{x};{y}M\x1b[<0;{x};{y}m".encode())

    def flags(self) -> list[Any]:
        """What the terminal itself is set to."""
        return _flags(self.process.fd)

    def modes(self) -> dict[int, bool]:
        """The terminal's private modes as they were switched last."""
        found = _MODE.findall(self.output)
        return {int(mode): switch == b"h" for modes, switch in found for mode in modes.split(b";")}

    def assert_restored(self) -> None:
        """The terminal is as the shell left it."""
        modes = self.modes()
        left_on = [mode for mode in (ALTERNATE, PASTE, *MOUSE) if modes.get(mode)]
        assert left_on == []
        assert modes.get(CURSOR, True)
        assert self.flags() == flags_of_a_new_one()

    def close_window(self) -> None:
        """Take the terminal away from the program."""
        self._is_leaving = True
        self.press(b"x")  # is drawn, and so the reading comes to its end
        self._reader.join(TIMEOUT_S)
        self.process.fileobj.close()

    def ended(self) -> int:
        """The exit code, once the program has gone; minus the signal that killed it."""
        self.wait_until(lambda: not self.process.isalive(), what="the program ended")
        self._reader.join(TIMEOUT_S)
        code = self.process.exitstatus
        return -(self.process.signalstatus or 0) if code is None else code

    def close(self) -> None:
        if self.process.isalive():
            self.process.kill(signal.SIGKILL)
            self.process.wait()
        self.process.close()


class Desk:
    """A user's folder and settings, in which programs are started one after another."""

    def __init__(self, tmp_path: Path, *, model: str = "", env: Mapping[str, str] | None = None) -> None:
        self.project = tmp_path / "project"
        self.project.mkdir(exist_ok=True)
        self.config = tmp_path / "config"
        self.data = tmp_path / "data"
        self.env = environ(tmp_path) | ({"RAGFORGE_MODEL": model} if model else {}) | dict(env or {})
        self._open: list[Screen] = []

    def start(
        self,
        *args: str,
        argv: list[str] | None = None,
        brackets_pastes: bool = True,
        columns: int = COLUMNS,
        rows: int = ROWS,
        is_silent: bool = False,
    ) -> Screen:
        screen = Screen(
            argv or [LOADED, *args],
            env=self.env,
            cwd=self.project,
            brackets_pastes=brackets_pastes,
            columns=columns,
            rows=rows,
            is_silent=is_silent,
        )
        self._open.append(screen)
        return screen

    def configure(self, toml: str) -> None:
        self.config.mkdir(exist_ok=True)
        (self.config / "config.toml").write_text(toml)

    def close(self) -> None:
        for screen in self._open:
            screen.close()


@contextmanager
def stand_in(script: Path) -> Iterator[str]:
    """The URL of a Gemini stand-in that runs as a process."""
    command = [sys.executable, "-m", "tests.standins.gemini", "--script", str(script)]
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=root, env={**os.environ}
    ) as process:
        assert process.stdout
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
