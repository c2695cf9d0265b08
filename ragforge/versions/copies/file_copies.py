"""Copies of a project's tracked files in folders outside it: created, locked, removed."""

import fcntl
import os
import posixpath
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event

from msgspec import Struct

from ragforge.domain.errors import UsageError
from ragforge.domain.ids import new_id
from ragforge.files.locks import open_lock, try_lock
from ragforge.files.open import NotAFile, open_file, why
from ragforge.versions.scan.manifest import Manifest
from ragforge.versions.scan.track_rules import VCS_NAMES

COPIES = "copies"
"""The subfolder of the data folder with all copies."""

FICLONE = 0x40049409
"""The ioctl with which Linux lets two files share their blocks until one of them is written."""

_LOCK = ".lock"
_CHUNK_BYTES = 1 << 20


class Copied(Struct, frozen=True):
    """The result of a copy.

    links_out: links that lead out of the copy, relative to it; they are kept, so writing through one writes
    outside. missing: paths that could not be copied, and why, in a few words each.
    """

    root: Path
    links_out: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


class CopyCancelled(Exception):
    """The copy was cancelled before it was complete."""


def copy_project(
    source: Path, target: Path, manifest: Manifest, *, carry: Sequence[str] = (), stop: Event | None = None
) -> Copied:
    """Copy what the manifest tracks, and the paths to carry. Call it in a thread.

    Each file is cloned if the disk supports it, or else copied, but never hard-linked: a write to one must
    not change the other. target: created here, with its parents.
    Raises UsageError if the target is inside the project or cannot be written, CopyCancelled.
    """
    if Path(os.path.realpath(target)).is_relative_to(os.path.realpath(source)):
        raise UsageError(
            f"Copies of the project would be inside the project itself, at {target}. Choose another folder "
            "for "
            "ragforge's data with RAGFORGE_DATA_DIR."
        )
    copying = _Copying(os.path.realpath(source), str(target), stop or Event())
    try:
        target.mkdir(mode=0o700, parents=True)
        for path, seen in manifest.entries.items():
            copying.add(path, seen.mode)
        for path in carry:
            copying.carry(path)
        copying.finish()
    except OSError as error:
        raise UsageError(f"Cannot copy the project to {target}: {why(error)}.") from error
    return Copied(target, tuple(copying.links_out), tuple(copying.missing))


class _Copying:
    """One copy in progress."""

    def __init__(self, source: str, target: str, stop: Event) -> None:
        self.links_out: list[str] = []
        self.missing: list[str] = []
        self._source, self._target, self._stop = source, target, stop
        self._folders: set[str] = {""}

    def add(self, path: str, mode: int) -> None:
        """Copy the file, link or folder at the path; what no longer exists is left out."""
        if self._stop.is_set():
            raise CopyCancelled
        self._make_folders(path if stat.S_ISDIR(mode) else posixpath.dirname(path))
        try:
            if stat.S_ISLNK(mode):
                self._link(path)
            elif stat.S_ISREG(mode):
                self._file(path)
            elif not stat.S_ISDIR(mode):
                self.missing.append(f"{path} (not a file, link or folder)")
        except FileNotFoundError:
            if os.path.lexists(f"{self._source}/{path}"):
                raise
        except (NotAFile, PermissionError) as error:
            reason = why(error) if isinstance(error, OSError) else "no longer a file"
            self.missing.append(f"{path} ({reason})")

    def carry(self, path: str) -> None:
        """Copy the path with everything below it, tracked or not."""
        path = posixpath.normpath(path)
        if not VCS_NAMES.isdisjoint(path.split("/")):
            self.missing.append(f"{path} (version control files are never copied)")
            return
        folder = f"{self._source}/{posixpath.dirname(path)}".rstrip("/")
        if os.path.realpath(folder) != folder:
            # A project may name what to carry, but must not fetch other folders through a link.
            self.missing.append(f"{path} (its path contains a link)")
            return
        try:
            mode = os.lstat(f"{self._source}/{path}").st_mode
        except OSError as error:
            self.missing.append(f"{path} ({why(error)})")
            return
        self._carry_any(path, mode)

    def _carry_any(self, path: str, mode: int) -> None:
        if not os.path.lexists(f"{self._target}/{path}") or stat.S_ISDIR(mode):
            self.add(path, mode)
        if not stat.S_ISDIR(mode):
            return
        try:
            with os.scandir(f"{self._source}/{path}") as entries:
                below = [(entry.name, entry.stat(follow_symlinks=False).st_mode) for entry in entries]
        except PermissionError as error:
            self.missing.append(f"{path} ({why(error)})")
            return
        for name, below_mode in below:
            self._carry_any(f"{path}/{name}", below_mode)

    def finish(self) -> None:
        """Set the folders' modes, innermost first: one may be read-only."""
        for folder in sorted(self._folders, reverse=True):
            with suppress(FileNotFoundError):
                mode = Path(self._source, folder).lstat().st_mode
                Path(self._target, folder).chmod(mode & 0o777)

    def _make_folders(self, folder: str) -> None:
        if folder not in self._folders:
            self._make_folders(posixpath.dirname(folder))
            Path(self._target, folder).mkdir(mode=0o700, exist_ok=True)
            self._folders.add(folder)

    def _link(self, path: str) -> None:
        # Not as a Path, which would normalise it.
        leads_to = os.readlink(f"{self._source}/{path}")  # noqa: PTH115
        os.symlink(leads_to, f"{self._target}/{path}")  # noqa: PTH211
        if _leads_out(path, leads_to):
            self.links_out.append(path)

    def _file(self, path: str) -> None:
        with open_file(Path(f"{self._source}/{path}")) as source:
            found = os.fstat(source.fileno())
            target = os.open(
                f"{self._target}/{path}", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600
            )
            try:
                _clone(source.fileno(), target)
                os.fchmod(target, stat.S_IMODE(found.st_mode) & 0o777)
                # Build tools rely on modification times.
                os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))
            finally:
                os.close(target)


def _leads_out(path: str, leads_to: str) -> bool:
    """Whether a link at the path leads out of the root that the path is relative to."""
    if leads_to.startswith("/"):
        return True
    where = posixpath.normpath(posixpath.join(posixpath.dirname(path), leads_to))
    return where == ".." or where.startswith("../")


def _clone(source: int, target: int) -> None:
    try:
        fcntl.ioctl(target, FICLONE, source)
    except OSError:  # another disk, or one without clones
        while chunk := os.read(source, _CHUNK_BYTES):
            rest = memoryview(chunk)
            while rest:
                rest = rest[os.write(target, rest) :]


class Room:
    """A folder for copies that this process has locked until it is removed, or the process ends."""

    def __init__(self, folder: Path, lock: int) -> None:
        self.folder = folder
        self._lock = lock

    def remove(self) -> None:
        """Remove the folder with all copies, and the lock. Accesses the disk: call it in a thread."""
        remove_tree(self.folder)
        with suppress(FileNotFoundError):
            Path(f"{self.folder}{_LOCK}").unlink()
        os.close(self._lock)

    def leave(self) -> None:
        """Leave the folder to the next process that finds it."""
        os.close(self._lock)


def make_room(data_dir: Path) -> Room:
    """Create a new folder for copies, locked. Raises UsageError if it cannot be created."""
    folder = data_dir / COPIES / new_id()
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # The lock first: a folder without one would look abandoned.
        lock = _locked(folder)
        if lock is None:
            raise UsageError(f"Cannot lock {folder}: another process has it. Try again.")
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise UsageError(f"Cannot make {folder} for copies of the project: {why(error)}.") from error
    return Room(folder, lock)


def left_rooms(data_dir: Path) -> Iterator[Room]:
    """Return the folders of dead processes, each now locked by this one: `remove` it, or `leave` it."""
    try:
        names = sorted(path.name for path in (data_dir / COPIES).iterdir())
    except FileNotFoundError:
        return
    for name in names:
        folder = data_dir / COPIES / name.removesuffix(_LOCK)
        if name.endswith(_LOCK) and folder.exists():
            continue  # removed with its folder
        lock = _locked(folder)
        if lock is not None:
            yield Room(folder, lock)


def _locked(folder: Path) -> int | None:
    """Lock the folder; return None if another process holds the lock."""
    path = f"{folder}{_LOCK}"
    lock = open_lock(Path(path), flags=os.O_NOFOLLOW)
    if try_lock(lock):
        return lock
    os.close(lock)
    return None


def remove_tree(folder: Path) -> None:
    """Remove the folder and everything in it, read-only folders included; links are not followed."""
    for where, folders, _ in os.walk(folder):
        for name in folders:
            path = Path(where, name)
            if not path.is_symlink():
                with suppress(OSError):
                    path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
