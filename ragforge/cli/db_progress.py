"""The progress of a backup or a copy: a bar on a terminal, else a line now and then."""

import math
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ragforge.cli.edge import tell
from ragforge.domain import timeouts

if TYPE_CHECKING:  # costs more than all of `ragforge --version`
    from ragforge.store.transfer import Progress, Stage, Tell


@contextmanager
def shown() -> "Generator[Tell, None, None]":
    """Provide the function for reporting progress while the body runs."""
    if not sys.stderr.isatty():
        yield _Lines().show
        return
    with _Bars() as bars:
        yield bars.show


class _Lines:
    """A line now and then; short work is silent."""

    def __init__(self) -> None:
        self._next_at = time.monotonic() + timeouts.PROGRESS_LINE_EVERY_S
        self._stage: Stage | None = None
        self._began_at = self._began_with = 0.0

    def show(self, now: "Progress") -> None:
        """Write a line if it is time."""
        moment = time.monotonic()
        if now.stage is not self._stage:
            self._stage, self._began_at, self._began_with = now.stage, moment, now.done
        if moment >= self._next_at:
            self._next_at = moment + timeouts.PROGRESS_LINE_EVERY_S
            done = f"{_amount(now.done, now)} of {_amount(now.total, now)}"
            tell(f"{now.stage}: {done}{self._left(now, moment)}")

    def _left(self, now: "Progress", moment: float) -> str:
        """Return how long the rest of the stage takes at the pace so far, in words."""
        done, took_s = now.done - self._began_with, moment - self._began_at
        if done <= 0 or took_s < timeouts.PROGRESS_LINE_EVERY_S:
            return ""
        return f", about {duration((now.total - now.done) * took_s / done)} left"


class _Bars:
    """One bar per stage, on standard error: the command's result may go to a file."""

    def __init__(self) -> None:
        # Imported here: only long work needs it.
        from rich import progress
        from rich.console import Console

        self._progress = progress.Progress(
            progress.TextColumn("{task.description:<17}"),
            # However long the server takes for one chunk, this moves: the work has not stopped.
            progress.SpinnerColumn(finished_text=" "),
            progress.BarColumn(bar_width=16),
            progress.TextColumn("{task.fields[amount]}"),
            progress.TimeElapsedColumn(),
            progress.TextColumn("{task.fields[left]}"),
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
            for task in self._tasks.values():
                self._progress.stop_task(task)
            self._tasks[now.stage] = self._progress.add_task(str(now.stage), amount="", left="")
        task = self._tasks[now.stage]
        amount = f"{_amount(now.done, now)} of {_amount(now.total, now)}"
        self._progress.update(task, completed=now.done, total=max(1, now.total), amount=amount)
        left_s = self._progress.tasks[self._progress.task_ids.index(task)].time_remaining
        self._progress.update(task, left=f"about {duration(left_s)} left" if left_s else "")


def _amount(count: int, now: "Progress") -> str:
    """Return records by their number, bytes read of a file by their size."""
    return size(count) if now.in_bytes else f"{count:,}"


def duration(seconds: float) -> str:
    """Return seconds for users, rounded up."""
    seconds = math.ceil(seconds)
    if seconds <= 90:
        return f"{seconds} s"
    if seconds < 90 * 60:
        return f"{math.ceil(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"


def size(count: int) -> str:
    """Return bytes for users."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} bytes"
