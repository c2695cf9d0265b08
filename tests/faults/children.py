"""Jobs in child processes that meet faults of the system, each forked from one that has loaded the program.

`with children(base) as forked:` starts that process with the shim of `shim.py`; `forked.run("turn", folder,
fault, ...)` is one child, which does the job of that name in `jobs.py`.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.faults.shim import Fault, shim_environ, shim_library


@dataclass(frozen=True)
class Ended:
    """How a child ended, the system calls that matched its fault, in order, and what the job returned."""

    status: int
    calls: list[str] = field(default_factory=list)
    result: Any = None
    error: str = ""
    """Of an exception that the job does not expect: its traceback."""

    @property
    def was_killed(self) -> bool:
        return os.WIFSIGNALED(self.status) and os.WTERMSIG(self.status) == signal.SIGKILL


class Children:
    """Starts the children, one at a time."""

    def __init__(self, process: subprocess.Popen[str], base: Path) -> None:
        self._process = process
        self._calls = base / "calls.txt"

    def run(self, job: str, folder: Path, fault: Fault | None = None, **args: object) -> Ended:
        """The job in the folder, with the fault from where the job arms it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._calls.write_bytes(b"")
        order = {
            "job": job,
            "folder": str(folder),
            "fault": fault.to_json() if fault else None,
            "calls": str(self._calls),
            "args": args,
        }
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the process that forks the children has died"
        said = json.loads(line)
        calls = os.fsdecode(self._calls.read_bytes()).splitlines()
        return Ended(said["status"], calls, said.get("result"), said.get("error", ""))


@contextmanager
def children(base: Path) -> Iterator[Children]:
    """The process that they are forked from; its files lie in the folder."""
    base.mkdir(parents=True, exist_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.forks"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, **shim_environ(shim_library(base))},
    )
    try:
        yield Children(process, base)
    finally:
        process.kill()
        process.communicate()
