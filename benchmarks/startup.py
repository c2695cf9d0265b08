"""How quickly the prompt is ready: `ragforge` against an empty Textual app, and `--version` against typer.

From starting the process in a pseudo-terminal until a typed key is on the screen, until the status line is,
and the resident memory then. The programs are started alternately, so that noise affects all of them:
ragforge in a fresh home, beside 2,000 sessions, and in a project of 20,000 files.

Run: python benchmarks/startup.py [RUNS]
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import ptyprocess
from seed import TURNS_A_SESSION, seeded

RUNS = int(sys.argv[1]) if len(sys.argv) > 1 else 7
TYPED = "Q"
"""One key, and a letter that appears nowhere else on either screen."""
STATUS = b"local"
"""The model, which only the status line names."""
SESSIONS, FILES = 2_000, 20_000
EMPTY_APP = """
from textual.app import App
from textual.widgets import Input
class Empty(App):
    def compose(self):
        yield Input()
Empty().run()
"""
LIMIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Start:
    """Seconds until the key and the status line are drawn, and MB of resident memory then."""

    key_s: float
    status_s: float
    memory_mb: float


def start(command: list[str], env: dict[str, str], cwd: Path, *, status: bytes = b"") -> Start:
    """Start a program, with a key typed at once. status: words of what is drawn last, if any."""
    started_s = time.perf_counter()
    child = ptyprocess.PtyProcess.spawn(command, env=env, cwd=str(cwd), dimensions=(30, 100), echo=False)
    seen, key_s = b"", 0.0
    try:
        child.write(TYPED.encode())
        while not key_s or status not in seen:
            if time.perf_counter() - started_s > LIMIT_S:
                raise RuntimeError(f"{command} drew no echo: {seen!r}")
            seen += child.read(65_536)
            if not key_s and TYPED.encode() in seen:
                key_s = time.perf_counter() - started_s
        return Start(key_s, time.perf_counter() - started_s, resident_mb(child.pid))
    finally:
        child.terminate(force=True)


def resident_mb(pid: int) -> float:
    """Return the resident memory by ps, which Linux and macOS have."""
    out = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True)
    return int(out.stdout) / 1024


def seconds_of(command: list[str]) -> float:
    started_s = time.perf_counter()
    subprocess.run(command, capture_output=True, check=True)
    return time.perf_counter() - started_s


def in_turn(*tasks: Callable[[], float]) -> list[list[float]]:
    for task in tasks:
        task()  # once, so that files are in memory and bytecode is compiled
    rounds = [[task() for task in tasks] for _ in range(RUNS)]
    return [list(column) for column in zip(*rounds, strict=True)]


def row(name: str, ours: list[float], bare: list[float], unit: str, goal: float) -> None:
    """Print the ratios of the medians, and of the quickest of both."""
    ratio = statistics.median(ours) / statistics.median(bare)
    print(
        f"{name:<36} {min(ours):8.3f} {statistics.median(ours):8.3f} | {min(bare):8.3f} "
        f"{statistics.median(bare):8.3f} {unit:<3} | ratio {ratio:.2f}, of minima "
        f"{min(ours) / min(bare):.2f} (goal {goal})"
    )


def a_home(folder: Path, *, sessions: int = 0, files: int = 0) -> tuple[dict[str, str], Path]:
    """Return the environment and the project of a user with so much data."""
    project = folder / "project"
    (project / ".git").mkdir(parents=True)
    (folder / "data").mkdir()
    if sessions:
        seeded(folder / "data" / "ragforge.db", turns=sessions * TURNS_A_SESSION)
    for number in range(files):
        file = project / f"d{number % 100}" / f"f{number}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"value = {number}\n")
    env = {
        **os.environ,
        "TERM": "xterm-256color",
        "COLORFGBG": "15;0",  # nobody answers questions about the background here
        "RAGFORGE_DATA_DIR": str(folder / "data"),
        "RAGFORGE_CONFIG_DIR": str(folder / "config"),
        "RAGFORGE_MODEL": "local",
        "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
    }
    return env, project


def main() -> None:
    ragforge = str(Path(sys.executable).with_name("ragforge"))
    print(f"{'':<36} {'min':>8} {'median':>8} | {'bare min':>8} {'median':>8}")
    version, typer = in_turn(
        lambda: seconds_of([ragforge, "--version"]),
        lambda: seconds_of([sys.executable, "-c", "import typer"]),
    )
    row("--version / import typer", version, typer, "s", 1.5)
    with tempfile.TemporaryDirectory() as name:
        homes = {
            "fresh": a_home(Path(name, "fresh")),
            f"{SESSIONS} sessions": a_home(Path(name, "sessions"), sessions=SESSIONS),
            f"{FILES} files": a_home(Path(name, "files"), files=FILES),
        }
        env, project = homes["fresh"]
        bare: list[Start] = []
        ours: dict[str, list[Start]] = {home: [] for home in homes}
        for _ in range(RUNS + 1):
            for home, (its_env, its_project) in homes.items():
                ours[home].append(start([ragforge], its_env, its_project, status=STATUS))
            bare.append(start([sys.executable, "-c", EMPTY_APP], env, project))
    empty = [each.key_s for each in bare[1:]]
    for home, starts in ours.items():
        row(f"{home}: key / empty app", [each.key_s for each in starts[1:]], empty, "s", 0.25)
        row(f"{home}: status line / empty app", [each.status_s for each in starts[1:]], empty, "s", 1.5)
    row(
        "resident memory / empty app",
        [each.memory_mb for each in ours["fresh"][1:]],
        [each.memory_mb for each in bare[1:]],
        "MB",
        2.0,
    )


if __name__ == "__main__":
    main()
