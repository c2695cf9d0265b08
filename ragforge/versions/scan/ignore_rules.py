"""Whether git ignores a path, asked only for paths for which the last scan does not tell."""

import hashlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from ragforge.domain.errors import UsageError
from ragforge.files.ignore import (
    IGNORE_FILE_BYTES_MAX,
    Rules,
    is_ignored,
    repository_excludes,
    rules_above,
    rules_in,
)
from ragforge.files.open import open_file
from ragforge.versions.scan.git_index import GitIndex, git_index
from ragforge.versions.scan.manifest import IgnoreFileSeen, join
from ragforge.versions.scan.nodes import is_settled
from ragforge.versions.scan.track_rules import TrackRules

IGNORE_FILE = ".gitignore"


class IgnoreRules:
    """git's rules for one folder and everything below it; each ignore file is read when first needed."""

    def __init__(self, track_rules: TrackRules) -> None:
        self._track_rules = track_rules
        self._root = str(track_rules.root)
        self._rules: dict[str, Rules] = {}
        self._ignored: dict[str, bool] = {"": False}
        self._index: GitIndex | None = None

    def ignores(self, folder: str, name: str, *, is_folder: bool) -> bool:
        """Whether git ignores this name in the folder; it never ignores what it tracks."""
        if not self._says(folder, name, is_folder=is_folder):
            return False
        if self._index is None:
            self._index = git_index(self._track_rules.root)
        return join(folder, name) not in (self._index.folders if is_folder else self._index.files)

    def _says(self, folder: str, name: str, *, is_folder: bool) -> bool:
        """Whether the rules exclude the path itself or one of its folders."""
        if self._says_of_folder(folder):
            return True
        return is_ignored(join(self._at(folder), name), self._rules_in(folder), is_folder=is_folder)

    def _says_of_folder(self, folder: str) -> bool:
        known = self._ignored.get(folder)
        if known is None:
            above, _, name = folder.rpartition("/")
            known = self._says(above, name, is_folder=True)
            self._ignored[folder] = known
        return known

    def _rules_in(self, folder: str) -> Rules:
        rules = self._rules.get(folder)
        if rules is None:
            if folder:
                rules = self._rules_in(folder.rpartition("/")[0])
            else:
                root = self._track_rules.root
                rules = rules_above(root, root, self._track_rules.excludes)
            self._rules[folder] = rules = rules_in(self._at(folder), rules)
        return rules

    def _at(self, folder: str) -> str:
        return join(self._root.rstrip("/"), folder) if folder else self._root


def hash_of_sources(track_rules: TrackRules) -> bytes:
    """Return the hash of the rules outside the project's folders: the user's and the repository's own."""
    sources = (track_rules.excludes, repository_excludes(track_rules.root))
    return hashlib.sha256(b"".join(_hash_of(str(path)) for path in sources if path)).digest()


def look_at_ignore_file(folder: str, last: IgnoreFileSeen | None, *, since_ns: int) -> IgnoreFileSeen | None:
    """Return the current ignore file of the folder (an absolute path); read only if its times differ."""
    path = f"{folder}/{IGNORE_FILE}"
    try:
        found = os.lstat(path)
    except OSError:
        return None
    times = (found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_size)
    if last and (last.mtime_ns, last.ctime_ns, last.inode, last.size) == times:
        return last
    seen = IgnoreFileSeen(*times, _hash_of(path) if stat.S_ISREG(found.st_mode) else b"")
    if is_settled(seen, since_ns):
        return seen
    return IgnoreFileSeen(seen.mtime_ns, 0, seen.inode, seen.size, seen.sha256)


def is_same(one: IgnoreFileSeen | None, other: IgnoreFileSeen | None) -> bool:
    """Whether both have the same rules."""
    return (one.sha256 if one else b"") == (other.sha256 if other else b"")


def is_bare_repository(names: Iterable[str]) -> bool:
    """Whether these are the names in a folder in which git keeps its own files."""
    return {"HEAD", "objects", "refs"} <= set(names)


def _hash_of(path: str) -> bytes:
    try:
        with open_file(Path(path)) as file:
            return hashlib.sha256(file.read(IGNORE_FILE_BYTES_MAX)).digest()
    except (OSError, UsageError):
        return b""
