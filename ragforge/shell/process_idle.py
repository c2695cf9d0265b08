"""Moments in which nothing that this process started ran, so that any change then was somebody else's.

A command that waits (`sleep`, a server, a test that talks to one) is idle for seconds. The kernel counts
how often each thread was scheduled; if none of them was between two samples, no process of the
command wrote anything in between. This needs no privileges. Linux only, and only if the kernel counts and
shows the processes of all users: elsewhere nothing counts as idle. Nor after the clock was set back, because
the time of a change no longer says when it happened.

What a process outside the tree writes for a command (a container's, a daemon's that was there before)
counts as somebody else's too.

Source: proc(5), hidepid, /proc/pid/mountinfo, /proc/pid/task/tid/schedstat and stat.
"""

import asyncio
import os
import time
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, field

from ragforge.domain import timeouts
from ragforge.shell.process import MARKER, own_marker, shells, starts

PROC = Path("/proc")
MARGIN_NS = 30_000_000
"""File systems use the time of the last clock tick, up to 10 ms ago; and a sample takes a moment."""
CLOCK_SLACK_NS = 10_000_000
"""How far the clock may seem to go back, because two clocks are read one after the other."""
LOCAL = frozenset(("ext2", "ext3", "ext4", "xfs", "btrfs", "tmpfs", "zfs", "f2fs", "overlay", "bcachefs"))
"""File systems whose times are of this machine's clock."""


def clock_offset() -> tuple[int, int]:
    """Return bounds of the clock's lead over one that is never set, in nanoseconds."""
    before = time.monotonic_ns()
    clock = time.time_ns()
    return clock - time.monotonic_ns(), clock - before


class Idle(Struct):
    """Moments in which no process of this program's commands ran, in nanoseconds since 1970.

    offset: the largest lead of the clock over one that is never set. was_set_back: the clock was, so two
    moments may have the same time.
    """

    begins: list[int] = field(default_factory=list[int])
    ends: list[int] = field(default_factory=list[int])
    offset: int = field(default_factory=lambda: clock_offset()[0])
    was_set_back: bool = False

    def look_at_clock(self) -> None:
        """Detect whether the clock was set back since the last sample."""
        least, most = clock_offset()
        self.was_set_back = self.was_set_back or most < self.offset - CLOCK_SLACK_NS
        self.offset = max(self.offset, least)

    def add(self, begin: int, end: int) -> None:
        """Add a moment after the existing ones, or extend the last one."""
        if self.begins and begin == self.begins[-1]:
            self.ends[-1] = end
        else:
            self.begins.append(begin)
            self.ends.append(end)

    def covers(self, at: int) -> bool:
        """Whether nothing ran then, with a margin on both sides."""
        self.look_at_clock()
        if self.was_set_back:
            return False
        place = bisect_right(self.begins, at - MARGIN_NS) - 1
        return place >= 0 and at + MARGIN_NS <= self.ends[place]


async def watch(idle: Idle) -> None:
    """Record idle moments, until this is cancelled."""
    if not counts_runs():
        return
    last, since_ns = None, 0
    while True:
        idle.look_at_clock()
        began_ns = time.time_ns()
        counts = await asyncio.to_thread(run_counts)
        if counts is None or counts != last:
            last, since_ns = counts, time.time_ns()
        else:
            idle.add(since_ns, began_ns)
        await asyncio.sleep(timeouts.PROCESS_IDLE_POLL_S)


def counts_runs(proc: Path = PROC) -> bool:
    """Whether the kernel counts scheduling, and shows the processes of all users.

    Some kernels are built without, and report 0 or nothing; and /proc may be mounted so that processes of
    another user, as with sudo, are hidden.
    """
    try:
        own = proc / "self"
        return int((own / "schedstat").read_bytes().split()[2]) > 0 and not _hides(
            (own / "mountinfo").read_text(encoding="utf-8", errors="replace")
        )
    except (OSError, ValueError, IndexError):
        return False


def _hides(mounts: str) -> bool:
    """Whether a /proc among these mounts hides the processes of others. Raises ValueError."""
    for line in mounts.splitlines():
        fields = line.split()
        kind, _, options = fields[fields.index("-") + 1 :]
        hidden = {option for option in options.split(",") if option.startswith("hidepid=")}
        if kind == "proc" and hidden - {"hidepid=0", "hidepid=off"}:
            return True
    return False


def has_own_clock(folder: Path) -> bool:
    """Whether the times of files there are from this machine's clock, as far as known."""
    try:
        lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        device = folder.stat().st_dev
    except OSError:
        return False
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in lines:
        fields = line.split()
        # btrfs gives its folders numbers of their own, which no mount has: then it is unknown.
        if fields[2] == wanted:
            return fields[fields.index("-") + 1] in LOCAL
    return False


def run_counts() -> dict[str, bytes] | None:
    """Count per thread of all commands how often it ran; None while one runs, or if that is unknown.

    Includes how many commands were started, because one may start and end between two samples.
    """
    if (started := starts()) is None:
        return None
    counts = {"commands started": str(started).encode()}
    try:
        for process in _of_commands():
            for thread in (process / "task").iterdir():
                if _state(thread) in b"RD":  # a thread that waits for a disk may be writing
                    return None
                counts[f"{process.name}/{thread.name}"] = (thread / "schedstat").read_bytes()
    except OSError:  # also if it has just ended: then it ran meanwhile
        return None
    return counts


_ENDED = (FileNotFoundError, ProcessLookupError)


def _of_commands() -> Iterator[Path]:
    """Return this process's shells, processes with a command's marker, and all their descendants.

    Not other descendants of this process, such as an editor for the prompt.

    Raises OSError if a process cannot be inspected: it may be one of them.
    """
    mark = f"{MARKER}={own_marker()}".encode()
    parents: dict[int, int] = {}
    commands = set(shells())
    for process in PROC.iterdir():
        if not process.name.isdigit():
            continue
        with suppress(*_ENDED):
            parents[int(process.name)] = int((process / "stat").read_bytes().rpartition(b")")[2].split()[1])
        with suppress(OSError):  # another user's
            if mark in (process / "environ").read_bytes():
                commands.add(int(process.name))
    for pid in parents:
        above = pid
        while above not in commands and above in parents:
            above = parents[above]
        if above in commands:
            yield PROC / str(pid)


def _state(thread: Path) -> bytes:
    return (thread / "stat").read_bytes().rpartition(b")")[2].split(maxsplit=1)[0]
