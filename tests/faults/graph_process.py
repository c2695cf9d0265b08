"""The tests' end of a `graph_writer`."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.faults.graph import Acknowledged


@dataclass(slots=True)
class WriterProcess:
    """A process that writes a session."""

    process: "subprocess.Popen[str]"
    acknowledged: Acknowledged

    def ask(self, order: str) -> str:
        """Have it done; its answer. What it acknowledged is remembered."""
        self.send(order)
        return self.hear()

    def send(self, order: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{order}\n")

    def hear(self) -> str:
        """The next answer, with all that is acknowledged before it."""
        assert self.process.stdout is not None
        while (line := self.process.stdout.readline()).startswith("["):
            self.acknowledged.hear(tuple(json.loads(line)))
        assert line, "the writer ended"
        return line.strip()

    def stop(self) -> None:
        os.kill(self.process.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)

    def kill(self) -> None:
        """End it at once; what it had acknowledged is remembered."""
        assert self.process.stdout is not None
        self.process.kill()
        for line in self.process.stdout:
            if line.startswith("["):
                self.acknowledged.hear(tuple(json.loads(line)))
        self.process.wait()

    def close(self) -> None:
        """Let it end in peace."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.hear() == "closed"


@contextmanager
def writing(url: str, machine_dir: Path, session_id: str) -> Generator[WriterProcess]:
    """A process that has claimed the session."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.graph_writer", url, str(machine_dir), session_id],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
        cwd=Path(__file__).parents[2],
    )
    writer = WriterProcess(process, Acknowledged(session_id))
    try:
        assert writer.hear() == "ready"
        yield writer
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            assert stream is not None
            stream.close()
