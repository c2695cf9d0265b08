"""A durable version of five changed files, beside writing and syncing the same five before-and-after pairs.

The version is made as at a turn's end, in a project of 20,000 files: the earlier contents are stored, the
current ones read and stored, the version is stored, and the head moves. Both alternate.
"""

import os
import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path

from parts.scanning import make_project
from ragforge.session.open import close_workspace, open_workspace

CHANGED = 5
ROUNDS = 15
TIMES_MAX = 2.5


@dataclass(slots=True)
class Took:
    """Milliseconds, a list per method."""

    version: list[float] = field(default_factory=list[float])
    written: list[float] = field(default_factory=list[float])


async def measure(folder: Path) -> Took:
    """Make ROUNDS versions and as many times the pairs, below the folder."""
    root = make_project(folder)
    environ = {
        "HOME": str(folder / "home"),
        "PATH": os.environ["PATH"],
        "RAGFORGE_DATA_DIR": str(folder / "data"),
        "RAGFORGE_CONFIG_DIR": str(folder / "config"),
    }
    took = Took()
    workspace = await open_workspace(cwd=root, flags={}, environ=environ)
    try:
        recorder = workspace.recorders.of(root)
        async with recorder.ledger(workspace.files) as ledger:
            await ledger.take_in()  # the first scan of the folder
        for number in range(ROUNDS):
            paths = [f"package_{each}/module_{each}/file_{number}.py" for each in range(CHANGED)]
            before = [(root / path).read_bytes() for path in paths]
            after = [content + f"changed = {number}\n".encode() for content in before]
            async with recorder.ledger(workspace.files) as ledger:
                head = ledger.head.version
                began = time.perf_counter()
                await ledger.keep_before(paths)
                spent = time.perf_counter() - began
                for path, content in zip(paths, after, strict=True):
                    (root / path).write_bytes(content)
                began = time.perf_counter()
                await ledger.take_in(paths=paths)
                took.version.append((time.perf_counter() - began + spent) * 1000)
                (version,) = await workspace.store.versions.get([ledger.head.version])
            if version.parents != ((head,) if head else ()) or len(version.changes) != CHANGED:
                raise SystemExit("No version was made of what changed.")
            took.written.append(_write(folder / "pairs" / str(number), before + after))
    finally:
        await close_workspace(workspace)
    return took


def print_table(took: Took) -> bool:
    """Print a line per method; return whether a version stays within TIMES_MAX."""
    written = statistics.median(took.written)
    times = statistics.median(took.version) / written
    print(f"{CHANGED} changed files: {'median ms':>19} {'min':>8} {'times':>6}")
    print(f"{'pairs with fsync':<25} {written:12.1f} {min(took.written):8.1f}")
    version = f"{statistics.median(took.version):12.1f} {min(took.version):8.1f}"
    print(f"{'version':<25} {version} {times:6.2f}")
    return times <= TIMES_MAX


def _write(folder: Path, contents: list[bytes]) -> float:
    folder.mkdir(parents=True)
    began = time.perf_counter()
    for number, content in enumerate(contents):
        with (folder / str(number)).open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
    return (time.perf_counter() - began) * 1000
