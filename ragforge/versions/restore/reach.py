"""Access below a folder, step by step, so that no symbolic link ever leads outside.

Each read and each change starts at the root's own descriptor and opens every folder on the way without
following links: a folder that was replaced by a link a moment ago is detected, not entered.
"""

import errno
import hashlib
import os
import stat
import unicodedata
from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from ragforge.domain.printable import escaped
from ragforge.domain.versions import Node, NodeKind
from ragforge.files.paths import is_protected
from ragforge.versions.scan.nodes import folder_node
from ragforge.versions.scan.track_rules import VCS_NAMES

# A folder can be traversed without permission to list it. Systems other than Linux require that too.
_PASS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
MODE_BITS = 0o7777
READ_BYTES = 256 * 1024
SETTINGS_NAME = ".ragforge"


class OutOfReach(Exception):
    """Nothing can be done at the path; `str()` says why, in a few words."""


class Blocked(OutOfReach):
    """A part of the path is not a folder."""


class PathState(Struct, frozen=True):
    """The state of a path.

    node: None if nothing is there, and for a folder that is implied by its files (`NodeKind`).
    filled: there is a folder that is not empty, of this mode.
    blocked: not empty if a part of the path is not a folder; what it is instead.
    otherwise_named: nothing is there, but the disk maps the path to another file, whose name has other
    letters (README, readme); it has the node `other`.
    """

    node: Node | None = None
    filled: bool = False
    mode: int = 0
    blocked: str = ""
    otherwise_named: bool = False
    other: Node | None = None


def same(one: Node | None, other: Node | None) -> bool:
    """Whether both are the same to the last bit; values derived from the content are not compared."""
    if one is None or other is None:
        return one is other
    alike = one.kind is other.kind and one.digest == other.digest
    return alike and (one.kind is NodeKind.LINK or one.mode == other.mode)


def parents(path: str) -> list[str]:
    """Return the folders above the path within the root, uppermost first."""
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def parent(path: str) -> str:
    """Return the folder of the path; "" is the root."""
    return path.rpartition("/")[0]


def depth_order(path: str) -> list[str]:
    """Return the key that sorts a folder before its contents."""
    return path.split("/")


class Reach:
    """Access to the folder. Made by `reaching`."""

    def __init__(self, root: Path, descriptor: int, paths: Iterable[str]) -> None:
        self.root = root
        self._root = descriptor
        self._alike = _alike(paths)

    def check(self, path: str) -> None:
        """Raise OutOfReach for a path that must not be touched, or that no file can have."""
        parts = path.split("/")
        if not path or "\0" in path or any(part in ("", ".", "..") for part in parts):
            raise OutOfReach("this path is not valid in the project")
        try:
            os.fsencode(path)
        except UnicodeEncodeError as error:
            raise OutOfReach("this name is not valid here") from error
        if any(_is_version_control(part) for part in parts):
            raise OutOfReach("version control files are never touched")

    @contextmanager
    def folder(self, path: str, *, listed: bool = False) -> Generator[int]:
        """Return a descriptor of the folder at the path, "" for the root; `listed`: readable, can be synced.

        Raises FileNotFoundError if there is none, Blocked if a part of the path is not a folder.
        """
        descriptor = self._root
        parts = path.split("/") if path else []
        try:
            for index, part in enumerate(parts):
                inner = _opened(part, descriptor, "/".join(parts[: index + 1]))
                if descriptor != self._root:
                    os.close(descriptor)
                descriptor = inner
            if listed:
                outer = descriptor
                descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=outer)
                if outer != self._root:
                    os.close(outer)
            yield descriptor
        finally:
            if descriptor != self._root:
                os.close(descriptor)

    def look(self, path: str) -> PathState:
        """Return the current state of the path. Raises OutOfReach if it is unknown, OSError."""
        self.check(path)
        try:
            with self.folder(parent(path)) as folder:
                found = _look_at(path.rpartition("/")[2], folder)
        except FileNotFoundError:
            return PathState()
        except Blocked as error:
            return PathState(blocked=str(error))
        if found != PathState() and self._has_other_name(path):
            return PathState(otherwise_named=True, other=found.node)
        return found

    def read(self, path: str, node: Node) -> bytes:
        """Return the content of the file or link, if it is still that of the node.

        Raises OutOfReach if it is not, OSError.
        """
        with self.folder(parent(path)) as folder:
            name = path.rpartition("/")[2]
            if node.kind is NodeKind.LINK:
                content = os.readlink(os.fsencode(name), dir_fd=folder)
            else:
                with os.fdopen(os.open(name, _READ, dir_fd=folder), "rb") as file:
                    content = file.read()
        if hashlib.sha256(content).hexdigest() != node.digest:
            raise OutOfReach("it has just changed")
        return content

    def nearest_folder(self, path: str) -> str:
        """Return the longest part of the path that is a folder now; "" is the root."""
        nearest = ""
        for each in parents(path):
            try:
                with self.folder(each):
                    if self._has_other_name(each):
                        break
                    nearest = each
            except (FileNotFoundError, Blocked):
                break
        return nearest

    def _has_other_name(self, path: str) -> bool:
        """Whether a case-insensitive disk stores it under another name."""
        for each in (*parents(path), path):
            if each in self._alike:
                with self.folder(parent(each), listed=True) as folder:
                    if each.rpartition("/")[2] not in {entry.name for entry in os.scandir(folder)}:
                        return True
        return False


@contextmanager
def reaching(root: Path, paths: Iterable[str]) -> Generator[Reach]:
    """Open the root for these paths: all that are accessed, so that similar names can be told apart.

    Raises OSError if the root is not a folder that can be opened.
    """
    descriptor = os.open(root, _PASS & ~os.O_NOFOLLOW)
    try:
        yield Reach(root, descriptor, paths)
    finally:
        os.close(descriptor)


def _opened(name: str, folder: int, path: str) -> int:
    try:
        return os.open(name, _PASS, dir_fd=folder)
    except OSError as error:
        if error.errno not in (errno.ENOTDIR, errno.ELOOP, errno.EMLINK):
            raise
        with suppress(FileNotFoundError):
            mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
            kind = "a symbolic link" if stat.S_ISLNK(mode) else "no folder"
            raise Blocked(f"{escaped(path)} on its path is {kind}") from error
        raise Blocked(f"{escaped(path)} on its path is not a folder") from error


def _look_at(name: str, folder: int) -> PathState:
    try:
        seen = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return PathState()
    except NotADirectoryError:
        return PathState()
    mode = seen.st_mode & MODE_BITS
    if stat.S_ISREG(seen.st_mode):
        digest, size = _digest_of(name, folder, seen)
        return PathState(Node(NodeKind.FILE, digest, mode, size))
    if stat.S_ISLNK(seen.st_mode):
        target = os.readlink(os.fsencode(name), dir_fd=folder)
        return PathState(Node(NodeKind.LINK, hashlib.sha256(target).hexdigest(), 0, len(target)))
    if stat.S_ISDIR(seen.st_mode):
        inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            with os.scandir(inner) as entries:
                filled = next(entries, None) is not None
        finally:
            os.close(inner)
        return PathState(folder_node(mode, is_empty=not filled), filled=filled, mode=mode)
    raise OutOfReach("a pipe, socket or device is there")


def _digest_of(name: str, folder: int, seen: os.stat_result) -> tuple[str, int]:
    descriptor = os.open(name, _READ, dir_fd=folder)
    try:
        before = os.fstat(descriptor)
        digest = hashlib.sha256()
        while part := os.read(descriptor, READ_BYTES):
            digest.update(part)
        after = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if _moment(seen) != _moment(before) or _moment(before) != _moment(after):
        raise OutOfReach("it is being changed right now")
    return digest.hexdigest(), after.st_size


def _moment(seen: os.stat_result) -> Sequence[int]:
    return seen.st_dev, seen.st_ino, seen.st_mode, seen.st_size, seen.st_mtime_ns


@lru_cache(maxsize=4096)  # the same names of folders occur often
def _is_version_control(name: str) -> bool:
    # The project's own settings are restored like any file; the user decides about them.
    return name != SETTINGS_NAME and (is_protected(Path("/", name), Path("/")) or name.lower() in VCS_NAMES)


def _alike(paths: Iterable[str]) -> frozenset[str]:
    """Return the paths, with their folders, that a case-insensitive disk takes for one another."""
    all_paths = {each for path in paths for each in (*parents(path), path)}
    counts = Counter(map(_plain, all_paths))
    return frozenset(path for path in all_paths if counts[_plain(path)] > 1)


def _plain(path: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
