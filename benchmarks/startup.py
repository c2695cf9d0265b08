"""How quickly the prompt stands: `ragforge` against an empty Textual app, and `--version` against typer.

Prompt: from starting the process in a pseudo-terminal until a key that was typed is on the screen, and
the resident memory at that moment. The two programs are started in turn, so that a noisy machine
is noisy for both. Run: python benchmarks/startup.py [RUNS]
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import ptyprocess
import pyte

RUNS = int(sys.argv[1]) if len(sys.argv) > 1 else 7
TYPED = "Q"
"""One key, and a letter that stands nowhere else on either screen."""
EMPTY_APP = """
from textual.app import App
from textual.widgets import Input
class Empty(App):
    def compose(self):
        yield Input()
Empty().run()
"""
LIMIT_S = 30.0


def until_echo(command: list[str], env: dict[str, str], cwd: Path) -> tuple[float, float]:
    """Seconds until typed text is drawn, and MB of resident memory then."""
    screen = pyte.Screen(100, 30)
    stream = pyte.ByteStream(screen)
    started_s = time.perf_counter()
    child = ptyprocess.PtyProcess.spawn(command, env=env, cwd=str(cwd), dimensions=(30, 100), echo=False)
    try:
        child.write(TYPED.encode())
        while not any(TYPED in line for line in screen.display):
            if time.perf_counter() - started_s > LIMIT_S:
                raise RuntimeError(f"{command} drew no echo:\n" + "\n".join(screen.display))
            stream.feed(child.read(65_536))
        took_s = time.perf_counter() - started_s
        return took_s, resident_mb(child.pid)
    finally:
        child.terminate(force=True)


def resident_mb(pid: int) -> float:
    """Resident memory by ps, which Linux and macOS have."""
    out = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True)
    return int(out.stdout) / 1024


def seconds_of(command: list[str]) -> float:
    started_s = time.perf_counter()
    subprocess.run(command, capture_output=True, check=True)
    return time.perf_counter() - started_s


def in_turn(ours: Callable[[], float], bare: Callable[[], float]) -> tuple[list[float], list[float]]:
    ours(), bare()  # once, so that files are in memory and bytecode is compiled
    pairs = [(ours(), bare()) for _ in range(RUNS)]
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def row(name: str, ours: list[float], bare: list[float], unit: str, goal: float) -> None:
    ratio = statistics.median(ours) / statistics.median(bare)
    print(
        f"{name:<28} {min(ours):8.3f} {statistics.median(ours):8.3f} | {min(bare):8.3f} "
        f"{statistics.median(bare):8.3f} {unit:<3} | ratio {ratio:.2f} (goal {goal})"
    )


def main() -> None:
    ragforge = str(Path(sys.executable).with_name("ragforge"))
    print(f"{'':<28} {'min':>8} {'median':>8} | {'bare min':>8} {'median':>8}")
    version = in_turn(
        lambda: seconds_of([ragforge, "--version"]),
        lambda: seconds_of([sys.executable, "-c", "import typer"]),
    )
    row("--version / import typer", *version, "s", 1.5)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "project").mkdir()
        env = {
            **os.environ,
            "TERM": "xterm-256color",
            "COLORFGBG": "15;0",  # nobody answers questions about the background here
            "RAGFORGE_DATA_DIR": str(folder / "data"),
            "RAGFORGE_CONFIG_DIR": str(folder / "config"),
            "RAGFORGE_MODEL": "local",
            "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
        }
        seen: list[tuple[tuple[float, float], tuple[float, float]]] = []
        for _ in range(RUNS + 1):
            ours = until_echo([ragforge], env, folder / "project")
            bare = until_echo([sys.executable, "-c", EMPTY_APP], env, folder / "project")
            seen.append((ours, bare))
    counted = seen[1:]
    row("prompt takes keys / empty", [o[0] for o, _ in counted], [b[0] for _, b in counted], "s", 1.5)
    row("resident memory / empty", [o[1] for o, _ in counted], [b[1] for _, b in counted], "MB", 2.0)


if __name__ == "__main__":
    main()
