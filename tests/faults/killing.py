"""Restores and recoveries in processes of their own, each killed at a point that it is given."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Ended:
    """How a child ended, what it was about to do, and what it came to."""

    status: int
    points: list[str]
    result: dict[str, Any]

    @property
    def was_killed(self) -> bool:
        return os.WIFSIGNALED(self.status) and os.WTERMSIG(self.status) == signal.SIGKILL


class Restorer:
    """Starts the children; see `restorer.py` for what they do."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, what: str, folder: Path, point: int = 0) -> Ended:
        """`apply` or `recover` in the folder; killed before that point, where it comes so far."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{what} {point} {folder}\n")
        self._process.stdin.flush()
        said = json.loads(self._process.stdout.readline())
        ended = Ended(said["status"], said.get("points", []), said.get("result", {}))
        assert ended.was_killed == (0 < point <= len(ended.points)), said
        assert ended.was_killed or ended.status == 0, said
        return ended


@contextmanager
def restoring_children() -> Iterator[Restorer]:
    """The process that they are forked from."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.restorer"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    try:
        yield Restorer(process)
    finally:
        process.kill()
        process.communicate()
