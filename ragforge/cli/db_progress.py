"""How far a backup or a copy is: a bar on a terminal, else a line now and then."""

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ragforge.cli.edge import tell

if TYPE_CHECKING:  # costs more than all of `ragforge --version`
    from ragforge.store.transfer import Progress, Stage, Tell

LINE_EVERY_S = 2.0
"""Where there is no terminal, a line is written this often at most."""


@contextmanager
def shown() -> "Generator[Tell, None, None]":
    """What is to be told how far it is, while the body runs."""
    if not sys.stderr.isatty():
        yield _Lines().show
        return
    with _Bars() as bars:
        yield bars.show


class _Lines:
    """A line now and then; short work is silent."""

    def __init__(self) -> None:
        self._next_at = time.monotonic() + LINE_EVERY_S

    def show(self, now: "Progress") -> None:
        """Write a line if it is time."""
        if time.monotonic() >= self._next_at:
            self._next_at = time.monotonic() + LINE_EVERY_S
            tell(f"{now.stage}: {_amount(now.done, now)} of {_amount(now.total, now)}")


class _Bars:
    """One bar a stage, on standard error: what the command says at its end may go to a file."""

    def __init__(self) -> None:
        # Imported here: only long work needs it.
        from rich import progress
        from rich.console import Console

        self._progress = progress.Progress(
            progress.TextColumn("{task.description:<17}"),
            progress.BarColumn(),
            progress.TextColumn("{task.fields[amount]}"),
            progress.TimeRemainingColumn(),
            console=Console(stderr=True),
            redirect_stdout=False,
        )
        self._tasks: dict[Stage, progress.TaskID] = {}

    def __enter__(self) -> "_Bars":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def show(self, now: "Progress") -> None:
        """Move the stage's bar. May be called from any thread."""
        if now.stage not in self._tasks:
            self._tasks[now.stage] = self._progress.add_task(str(now.stage), amount="")
        amount = f"{_amount(now.done, now)} of {_amount(now.total, now)}"
        self._progress.update(
            self._tasks[now.stage], completed=now.done, total=max(1, now.total), amount=amount
        )


def _amount(count: int, now: "Progress") -> str:
    """Records by their number, what is read of a file by its size."""
    return size(count) if now.in_bytes else f"{count:,}"


def size(count: int) -> str:
    """Bytes for people."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} bytes"
