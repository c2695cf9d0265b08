"""Read a path in a way that detects changes meanwhile; list a folder without reading its files."""

import errno
import hashlib
import os
import stat
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field

from ragforge.domain.versions import FOLDER_MODE, Node, NodeKind
from ragforge.files.open import KINDS, NotAFile, size, why
from ragforge.versions.scan.manifest import FolderSeen, Seen, UntrackedPath

READS_MAX = 3
"""How often a file that changes while it is read is read again; after that the next scan does it."""
PIECE_BYTES = 1024 * 1024

_TICK_NS = 50_000_000
"""How far a file's time may lag behind the clock: the kernel's own clock for it ticks every 10 ms or less."""
_COARSE_TICK_NS = 2_100_000_000
"""The same on disks that store whole seconds, or, like FAT, every other one."""
_SECOND_NS = 1_000_000_000

_OTHER_KIND = frozenset((errno.ELOOP, errno.EINVAL, errno.EMLINK))
"""The errors of opening a link as a file, or reading a file as a link."""

_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW | os.O_CLOEXEC
_NOTHING = FolderSeen({}, {})


class Unread(Exception):
    """Something is there, and its content is unavailable; `str()` says why in a few words."""


class Content(Struct, frozen=True):
    """A file or link as it was read. data: its bytes, if requested."""

    seen: Seen
    data: bytes | None = None


def node_at(path: Path) -> Node | None:
    """Return the current content of the path, read to its end; None if nothing is there.

    None also for a folder that is implied by its files (`NodeKind`).
    Raises OSError if it cannot be read, NotAFile for a pipe, a socket or a device, which is not opened.
    """
    text = os.fspath(path)
    try:
        if (found := _lying_at(text)) is None:
            return None
        if stat.S_ISDIR(found.st_mode):
            with os.scandir(text) as entries:
                is_empty = next(entries, None) is None
            return folder_node(stat.S_IMODE(found.st_mode), is_empty=is_empty)
        if kind := KINDS.get(stat.S_IFMT(found.st_mode)):
            raise NotAFile(f"{path.name} is {kind}, not a file.")
        return _read(text, found, bytes_max=None, keep=False).seen.node
    except (FileNotFoundError, NotADirectoryError):
        return None


def _lying_at(path: str) -> os.stat_result | None:
    """Return what is there; None if a symbolic link loop replaces a folder on the way."""
    try:
        return os.lstat(path)
    except OSError as error:
        if error.errno == errno.ELOOP:
            return None
        raise


def folder_node(mode: int, *, is_empty: bool) -> Node | None:
    """Return a folder as a path of its own; None if its files imply it."""
    return Node(NodeKind.FOLDER, "", mode) if is_empty or mode != FOLDER_MODE else None


def read_content(
    path: str, found: os.stat_result, *, bytes_max: int | None, since_ns: int, keep: bool = False
) -> Content:
    """Return the file or link at the path; `found` is its lstat.

    since_ns: when the scan started, as in `time.time_ns`. keep: return the bytes too.
    Raises FileNotFoundError if it vanished, Unread if it cannot be read or is too large.
    """
    if kind := KINDS.get(stat.S_IFMT(found.st_mode)):
        raise Unread(kind)
    try:
        content = _read(path, found, bytes_max=bytes_max, keep=keep)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise FileNotFoundError(path) from None
    except NotAFile as error:
        raise Unread(str(error)) from error
    except OSError as error:
        raise Unread(f"cannot be read: {why(error)}") from error
    if is_settled(content.seen, since_ns):
        return content
    seen = content.seen
    return Content(Seen(seen.mode, seen.size, seen.mtime_ns, 0, seen.inode, seen.sha256), content.data)


class Timed(Protocol):
    """The times of a file."""

    @property
    def mtime_ns(self) -> int:
        """When its content changed."""
        ...

    @property
    def ctime_ns(self) -> int:
        """When anything of it changed."""
        ...


def is_settled(seen: Timed, since_ns: int) -> bool:
    """Whether a change after it was read must be visible in the file's times.

    Not if it changed so shortly before that a second change gets the same time.
    """
    newest = max(seen.mtime_ns, seen.ctime_ns)
    tick = _COARSE_TICK_NS if seen.ctime_ns % _SECOND_NS == 0 else _TICK_NS
    return seen.ctime_ns != 0 and newest < since_ns - tick


def too_large(bytes_max: int) -> str:
    """Why a file over the limit is not tracked."""
    return f"larger than {size(bytes_max)}"


def now_ns() -> int:
    """The clock that files' times are compared with."""
    return time.time_ns()


def _read(path: str, found: os.stat_result, *, bytes_max: int | None, keep: bool) -> Content:
    """Like `read_content`; `ctime_ns` is 0 if the file kept changing."""
    for _ in range(READS_MAX):
        try:
            if stat.S_ISLNK(found.st_mode):
                return _read_link(path, found, keep=keep)
            return _read_file(path, bytes_max=bytes_max, keep=keep)
        except OSError as error:
            if error.errno not in _OTHER_KIND:
                raise
            found = os.lstat(path)
    raise OSError(errno.EAGAIN, "it keeps changing")


def _read_file(path: str, *, bytes_max: int | None, keep: bool) -> Content:
    descriptor = os.open(path, _OPEN)
    try:
        for attempt in range(1, READS_MAX + 1):
            before = os.fstat(descriptor)
            if stat.S_ISDIR(before.st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
            if kind := KINDS.get(stat.S_IFMT(before.st_mode)):
                raise NotAFile(kind)
            if bytes_max is not None and before.st_size > bytes_max:
                raise NotAFile(too_large(bytes_max))
            if attempt > 1:
                os.lseek(descriptor, 0, os.SEEK_SET)
            digest, length, data = _hash(descriptor, before.st_size, bytes_max=bytes_max, keep=keep)
            after = os.fstat(descriptor)
            is_whole = length == after.st_size and _times(before) == _times(after)
            if is_whole or attempt == READS_MAX:
                times = (after.st_mtime_ns, after.st_ctime_ns if is_whole else 0)
                return Content(Seen(after.st_mode, length, *times, after.st_ino, digest), data)
        raise AssertionError("unreachable")
    finally:
        os.close(descriptor)


def _hash(
    descriptor: int, expected: int, *, bytes_max: int | None, keep: bool
) -> tuple[bytes, int, bytes | None]:
    """Return hash, length, and the bytes if they are requested."""
    # One more than expected, so that the end of a small file takes one call.
    first = os.read(descriptor, min(expected, PIECE_BYTES) + 1)
    if len(first) == expected <= PIECE_BYTES:
        return hashlib.sha256(first).digest(), len(first), first if keep else None
    pieces, length, digest = [first], len(first), hashlib.sha256(first)
    while piece := os.read(descriptor, PIECE_BYTES):
        length += len(piece)
        if bytes_max is not None and length > bytes_max:
            raise NotAFile(too_large(bytes_max))
        digest.update(piece)
        if keep:
            pieces.append(piece)
    return digest.digest(), length, b"".join(pieces) if keep else None


def _read_link(path: str, found: os.stat_result, *, keep: bool) -> Content:
    target = os.fsencode(os.readlink(path))  # noqa: PTH115 -- Path would normalise the target
    after = os.lstat(path)
    ctime = after.st_ctime_ns if _times(found) == _times(after) else 0
    digest = hashlib.sha256(target).digest()
    seen = Seen(after.st_mode, len(target), after.st_mtime_ns, ctime, after.st_ino, digest)
    return Content(seen, target if keep else None)


def _times(found: os.stat_result) -> tuple[int, int, int, int, int]:
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_mode)


class Listed(Struct):
    """The contents of a folder.

    folders: names of folders. new: everything else that was not tracked. changed: tracked, with other times.
    vanished: names that were tracked and no longer exist, or are folders now.
    others: untracked and not read this time: they stay as they were.
    is_empty: whether the folder contains nothing at all.
    """

    folders: list[str] = field(default_factory=list[str])
    new: list[tuple[str, os.stat_result]] = field(default_factory=list[tuple[str, os.stat_result]])
    changed: list[tuple[str, os.stat_result, Seen]] = field(
        default_factory=list[tuple[str, os.stat_result, Seen]]
    )
    vanished: list[str] = field(default_factory=list[str])
    others: dict[str, UntrackedPath] = field(default_factory=dict[str, UntrackedPath])
    is_empty: bool = False

    def names(self) -> Iterable[str]:
        """The names of folders and of new files."""
        yield from self.folders
        yield from (name for name, _ in self.new)


def list_folder(at: str, then: FolderSeen | None) -> Listed:
    """List the folder. Raises OSError.

    This runs once per file in every scan, so an unchanged file costs little more than its stat.
    """
    known = (then or _NOTHING).entries
    get = known.get
    listed = Listed()
    same = 0
    with os.scandir(at) as items:
        entries = list(items)
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            listed.folders.append(entry.name)
            continue
        try:
            found = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
        seen = get(entry.name)
        if seen is None:
            listed.new.append((entry.name, found))
        elif (
            found.st_mtime_ns == seen.mtime_ns
            and found.st_ctime_ns == seen.ctime_ns
            and found.st_size == seen.size
            and found.st_ino == seen.inode
            and found.st_mode == seen.mode
        ):
            same += 1
        else:
            listed.changed.append((entry.name, found, seen))
    if same + len(listed.changed) < len(known):
        there = {entry.name for entry in entries}.difference(listed.folders)
        listed.vanished = [name for name in known if name not in there]
    listed.is_empty = not entries
    return listed


def list_one(at: str, name: str, then: FolderSeen | None) -> Listed:
    """The same for a single name in the folder. Raises OSError."""
    then = then or _NOTHING
    seen = then.entries.get(name)
    listed = Listed()
    try:
        found = os.lstat(f"{at}/{name}")
    except FileNotFoundError:
        found = None
    if found and stat.S_ISDIR(found.st_mode):
        listed.folders.append(name)
    elif found and seen:
        listed.changed.append((name, found, seen))
    elif found:
        listed.new.append((name, found))
    if seen and not listed.changed:
        listed.vanished.append(name)
    with os.scandir(at) as items:
        listed.is_empty = next(items, None) is None
    return listed
