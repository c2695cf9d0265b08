"""`ragforge` as a process of its own: forked from one that has loaded it, or started."""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cli.forking import DEVNULL, PIPE, ROOT, Child, fork
from tests.flow.running import environ

INSTALLED = str(Path(sys.executable).with_name("ragforge"))
TIMEOUT_S = 180.0
TRACES = ("Traceback", 'File "', "Exception ignored")


@dataclass(frozen=True)
class Ran:
    """How a run ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.out, self
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


@dataclass
class Program:
    """The program with folders of its own. Whatever happens, it shows no traceback.

    wrapper: what it is started by. fresh: it is the installed script, started anew for each run, for tests of
    starting itself; so it is with a wrapper. Else each run is forked from a process that has loaded it.
    patience: what a forked run has more time for than the program gives itself; see `tests/patience.py`.
    """

    tmp_path: Path
    model: str = ""
    env: dict[str, str] = field(default_factory=dict)
    wrapper: tuple[str, ...] = ()
    fresh: bool = False
    patience: Sequence[str] = ()

    def __post_init__(self) -> None:
        self.env = (
            environ(self.tmp_path, PYTHONPATH=str(ROOT), RAGFORGE_MODEL=self.model or "local") | self.env
        )
        self.project.mkdir(exist_ok=True)

    @property
    def project(self) -> Path:
        return self.tmp_path / "project"

    @property
    def data(self) -> Path:
        return self.tmp_path / "data"

    def configure(self, toml: str) -> None:
        file = self.tmp_path / "config" / "config.toml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(toml)

    async def start(
        self, *args: str | bytes, cwd: Path | None = None, env: dict[str, str] | None = None, **more: Any
    ) -> asyncio.subprocess.Process | Child:
        """The running program; nothing is piped in unless `more` says so."""
        pipes = {"stdin": DEVNULL, "stdout": PIPE, "stderr": PIPE} | more
        folder, full = cwd or self.project, self.env | (env or {})
        if self.fresh or self.wrapper:
            command = (*self.wrapper, INSTALLED, *args)
            return await asyncio.create_subprocess_exec(*command, cwd=folder, env=full, **pipes)
        words = [os.fsdecode(each) for each in args]
        return await fork(words, folder=folder, env=full, pipes=pipes, patience=self.patience)

    async def run(self, *args: str | bytes, stdin: bytes = b"", **more: Any) -> Ran:
        process = await self.start(*args, **({"stdin": PIPE} if stdin else {}), **more)
        return await ended(process, stdin or None)


async def ended(process: asyncio.subprocess.Process | Child, stdin: bytes | None = None) -> Ran:
    """How the process ends; it is given no more than this input."""
    async with asyncio.timeout(TIMEOUT_S):
        out, err = await process.communicate(stdin)
    ran = Ran(process.returncode or 0, (out or b"").decode(), (err or b"").decode())
    assert not any(trace in ran.err for trace in TRACES), ran.err
    return ran
