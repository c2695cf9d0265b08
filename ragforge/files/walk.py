"""The files below a folder, in order, without what git ignores and without following links."""

import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from ragforge.files.ignore import GIT_FOLDER, Rules, is_ignored, rules_above, rules_in


class Entry(Struct, frozen=True):
    """A file, folder or link; `name` is relative to the start of the walk."""

    path: str
    name: str
    depth: int
    is_folder: bool
    is_link: bool
    size: int
    modified_at: float


class Walk(Struct):
    """A walk that can be stopped early, and what it left out."""

    folder: Path
    rules: Rules
    deadline: float
    ignored: int = 0
    unreadable: int = 0
    complete: bool = True

    def entries(self, *, depth_max: int = 10_000) -> Iterator[Entry]:
        """Yield everything that is not ignored, by name, each folder before its contents."""
        waiting = self._inside(str(self.folder), "", 1, self.rules)
        while waiting:
            entry, rules = waiting.pop()
            if time.monotonic() > self.deadline:
                self.complete = False
                return
            yield entry
            if entry.is_folder and entry.depth < depth_max:
                waiting += self._inside(entry.path, entry.name + "/", entry.depth + 1, rules)

    def _inside(self, folder: str, prefix: str, depth: int, rules: Rules) -> list[tuple[Entry, Rules]]:
        """Return the contents of the folder, the last first, each with the rules that apply."""
        rules = rules_in(folder, rules)
        found: list[Entry] = []
        try:
            with os.scandir(folder) as items:
                for item in items:
                    self._look_at(item, prefix, depth, rules, found)
        except OSError:
            self.unreadable += 1
        found.sort(key=lambda entry: (entry.name, entry.is_folder), reverse=True)
        return [(entry, rules) for entry in found]

    def _look_at(
        self, item: os.DirEntry[str], prefix: str, depth: int, rules: Rules, found: list[Entry]
    ) -> None:
        try:
            status = item.stat(follow_symlinks=False)
        except OSError:
            return  # gone since the folder was listed
        is_folder = stat.S_ISDIR(status.st_mode)
        if is_ignored(item.path, rules, is_folder=is_folder):
            self.ignored += item.name != GIT_FOLDER
            return
        is_link = stat.S_ISLNK(status.st_mode)
        found.append(
            Entry(item.path, prefix + item.name, depth, is_folder, is_link, status.st_size, status.st_mtime)
        )


def start_walk(folder: Path, root: Path, excludes: Path | None, *, deadline: float) -> Walk:
    """Return a walk of the folder with git's rules.

    root: the project's. A folder elsewhere uses the rules of its own repository. If the folder itself is
    ignored, rules from above do not apply, because whoever names it wants to see it.
    """
    top = root if folder.is_relative_to(root) else _repository_of(folder)
    rules = rules_above(folder, top, excludes)
    between = [above for above in (folder, *folder.parents) if above != top and above.is_relative_to(top)]
    if any(is_ignored(str(above), rules, is_folder=True) for above in between):
        rules = ()
    return Walk(folder, rules, deadline)


def _repository_of(folder: Path) -> Path:
    return next((above for above in (folder, *folder.parents) if (above / GIT_FOLDER).exists()), folder)
