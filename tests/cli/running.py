"""`ragforge` as a process of its own."""

import asyncio
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.flow.running import environ

TIMEOUT_S = 60.0
TRACES = ("Traceback", 'File "', "Exception ignored")


@dataclass(frozen=True)
class Ran:
    """How a run ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


@dataclass
class Program:
    """The installed program with folders of its own. Whatever happens, it shows no traceback."""

    tmp_path: Path
    model: str = ""
    env: dict[str, str] = field(default_factory=dict)
    wrapper: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        own = environ(self.tmp_path, PYTHONPATH=str(Path(__file__).parents[2]))
        self.env = own | ({"RAGFORGE_MODEL": self.model} if self.model else {}) | self.env
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
    ) -> asyncio.subprocess.Process:
        """The running program; nothing is piped in unless `more` says so."""
        pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        pipes = {"stdin": nothing, "stdout": pipe, "stderr": pipe} | more
        command = (*self.wrapper, sys.executable, "-m", "ragforge", *args)
        return await asyncio.create_subprocess_exec(
            *command, cwd=cwd or self.project, env=self.env | (env or {}), **pipes
        )

    async def run(self, *args: str | bytes, stdin: bytes = b"", **more: Any) -> Ran:
        process = await self.start(*args, **({"stdin": asyncio.subprocess.PIPE} if stdin else {}), **more)
        return await ended(process, stdin or None)


async def ended(process: asyncio.subprocess.Process, stdin: bytes | None = None) -> Ran:
    """How the process ends; it is given no more than this input."""
    async with asyncio.timeout(TIMEOUT_S):
        out, err = await process.communicate(stdin)
    ran = Ran(process.returncode or 0, (out or b"").decode(), (err or b"").decode())
    assert not any(trace in ran.err for trace in TRACES), ran.err
    return ran
