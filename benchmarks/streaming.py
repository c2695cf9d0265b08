"""The processor time of a streamed answer, and how long the first Enter takes to become a request.

Each run is the program in a pseudo-terminal with a fresh home and a stand-in server that answers with 50
tokens a second: prose, lists, code and a table, repeated. Printed are the milliseconds from Enter, 2 s
after the start, until the server has the request, the processor time until then, and that of each second of
the answer, except its first. The terminal says that it marks pastes, as nearly all do; in one that does
not, Enter waits 30 ms for what may follow. Versions are run alternately, so that all share the load. A
program with too little processor time draws less often: compare answers on a machine that is not busy.

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
TYPED = b"Apart?"
PAUSE_S = 0.5
"""Enter that arrives together with text would be a new line of a paste."""
MODEL = b"test-model"
MARKS_PASTES, IT_DOES = b"\x1b[?2004$p", b"\x1b[?2004;1$y"
"""Asked by the program, and answered by the terminal."""
LIMIT_S = 60.0
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
    """Streams the answer, and records when it was requested."""

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
    """The costs of each run."""

    asked_ms: list[float] = field(default_factory=list[float])
    asked_cpu_ms: list[float] = field(default_factory=list[float])
    cpu_ms: list[float] = field(default_factory=list[float])


async def run(tree: Path, name: str, given: argparse.Namespace, costs: Costs) -> None:
    """Run one start, message and answer; add their cost to the costs."""
    async with Server(given.seconds) as server:
        with tempfile.TemporaryDirectory() as folder:
            env, project = a_home(Path(folder), tree, server.base_url)
            command = [sys.executable, "-m", "ragforge"]
            child = ptyprocess.PtyProcess.spawn(
                command, env=env, cwd=str(project), dimensions=SIZE, echo=False
            )
            drawn = bytearray()
            loop = asyncio.get_running_loop()

            def read() -> None:
                found = os.read(child.fd, 1 << 20)
                drawn.extend(found)
                if MARKS_PASTES in found:
                    child.write(IT_DOES)

            loop.add_reader(child.fd, read)
            try:
                async with asyncio.timeout(LIMIT_S + given.seconds):
                    while MODEL not in drawn:
                        await asyncio.sleep(0.01)
                    await asyncio.sleep(SETTLED_S)
                    child.write(TYPED)
                    while TYPED not in drawn:
                        await asyncio.sleep(0.01)
                    await asyncio.sleep(PAUSE_S)
                    before_s, began_s = processor_s(child.pid), time.perf_counter()
                    child.write(b"\r")
                    await server.asked.wait()
                    costs.asked_ms.append((server.asked_s - began_s) * 1000)
                    costs.asked_cpu_ms.append((processor_s(child.pid) - before_s) * 1000)
                    await asyncio.sleep(1.0)
                    before_s, began_s = processor_s(child.pid), time.perf_counter()
                    if given.spy:
                        await profile(given, name, child.pid)
                    await asyncio.sleep(given.seconds)
                    cpu_s = (processor_s(child.pid) - before_s) / (time.perf_counter() - began_s)
                    costs.cpu_ms.append(cpu_s * 1000)
            finally:
                loop.remove_reader(child.fd)
                child.terminate(force=True)


async def profile(given: argparse.Namespace, name: str, pid: int) -> None:
    """Run a py-spy for as long as the answer is measured."""
    options = ("-r", "200", "-d", str(int(given.seconds)), "-f", "raw", "-o", f"{given.spy}-{name}")
    silent = subprocess.DEVNULL
    await asyncio.create_subprocess_exec(
        "py-spy", "record", *options, "-p", str(pid), stdout=silent, stderr=silent
    )


def processor_s(pid: int) -> float:
    """Return the processor time of each thread of the process; Linux only."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def a_home(folder: Path, tree: Path, url: str) -> tuple[dict[str, str], Path]:
    """Return the environment and the project of a new user of the stand-in."""
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
            await run(tree, name, given, costs[name])
    titles = {
        "asked_ms": "from Enter to the request",
        "asked_cpu_ms": "processor time until then",
        "cpu_ms": "processor time in a second of the answer",
    }
    for title, words in titles.items():
        print(words)
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
