"""What an answer that streams costs the processor, and how long the first Enter takes to become a request.

Each run is the program in a pseudo-terminal with a fresh home and a stand-in server that answers with 50
tokens a second: prose, lists, code and a table, over and over. Printed are the milliseconds from Enter, 2 s
after the start, until the server has the request, and the processor time of the process in each second of the
answer, its first left out. Versions take turns, so that a busy machine is busy for each.

Run: python benchmarks/streaming.py [--pairs 5] [--seconds 12] [--against TREE]... [--spy PATH]
TREE is a checkout of another version; it runs in this environment. --spy: a py-spy that profiles each run
into PATH-this and so on, as `py-spy record -f raw` writes it.
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ptyprocess

from tests.standins.openai import Flavour, OpenAIStandIn
from tests.standins.openai_replies import Raw, Reply

HERE = Path(__file__).parents[1]
TOKENS_A_SECOND = 50
TOKEN_CHARS = 4
SETTLED_S = 2.0
SIZE = (40, 100)
MODEL = b"test-model"
LIMIT_S = 60.0
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
ANSWER = """The tokens are split at *spaces*, so `quoted words` fall apart, and what stands between \
them is lost where two of them meet at the end of a line. The function below keeps the quotes, and the list \
says what else changes.

- `split` becomes `shlex.split`, which knows **quotes** and escapes
- an empty argument stays an empty argument, as the shell has it
- a lone quote is an error with its column, and no longer the end of the text

```python
def words(line: str) -> list[str]:
    \"\"\"The words of a line, as a shell would take them apart.\"\"\"
    try:
        return shlex.split(line, comments=False)
    except ValueError as error:
        raise BadLine(f"{line!r}: {error}") from error
```

## What it costs

| input | before | after |
| --- | --- | --- |
| ten words | 2.1 us | 9.8 us |
| a thousand words | 180 us | 960 us |

"""


class Server(OpenAIStandIn):
    """Streams the answer, and knows when it was asked."""

    def __init__(self, seconds: float) -> None:
        super().__init__(Flavour.OPENAI)
        tokens = int((seconds + 4) * TOKENS_A_SECOND)
        text = (ANSWER * (tokens * TOKEN_CHARS // len(ANSWER) + 1))[: tokens * TOKEN_CHARS]
        self._pieces = [text[at : at + TOKEN_CHARS] for at in range(0, len(text), TOKEN_CHARS)]
        self.asked = asyncio.Event()
        self.asked_s = 0.0

    def _chat(self, seen: Any) -> Any:
        if seen.schema is not None:
            return super()._chat(seen)
        self.asked_s = time.perf_counter()
        self.asked.set()
        return Raw(self._raw(Reply(text=self._pieces), seen.body).pieces, pause_s=1 / TOKENS_A_SECOND)


@dataclass
class Costs:
    """Of each run."""

    asked_ms: list[float] = field(default_factory=list)
    cpu_ms: list[float] = field(default_factory=list)


async def run(tree: Path, name: str, given: argparse.Namespace) -> tuple[float, float]:
    """Milliseconds from Enter to the request, and of processor time in a second of the answer."""
    async with Server(given.seconds) as server:
        with tempfile.TemporaryDirectory() as folder:
            env, project = a_home(Path(folder), tree, server.base_url)
            command = [sys.executable, "-m", "ragforge"]
            child = ptyprocess.PtyProcess.spawn(
                command, env=env, cwd=str(project), dimensions=SIZE, echo=False
            )
            drawn = bytearray()
            loop = asyncio.get_running_loop()
            loop.add_reader(child.fd, lambda: drawn.extend(os.read(child.fd, 1 << 20)))
            try:
                async with asyncio.timeout(LIMIT_S + given.seconds):
                    while MODEL not in drawn:
                        await asyncio.sleep(0.01)
                    await asyncio.sleep(SETTLED_S)
                    child.write(b"Why do they fall apart?")
                    await asyncio.sleep(0.3)
                    began_s = time.perf_counter()
                    child.write(b"\r")
                    await server.asked.wait()
                    await asyncio.sleep(1.0)
                    before_s, began_at_s = processor_s(child.pid), time.perf_counter()
                    if given.spy:
                        spy = await profile(given, name, child.pid)
                    await asyncio.sleep(given.seconds)
                    cpu_s = (processor_s(child.pid) - before_s) / (time.perf_counter() - began_at_s)
                    if given.spy:
                        await spy.wait()
                    return (server.asked_s - began_s) * 1000, cpu_s * 1000
            finally:
                loop.remove_reader(child.fd)
                child.terminate(force=True)


async def profile(given: argparse.Namespace, name: str, pid: int) -> asyncio.subprocess.Process:
    """A py-spy at work as long as the answer is measured."""
    into = f"{given.spy}-{name}"
    options = ("-r", "200", "-d", str(int(given.seconds)), "-f", "raw", "-o", into, "-p", str(pid))
    return await asyncio.create_subprocess_exec(
        "py-spy", "record", *options, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def processor_s(pid: int) -> float:
    """What the process has had of the processor; Linux only."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS


def a_home(folder: Path, tree: Path, url: str) -> tuple[dict[str, str], Path]:
    """The environment and the project of a new user of the stand-in."""
    project, config = folder / "project", folder / "config"
    (project / ".git").mkdir(parents=True)
    config.mkdir()
    config.joinpath("config.toml").write_text(
        f'model = "box:{MODEL.decode()}"\n[endpoints.box]\nbase_url = "{url}"\n'
    )
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RAGFORGE_", "PYTHON"))}
    env = {
        **kept,
        "TERM": "xterm-256color",
        "COLORFGBG": "15;0",  # nobody answers questions about the background here
        "PYTHONPATH": str(tree),
        "RAGFORGE_DATA_DIR": str(folder / "data"),
        "RAGFORGE_CONFIG_DIR": str(config),
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
    }
    return env, project


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=12.0)
    parser.add_argument("--against", action="append", type=Path, default=[])
    parser.add_argument("--spy")
    given = parser.parse_args()
    trees = {"this": HERE, **{tree.name: tree.resolve() for tree in given.against}}
    costs = {name: Costs() for name in trees}
    for _ in range(given.pairs):
        for name, tree in trees.items():
            asked_ms, cpu_ms = await run(tree, name, given)
            costs[name].asked_ms.append(asked_ms)
            costs[name].cpu_ms.append(cpu_ms)
    for title in ("asked_ms", "cpu_ms"):
        print({"asked_ms": "from Enter to the request", "cpu_ms": "processor, a second of the answer"}[title])
        first = getattr(costs["this"], title)
        for name, each in costs.items():
            times = getattr(each, title)
            print(
                f"  {name:<24} min {min(times):7.1f}  median {statistics.median(times):7.1f} ms  "
                f"this against it {min(first) / min(times):.2f}, "
                f"{statistics.median(first) / statistics.median(times):.2f}"
            )


if __name__ == "__main__":
    asyncio.run(main())
