"""Open a path without ever waiting for a pipe or a device."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from ragforge.domain.errors import UsageError

TEXT_BYTES_MAX = 32 * 1024 * 1024
"""Files above this are read in pieces and not edited."""

KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
SIGNATURES = (
    (b"\x7fELF", "program (ELF)"),
    (b"\xcf\xfa\xed\xfe", "program (Mach-O)"),
    (b"%PDF", "PDF document"),
    (b"PK\x03\x04", "ZIP archive or a document made of one"),
    (b"\x1f\x8b", "gzip archive"),
    (b"\xfd7zXZ", "xz archive"),
    (b"BZh", "bzip2 archive"),
    (b"\x28\xb5\x2f\xfd", "zstd archive"),
    (b"7z\xbc\xaf", "7-Zip archive"),
    (b"SQLite format 3", "SQLite database"),
    (b"\0asm", "WebAssembly"),
    (b"\xca\xfe\xba\xbe", "Java class or universal program"),
    (b"OggS", "Ogg media"),
    (b"ID3", "MP3 audio"),
    (b"wOF", "font"),
)


class NotAFile(UsageError):
    """The path is a folder, pipe, socket or device."""


def open_file(path: Path) -> BinaryIO:
    """Return the file, opened for reading. Raises NotAFile or OSError, immediately in any case.

    path: resolved; a link that replaced it meanwhile is refused.
    """
    _must_be_file(path, path.stat().st_mode)
    # What was a file a moment ago may be a pipe now: not waiting for a writer, and looking again.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW | os.O_CLOEXEC)
    file = os.fdopen(descriptor, "rb")
    try:
        _must_be_file(path, os.fstat(descriptor).st_mode)
    except NotAFile:
        file.close()
        raise
    return file


def read_whole(path: Path) -> bytes:
    """Return the content. Raises NotAFile, OSError, or UsageError if it is too large to hold."""
    with open_file(path) as file:
        content = file.read(TEXT_BYTES_MAX + 1)
    if len(content) > TEXT_BYTES_MAX:
        raise UsageError(f"The file is larger than {size(TEXT_BYTES_MAX)}. Change it with a shell command.")
    return content


def kind_of(content: bytes) -> str:
    """Return what a file that is not text probably is."""
    return next((kind for start, kind in SIGNATURES if content.startswith(start)), "unknown kind")


def size(count: int) -> str:
    """Return the number of bytes for a user."""
    if count < 1024:
        return f"{count} bytes"
    value, unit = count / 1024, "KB"
    for larger in ("MB", "GB", "TB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.1f} {unit}"


def why(error: OSError) -> str:
    """Return what went wrong with a file, in plain words, and what to do if possible."""
    match error.errno:
        case errno.ENOENT:
            return "it does not exist"
        case errno.EACCES | errno.EPERM:
            return "permission denied"
        case errno.ENOTDIR | errno.EEXIST:
            return "a part of the path is a file, not a folder"
        case errno.EISDIR:
            return "it is a folder"
        case errno.EROFS:
            return "the disk is mounted read-only"
        case errno.ENOSPC | errno.EDQUOT:
            return "the disk is full or the quota is used up; free some space first"
        case errno.EFBIG:
            return "the file would be larger than this system allows"
        case _:
            return error.strerror or type(error).__name__


def _must_be_file(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = KINDS.get(stat.S_IFMT(mode), "no regular file")
        raise NotAFile(f"{path.name or path} is {kind}, not a file.")
