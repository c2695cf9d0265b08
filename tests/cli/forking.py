"""Runs of the program as children of a process that has loaded it; see `loaded.py`."""

import asyncio
import atexit
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import gettempdir
from typing import Any
from uuid import uuid4

from tests.cli.loaded import LENGTH_BYTES
from tests.flow.running import environ

ROOT = Path(__file__).parents[2]
PIPE, DEVNULL = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL


class Child:
    """A run, with as much of `asyncio.subprocess.Process` as tests ask for."""

    def __init__(self, answers: socket.socket) -> None:
        self.stdin: asyncio.StreamWriter | None = None
        self.stdout: asyncio.StreamReader | None = None
        self.stderr: asyncio.StreamReader | None = None
        self.pid = 0
        self.returncode: int | None = None
        self._answers = answers

    async def begin(self) -> None:
        """Hear which process it is."""
        self.pid = await self._answer()
        self._end = asyncio.create_task(self._until_end())

    async def _until_end(self) -> int:
        try:
            self.returncode = await self._answer()
        except asyncio.CancelledError:
            # The test is over, and nobody would end it any more.
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            raise
        finally:
            self._answers.close()
        return self.returncode

    async def _answer(self) -> int:
        said = b""
        while not said.endswith(b"\n"):
            more = await asyncio.get_running_loop().sock_recv(self._answers, 1)
            assert more, "the process that forks has ended; it says why on its standard error"
            said += more
        return int(said)

    async def wait(self) -> int:
        return await asyncio.shield(self._end)

    async def communicate(self, given: bytes | None = None) -> tuple[bytes, bytes]:
        """What it says until it ends, having been given no more than this."""
        _, out, err = await asyncio.gather(self._feed(given), _all_of(self.stdout), _all_of(self.stderr))
        await self.wait()
        return out, err

    async def _feed(self, given: bytes | None) -> None:
        if self.stdin is None:
            return
        with suppress(BrokenPipeError, ConnectionResetError):  # it needs no more
            self.stdin.write(given or b"")
            await self.stdin.drain()
        self.stdin.close()

    def send_signal(self, number: int) -> None:
        if self.returncode is not None:
            raise ProcessLookupError(self.pid)
        os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)


async def fork(
    args: list[str],
    *,
    folder: Path,
    env: dict[str, str],
    pipes: dict[str, Any],
    patience: Sequence[str] = (),
) -> Child:
    """A child that runs the program with these arguments, and with nothing of ours but what is given."""
    answers, theirs = socket.socketpair()
    answers.setblocking(False)
    child = Child(answers)
    given, closing = [theirs.fileno()], []
    for name in ("stdin", "stdout", "stderr"):
        match pipes[name]:
            case asyncio.subprocess.PIPE:
                reading, writing = os.pipe()
                its, ours = (reading, writing) if name == "stdin" else (writing, reading)
                setattr(child, name, await _stream(name, ours))
                closing.append(its)
            case asyncio.subprocess.DEVNULL:
                its = os.open(os.devnull, os.O_RDWR)
                closing.append(its)
            case int() as its:
                pass
            case file:
                its = file.fileno()
        given.append(its)
    send_order(given, args=args, folder=folder, env=env, patience=patience)
    for file in closing:
        os.close(file)
    theirs.close()
    await child.begin()
    return child


def send_order(
    files: list[int],
    *,
    args: list[str],
    folder: Path,
    env: Mapping[str, str],
    terminal: bool = False,
    patience: Sequence[str] = (),
) -> None:
    """Have a child forked. files: where to answer, and its standard streams."""
    order = {"args": args, "folder": str(folder), "env": dict(env), "terminal": terminal}
    order["patience"] = list(patience)
    body, orders = json.dumps(order).encode(), _orders()
    socket.send_fds(orders, [str(len(body)).zfill(LENGTH_BYTES).encode()], files)
    orders.sendall(body)


async def _stream(name: str, end: int) -> asyncio.StreamReader | asyncio.StreamWriter:
    loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    if name == "stdin":
        transport, _ = await loop.connect_write_pipe(lambda: protocol, os.fdopen(end, "wb", 0))
        return asyncio.StreamWriter(transport, protocol, reader, loop)
    await loop.connect_read_pipe(lambda: protocol, os.fdopen(end, "rb", 0))
    return reader


async def _all_of(stream: asyncio.StreamReader | None) -> bytes:
    return b"" if stream is None else await stream.read()


@cache
def _orders() -> socket.socket:
    """A connection to the process that forks: one for a whole run, started by whoever needs it first."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", uuid4().hex)
    address = Path(gettempdir(), f"ragforge-{run[:16]}")
    orders = socket.socket(socket.AF_UNIX)
    if not address.exists():
        _start(address)
    orders.connect(str(address))
    atexit.register(orders.close)  # comes before the wait, which was registered first
    return orders


def _start(address: Path) -> None:
    """Start it, unless another process of the run does so at this moment."""
    part = address.with_suffix(f".{os.getpid()}")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(part))
        listening.listen()
        try:
            address.hardlink_to(part)
        except FileExistsError:
            return
        finally:
            part.unlink()
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.cli.loaded", str(address)],
            stdin=listening,
            stdout=subprocess.DEVNULL,
            cwd=ROOT,
            env=environ(Path("/nonexistent"), PYTHONPATH=str(ROOT)),
        )
    atexit.register(process.wait)
