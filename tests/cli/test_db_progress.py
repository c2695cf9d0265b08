"""What is told while a backup or a copy goes on, in a real terminal and outside of one."""

import asyncio
import os
import pty
import re
import sys
from collections.abc import Iterator

import pytest

from ragforge.cli.db_progress import duration

# The work: two stages, of which the second is silent for long after its first steps.
WORK = """
import sys
from ragforge.cli.db_progress import shown
from ragforge.store.transfer import Progress, Stage
with shown() as tell:
    for done in (0, 500_000, 1_000_000):
        tell(Progress(Stage.CHECK, done, 1_000_000))
    tell(Progress(Stage.MOVE, 0, 50_208))
    tell(Progress(Stage.MOVE, 10_000, 50_208))
    sys.stdin.readline()
"""
DEADLINE_S = 60
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    ours, theirs = pty.openpty()
    yield ours, theirs
    os.close(ours)


async def test_what_is_shown_moves_while_nothing_arrives(terminal: tuple[int, int]) -> None:
    ours, theirs = terminal
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", WORK), stdin=asyncio.subprocess.PIPE, stderr=theirs,
        env=os.environ | {"COLUMNS": "80", "TERM": "xterm-256color"},
    )  # fmt: skip
    os.close(theirs)
    shown: set[str] = set()
    async with asyncio.timeout(DEADLINE_S):
        # Frames of the silent stage that differ: its clock or its wheel goes on.
        while len(shown) < 12:
            text = (await asyncio.to_thread(os.read, ours, 65_536)).decode(errors="ignore")
            lines = CONTROL.sub("", text).replace("\r", "\n").split("\n")
            shown |= {line.rstrip() for line in lines if line.startswith("copying") and "10,000 of" in line}
        assert process.stdin is not None
        process.stdin.write(b"\n")
        await process.stdin.drain()
        assert await process.wait() == 0
    assert all("10,000 of 50,208" in line for line in shown)
    assert max(map(len, shown)) <= 80


def test_what_remains_is_told_in_the_unit_that_fits() -> None:
    assert [duration(seconds) for seconds in (0, 0.2, 89.1, 91, 3600, 7200)] == [
        *("0 s", "1 s", "90 s", "2 min", "60 min", "2.0 h"),
    ]
