"""The project's paths for completion, collected in steps so that a large tree never delays typing."""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic

from msgspec import Struct

from ragforge.tui.fuzzy import ranked

PATHS_MAX = 50_000
SLICE_S = 0.25
"""How long one step may take before its results are shown."""
JOINERS = "\u200c\u200d"
"""Of emoji and of some scripts: not printable for Python, although they are typed."""
FRESH_S = 10.0
"""How long a complete list is used before the tree is read again."""


class PathMatches(Struct, frozen=True):
    """Matching paths, best first. `complete`: the whole tree was read, another call finds no more."""

    paths: list[str]
    complete: bool


class ProjectFiles:
    """The files and folders below a folder, relative to it, folders with a slash at the end."""

    def __init__(
        self,
        folder: Path,
        *,
        root: Path | None = None,
        excludes: Path | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Nothing is read yet.

        folder: the session's. root: the project's, where git's rules start; excludes: the user's own file.
        """
        self._folder = folder
        self._root = root or folder
        self._excludes = excludes
        self._clock = clock
        self._lock = threading.Lock()
        self._paths: list[str] = []
        self._rest: Iterator[str] | None = None
        self._done_at_s = float("-inf")

    def find(self, query: str, stop: threading.Event) -> PathMatches:
        """Return what fits the query, from a thread; reads for SLICE_S, and continues at the next call."""
        with self._lock:
            self._look_on(stop)
            complete = self._rest is None
            paths = list(self._paths)
        if stop.is_set():
            return PathMatches([], complete=True)
        return PathMatches(ranked(query, paths, stop=stop), complete)

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
        """Yield what git does not ignore, near ones first: a limit cuts off deep ones."""
        from ragforge.files.ignore import is_ignored, rules_above, rules_in  # not needed for the first frame

        folders = deque([("", rules_above(self._folder, self._root, self._excludes))])
        while folders:
            folder, rules = folders.popleft()
            rules = rules_in(str(self._folder / folder), rules)
            for name, is_folder in _inside(self._folder / folder):
                if is_ignored(str(self._folder / folder / name), rules, is_folder=is_folder):
                    continue
                path = folder + name + ("/" if is_folder else "")
                if is_folder:
                    folders.append((path, rules))
                yield path


def _inside(folder: Path) -> list[tuple[str, bool]]:
    """Return the sorted names, and whether they are folders. Untypable ones cannot be mentioned."""
    try:
        with os.scandir(folder) as entries:
            return sorted(
                (entry.name, entry.is_dir(follow_symlinks=False))
                for entry in entries
                if all(char.isprintable() or char in JOINERS for char in entry.name)
            )
    except OSError:
        # Not readable, or removed meanwhile.
        return []
