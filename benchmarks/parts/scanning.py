"""Finding changes in a project of 20,000 files, beside the bare walk with stat and beside git.

The bare walk is the minimum for finding changes: `os.scandir` through every folder, `lstat` of
every file. They alternate, so that a busy machine slows all of them.
"""

import os
import random
import shutil
import statistics
import subprocess
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from ragforge.store.blobs import SqliteBlobs
from ragforge.versions.record.contents import Sampling, keep_contents, prove_contents
from ragforge.versions.scan.changes import scan
from ragforge.versions.scan.manifest import Manifest
from ragforge.versions.scan.track_rules import TrackRules

FILES = 20_000
FOLDERS = 1_000
CHANGED = 5
ROUNDS = 9
TIMES_MAX = 2.0
FILE_BYTES_MAX = 10 * 1024 * 1024
IGNORES = "*.pyc\n__pycache__/\nnode_modules/\n/build/\n.env\n*.o\n!keep.o\n"


@dataclass(slots=True)
class Took:
    """Milliseconds, a list per method; `once`: work once per session, and how much of it was computing."""

    ways: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    once: dict[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])

    def add(self, way: str, work: Callable[[], object]) -> None:
        """Time it once more."""
        began = time.perf_counter()
        work()
        self.ways.setdefault(way, []).append((time.perf_counter() - began) * 1000)

    async def add_awaited(self, way: str, work: Callable[[], Awaitable[object]]) -> None:
        """The same with an awaitable."""
        began = time.perf_counter()
        await work()
        self.ways.setdefault(way, []).append((time.perf_counter() - began) * 1000)


async def measure(folder: Path) -> Took:
    """Do ROUNDS of all methods in a project below the folder."""
    root = make_project(folder)
    track_rules = TrackRules(root, None, FILE_BYTES_MAX)
    took = Took()
    began = time.perf_counter(), time.process_time()
    last = scan(track_rules, Manifest()).manifest
    took.once["the first scan, which reads everything"] = _since(began)
    if len(last.entries) != FILES + 1:
        raise SystemExit("The project is not tracked whole.")
    blobs = SqliteBlobs(folder / "blobs.db")
    began = time.perf_counter(), time.process_time()
    await keep_contents(blobs, root, last)
    took.once["keeping all contents"] = _since(began)
    has_git = _make_repository(root)
    # A file written a moment ago is read once more; from then on its times are enough.
    last = scan(track_rules, last).manifest
    content = last.to_bytes()
    sampling = Sampling()
    for number in range(ROUNDS):
        changed = _change(root, number)
        took.add("bare walk with stat", lambda: _walk(str(root)))
        found = scan(track_rules, last)
        if set(found.differences) != changed:
            raise SystemExit("The scan did not find what changed.")
        took.add(f"scan, {CHANGED} changed", partial(scan, track_rules, last))
        last = found.manifest
        time.sleep(0.1)  # until the times of what was just written are enough
        last = scan(track_rules, last).manifest
        took.add("scan, nothing changed", partial(scan, track_rules, last))
        await took.add_awaited(
            "proving its contents", lambda last=last: prove_contents(blobs, root, last, sampling=sampling)
        )
        took.add("reading the manifest", lambda: Manifest.from_bytes(content))
        if has_git:
            took.add("git status", lambda: _git(root, "status", "--porcelain"))
    await blobs.close()
    return took


def print_table(took: Took) -> bool:
    """Print a line per method; return whether the scans stay within TIMES_MAX."""
    bare = statistics.median(took.ways["bare walk with stat"])
    print(f"{FILES} files: {'median ms':>24} {'min':>8} {'times':>6}")
    scans: list[float] = []
    for way, values in took.ways.items():
        times = statistics.median(values) / bare
        print(f"{way:<25} {statistics.median(values):12.1f} {min(values):8.1f} {times:6.2f}")
        scans += [times] if way.startswith("scan") else []
    print("once:                              s   of that computing")
    for what, (wall_s, computing_s) in took.once.items():
        print(f"{what:<40} {wall_s:.2f} {computing_s:8.2f}")
    return max(scans) <= TIMES_MAX


def make_project(folder: Path) -> Path:
    """Return a project of FILES files of some kilobytes, and an ignore file; links in its path resolved."""
    root = folder.resolve() / "project"
    chance = random.Random(1)
    lines = [
        f"    value_{number} = call({chance.random()}, name_{chance.randrange(999)})" for number in range(999)
    ]
    for number in range(FOLDERS):
        inside = root / f"package_{number % 40}" / f"module_{number}"
        inside.mkdir(parents=True)
        for file in range(FILES // FOLDERS):
            text = "\n".join(chance.choices(lines, k=chance.randrange(3, 90)))
            (inside / f"file_{file}.py").write_text(text)
    (root / ".gitignore").write_text(IGNORES)
    return root


def _change(root: Path, number: int) -> set[str]:
    """Change CHANGED files; return their paths."""
    paths = [f"package_{each}/module_{each}/file_{number}.py" for each in range(CHANGED)]
    for path in paths:
        with (root / path).open("a") as file:
            file.write(f"changed = {number}\n")
    return set(paths)


def _walk(folder: str) -> None:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name != ".git":
                    _walk(entry.path)
            else:
                entry.stat(follow_symlinks=False)


def _make_repository(root: Path) -> bool:
    if shutil.which("git") is None:
        return False
    _git(root, "init", "--quiet")
    _git(root, "add", ".")
    who = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.com", "-c", "commit.gpgsign=false")
    _git(root, *who, "commit", "--quiet", "--message=all")
    return True


def _git(root: Path, *args: str) -> None:
    # Nothing of it in the background, where it would continue while others are timed.
    alone = ("-c", "maintenance.auto=false", "-c", "gc.auto=0")
    subprocess.run(["git", *alone, *args], cwd=root, check=True, stdout=subprocess.DEVNULL)


def _since(began: tuple[float, float]) -> tuple[float, float]:
    return time.perf_counter() - began[0], time.process_time() - began[1]
