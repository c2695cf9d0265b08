"""Write a file atomically: afterwards it is either the old one or the new one, complete."""

import contextlib
import errno
import hashlib
import os
import re
import secrets
import stat
from pathlib import Path

from ragforge.config.paths import sync_folder

_TOKEN_BYTES = 8
# A restore's temporary files have longer names: its journal says what becomes of them.
_TEMPORARY = re.compile(rf"\.[0-9a-f]{{{2 * _TOKEN_BYTES}}}\.ragforge-tmp")


class ChangedOnDisk(Exception):
    """The file changed after the new content was made."""


def hash_of(content: bytes) -> str:
    """Return the SHA-256 of the bytes in hexadecimal, as the blob store names them."""
    return hashlib.sha256(content).hexdigest()


def write_atomic(path: Path, content: bytes, *, expected: str | None) -> None:
    """Write the content through a temporary file, fsync and rename. Missing folders are created.

    path: resolved; a symbolic link at its end would be replaced. Keeps mode and owner (the owner if allowed),
    but not hard links: other names keep the old content.
    expected: hash of the current content, None for no file; raises ChangedOnDisk if it differs.
    Raises OSError if it cannot be written; then nothing is changed and no temporary file is left.
    """
    made = _make_folders(path.parent)
    temporary = path.parent / f".{secrets.token_hex(_TOKEN_BYTES)}.ragforge-tmp"
    try:
        old = _stat_of(path)
        _write_new(temporary, content, old)
        if hash_of_file(path) != expected:
            raise ChangedOnDisk(path)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        for folder in reversed(made):
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise
    for folder in {path.parent, *(folder.parent for folder in made)}:
        # The content is safe already; some network disks cannot sync a folder.
        with contextlib.suppress(OSError):
            sync_folder(folder)


def remove_temporaries(folder: Path) -> None:
    """Remove what a crashed `write_atomic` left in the folder. No other may be running there."""
    with contextlib.suppress(OSError):
        for path in folder.glob(".*.ragforge-tmp"):
            if _TEMPORARY.fullmatch(path.name):
                path.unlink()


def hash_of_file(path: Path) -> str | None:
    """Return the hash of the file's current content, None if there is no file."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None


def _stat_of(path: Path) -> os.stat_result | None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise ChangedOnDisk(path)
    # A rename would replace a file that its owner made read-only.
    if not os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    return found


def _make_folders(folder: Path) -> list[Path]:
    missing: list[Path] = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    made: list[Path] = []
    try:
        for each in reversed(missing):
            each.mkdir(exist_ok=True)
            made.append(each)
    except OSError:
        for each in reversed(made):
            with contextlib.suppress(OSError):
                each.rmdir()
        raise
    return made


def _write_new(path: Path, content: bytes, old: os.stat_result | None) -> None:
    # The mode of a new file is cut by the umask; that of an old one is set once the content is in.
    mode = 0o666 if old is None else 0o600
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        if old is not None:
            with contextlib.suppress(PermissionError):
                os.fchown(descriptor, old.st_uid, old.st_gid)
            os.fchmod(descriptor, stat.S_IMODE(old.st_mode))  # after chown, which clears setuid
        os.fsync(descriptor)
