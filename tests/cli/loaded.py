"""A process that has loaded the program and forks a child for each run: what is loaded is loaded once.

`python -m tests.cli.loaded ADDRESS`, with a socket that listens there as its standard input. An order is
eight bytes with its length, sent with four files (where to answer, and the child's standard streams), then
JSON with the arguments, the folder and the environment. The answer is two lines: the child's id, and how it
ended, a signal as a negative number. It ends with the last connection.

Nothing here has run the program, only imported it: a child begins as a started process does.
"""

import fcntl
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import sys
import termios
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import uuid_utils

from ragforge.commands.base import find_verbs
from ragforge.domain.blas import load_numpy
from ragforge.domain.language.base import AnyOf
from ragforge.domain.messages import TextPart
from ragforge.domain.turns import Turn
from ragforge.memory.material import Material
from ragforge.memory.summarise import understand_offline
from ragforge.providers.prices import price_of
from ragforge.tools.base import schema_of
from ragforge.tools.registry import find_tools
from tests.patience import COMMAND, loosen

LENGTH_BYTES = 8
FILES = 4
ORDERS_FD = 0

LOADED = (
    *("httpx2", "httpcore2", "anyio._backends._asyncio", "truststore", "mmap"),
    *("typer._click.decorators", "importlib.resources.readers"),
    *("keyring", "tomlkit", "tree_sitter", "tree_sitter_bash", "rich.console", "typer.rich_utils"),
)
"""What runs import by and by beside the program. Nothing of it starts a thread or keeps what it finds in the
environment."""

INTERFACE = "ragforge.tui"
"""What runs in a terminal import beside."""


@dataclass(frozen=True, slots=True)
class Order:
    """A run: its standard streams, its arguments, and where it runs."""

    streams: list[int]
    args: list[str]
    folder: str
    env: dict[str, str]
    terminal: bool = False
    """Whether the streams are a terminal that is to be its own."""
    patience: Sequence[str] = ()
    """What has more time than the program gives itself, beside COMMAND."""


def main() -> None:
    load()
    listening = socket.socket(fileno=os.dup(ORDERS_FD))
    at_start = signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl+C is for the tests
    if (order := serve(listening, Path(sys.argv[1]))) is None:
        return
    signal.signal(signal.SIGINT, at_start)
    become(order)
    from ragforge.__main__ import main as run

    run()


def load() -> None:
    """Import, make patterns ready, and leave all that out of every later collection."""
    load_numpy()
    for name in (*LOADED, *(each for each in modules("ragforge") if not each.startswith(INTERFACE))):
        importlib.import_module(name)
    for tool in find_tools().values():  # each is a module
        schema_of(tool.args_type)
    # Else each child would build and read them, for half of what its turn takes.
    turn = Turn("turn", "session", None, 0, (TextPart("We use tabs."),), datetime.now(UTC))
    understand_offline(Material(turn, "project"))
    price_of("no model", turn.started_at)
    find_verbs()
    # A busy machine is slow everywhere; what the tests expect is what is said and done where it is not.
    loosen(COMMAND)
    for found in gc.get_objects():
        if isinstance(found, AnyOf):
            found.search("")
    assert threading.active_count() == 1, threading.enumerate()
    gc.collect()
    gc.freeze()


def modules(package: str) -> list[str]:
    """All of the package, by name; their packages are imported."""
    path = importlib.import_module(package).__path__
    return [each.name for each in pkgutil.walk_packages(path, f"{package}.")]


@cache
def load_interface() -> None:
    """Import what only runs in a terminal need, at the first of them."""
    for name in modules(INTERFACE):
        importlib.import_module(name)
    assert threading.active_count() == 1, threading.enumerate()
    gc.collect()
    gc.freeze()


def serve(listening: socket.socket, address: Path) -> Order | None:
    """Fork for each order; the order in a child, None in this process when there are no more."""
    woken, waking = os.pipe()
    os.set_blocking(waking, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waking)
    clients = [listening.accept()[0]]
    running: dict[int, socket.socket] = {}
    while True:
        ready, _, _ = select.select([listening, woken, *clients], [], [])
        if woken in ready:
            os.read(woken, 4_096)
            tell_ended(running)
        if listening in ready:
            clients.append(listening.accept()[0])
        for client in [each for each in clients if each in ready]:
            if (found := next_order(client)) is None:
                clients.remove(client)
                client.close()
                if not clients and is_over(listening, address):
                    return None
                continue
            order, answers = found
            if order.terminal:
                load_interface()
            if (child := os.fork()) == 0:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for end in (listening, answers, *clients, *running.values()):
                    end.close()
                for end in (woken, waking):
                    os.close(end)
                return order
            for stream in order.streams:
                os.close(stream)
            answers.sendall(f"{child}\n".encode())
            running[child] = answers


def is_over(listening: socket.socket, address: Path) -> bool:
    """Whether nobody connects any more: who finds no address starts a process of their own."""
    address.unlink(missing_ok=True)
    return not select.select([listening], [], [], 0)[0]


def next_order(orders: socket.socket) -> tuple[Order, socket.socket] | None:
    """The next order and where to answer it; None when there are no more."""
    length, files, _, _ = socket.recv_fds(orders, LENGTH_BYTES, FILES)
    if not length:
        return None
    body = b""
    while len(body) < int(length):
        body += orders.recv(int(length) - len(body))
    said: dict[str, Any] = json.loads(body)
    answers, *streams = files
    for file in files:
        os.set_inheritable(file, False)
    return Order(streams, **said), socket.socket(fileno=answers)


def tell_ended(running: dict[int, socket.socket]) -> None:
    """Answer how children ended."""
    while running:
        child, status = os.waitpid(-1, os.WNOHANG)
        if child == 0:
            return
        with running.pop(child) as answers, suppress(OSError):  # the test has ended without waiting
            answers.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def become(order: Order) -> None:
    """Be the process that was ordered."""
    loosen(order.patience)
    for number, stream in enumerate(order.streams):
        os.dup2(stream, number)
        os.close(stream)
    if order.terminal:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        before = getattr(sys, f"__{name}__")
        new = open(  # noqa: SIM115 - a stream of the process
            number,
            "w" if number else "r",
            encoding=before.encoding,
            errors=before.errors,
            newline="\n",
            closefd=False,
        )
        new.reconfigure(line_buffering=number == 2 or new.isatty())
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)
    os.chdir(order.folder)
    os.environ.clear()
    os.environ.update(order.env)
    time.tzset()
    sys.argv[:] = ["ragforge", *order.args]
    sys.modules["__main__"].__package__ = None  # a script's, which is called by its name in messages
    uuid_utils.reseed_rng()


if __name__ == "__main__":
    main()
