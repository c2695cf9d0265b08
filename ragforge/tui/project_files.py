"""The project's paths for completion, gathered bit by bit so that a large tree never holds up typing."""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from ragforge.tui.fuzzy import ranked

PATHS_MAX = 50_000
SLICE_S = 0.25
"""How long one look may take before what was found is shown."""
FRESH_S = 10.0
"""How long a finished list is used before the tree is read again."""
_SKIPPED = frozenset({".git", ".hg", ".svn", ".jj", "node_modules", "__pycache__", ".venv"})


@dataclass(frozen=True, slots=True)
class Found:
    """Paths that fit, best first. `complete`: the whole tree was seen, asking again finds no more."""

    paths: list[str]
    complete: bool


class ProjectFiles:
    """The files and folders below a root, relative to it, folders with a slash at the end."""

    def __init__(
        self,
        root: Path,
        *,
        ignored: Callable[[Path, bool], bool] | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Nothing is read yet. ignored: whether a path (and whether it is a folder) is left out."""
        self._root = root
        self._ignored = ignored or _nothing
        self._clock = clock
        self._lock = threading.Lock()
        self._paths: list[str] = []
        self._rest: Iterator[str] | None = None
        self._done_at_s = float("-inf")

    def find(self, query: str, stop: threading.Event) -> Found:
        """What fits the query, from a thread; looks for SLICE_S, and goes on at the next call."""
        with self._lock:
            self._look_on(stop)
            complete = self._rest is None
            paths = list(self._paths)
        if stop.is_set():
            return Found([], complete=True)
        return Found(ranked(query, paths, stop=stop), complete)

    def _look_on(self, stop: threading.Event) -> None:
        if self._rest is None:
            if self._clock() - self._done_at_s < FRESH_S:
                return
            self._paths, self._rest = [], self._walk()
        until_s = self._clock() + SLICE_S
        for path in self._rest:
            self._paths.append(path)
            if len(self._paths) >= PATHS_MAX:
                break
            if stop.is_set() or self._clock() > until_s:
                return
        self._rest, self._done_at_s = None, self._clock()

    def _walk(self) -> Iterator[str]:
        """Near ones first: what a limit cuts off lies deep."""
        folders = deque([""])
        while folders:
            folder = folders.popleft()
            for entry in _entries(self._root / folder):
                inside = entry.is_dir(follow_symlinks=False)
                if entry.name in _SKIPPED or self._ignored(Path(entry.path), inside):
                    continue
                path = folder + entry.name + ("/" if inside else "")
                if inside:
                    folders.append(path)
                yield path


def _nothing(path: Path, folder: bool) -> bool:
    return False


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        # Not readable, or gone meanwhile: its files cannot be mentioned.
        return []
