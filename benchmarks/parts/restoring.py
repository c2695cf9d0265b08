"""The cost of an undo and a redo of a turn that changed 100 files, beside copying them with fsync.

The same contents are copied, each into a new file that is synced: the least that puts 100 files
safely on a disk. Both alternate, so that a busy machine slows both. The scan before any
restore is not included.
"""

import os
import random
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from ragforge.domain.versions import Node, NodeKind
from ragforge.store.blobs import SqliteBlobs
from ragforge.versions.restore.operation import apply
from ragforge.versions.restore.plan import find_conflicts, make_plan
from ragforge.versions.state import HistoryState, open_history_state
from ragforge.versions.tree import WantedFile

FILES = 100
ADDED = REMOVED = 10
"""Of these; the others change."""
FOLDERS = 20
ROUNDS = 7
MODE = 0o644
TIMES_MAX = 3.0

Contents = Mapping[str, bytes]


@dataclass(slots=True)
class Took:
    """Milliseconds, a list per method."""

    undo: list[float] = field(default_factory=list)
    redo: list[float] = field(default_factory=list)
    copied: list[float] = field(default_factory=list)


async def measure(folder: Path) -> Took:
    """Do ROUNDS undos and redos in a project below the folder, and as many copies."""
    before, after = _contents()
    root, data_dir = folder / "project", folder / "data"
    data_dir.mkdir(parents=True)
    _write(root, after)
    state, blobs = await open_history_state(data_dir), SqliteBlobs(data_dir / "blobs.db")
    await blobs.put_many([*before.values(), *after.values()])
    _write(folder / "source", {**after, **before})
    took = Took()
    # The first round opens files and fills caches, for both alike.
    for number in range(ROUNDS + 1):
        copied = _copy(folder / "source", folder / f"copy {number}")
        undo = await _restore(root, _wanted(after, before), state, blobs)
        _must_be(root, before)
        redo = await _restore(root, _wanted(before, after), state, blobs)
        _must_be(root, after)
        if number:
            took.copied.append(copied)
            took.undo.append(undo)
            took.redo.append(redo)
    await state.close()
    await blobs.close()
    return took


def print_table(took: Took) -> bool:
    """Print a line per method; return whether it stays within TIMES_MAX."""
    copied = statistics.median(took.copied)
    print(f"{FILES} files: {'median ms':>19} {'min':>8} {'times':>6}")
    print(f"{'copied with fsync':<20} {copied:8.1f} {min(took.copied):8.1f}")
    ratios: list[float] = []
    for name, values in (("undo", took.undo), ("redo", took.redo)):
        ratios.append(statistics.median(a / b for a, b in zip(values, took.copied, strict=True)))
        print(f"{name:<20} {statistics.median(values):8.1f} {min(values):8.1f} {ratios[-1]:6.2f}")
    return max(ratios) <= TIMES_MAX


async def _restore(
    root: Path, wanted: Sequence[WantedFile], state: HistoryState, blobs: SqliteBlobs
) -> float:
    began = time.perf_counter()
    if await find_conflicts(root, wanted):
        raise SystemExit("Nobody changed a file, and yet there are conflicts.")
    plan = await make_plan(root, wanted, {}, blobs, title="undo of turn 1", then={})
    applied = await apply(plan, state, blobs)
    await state.clear_journal(root)
    took = time.perf_counter() - began
    if applied.skipped or len(applied.done) != FILES:
        raise SystemExit(f"Not everything was restored: {applied}")
    return took * 1000


def _copy(source: Path, target: Path) -> float:
    began = time.perf_counter()
    for path in sorted(source.rglob("*")):
        place = target / path.relative_to(source)
        if path.is_dir():
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("wb") as file:
            file.write(path.read_bytes())
            file.flush()
            os.fsync(file.fileno())
    return (time.perf_counter() - began) * 1000


def _contents() -> tuple[Contents, Contents]:
    """Return the project before the turn and after it; lines of code of some kilobytes per file."""
    chance = random.Random(1)
    paths = [f"src/package_{number % FOLDERS}/module_{number}.py" for number in range(FILES + ADDED)]

    def text() -> bytes:
        lines = (f"    value_{chance.randrange(10**6)} = call({chance.random()})" for _ in range(200))
        return "\n".join(lines).encode()

    before = {path: text() for path in paths[: FILES - ADDED]}
    after = {path: text() for path in paths[REMOVED:FILES]}
    return before, after


def _wanted(now: Contents, then: Contents) -> list[WantedFile]:
    return [WantedFile(path, _node(now, path), _node(then, path)) for path in sorted({*now, *then})]


def _node(contents: Contents, path: str) -> Node | None:
    content = contents.get(path)
    return None if content is None else Node(NodeKind.FILE, sha256(content).hexdigest(), MODE, len(content))


def _write(root: Path, contents: Contents) -> None:
    for path, content in contents.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)
        (root / path).chmod(MODE)


def _must_be(root: Path, contents: Contents) -> None:
    found = {str(each.relative_to(root)): each.read_bytes() for each in root.rglob("*") if each.is_file()}
    if found != contents:
        raise SystemExit("What was restored is not what was wanted.")
