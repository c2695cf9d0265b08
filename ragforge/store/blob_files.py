"""Read files for the blob store, a limited number of bytes at once."""

import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from ragforge.store.blob_forms import ROW_BYTES_MAX

BATCH_BYTES = 32 * 1024 * 1024
BATCH_FILES = 25_000
"""How much of files is in memory at once, and stored by one transaction."""

_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW | os.O_CLOEXEC


class Raw(Struct, frozen=True):
    """A content before it is stored: its bytes, or the file if it is large."""

    digest: bytes
    data: bytes = b""
    path: Path | None = None


def raw_of(data: bytes) -> Raw:
    """Return the content with its hash."""
    return Raw(hashlib.sha256(data).digest(), data)


def read_batch(waiting: Iterator[Path]) -> Iterator[Raw | None]:
    """Return the next files, as many as are held in memory at once; None for one that cannot be read."""
    size = count = 0
    while size < BATCH_BYTES and count < BATCH_FILES:
        path = next(waiting, None)
        if path is None:
            return
        try:
            raw = _read(path)
        except OSError:
            raw = None
        size += len(raw.data) if raw else 0
        count += 1
        yield raw


def open_regular(path: Path) -> BinaryIO | None:
    """Open the file; None if something else is there. Raises OSError, and never waits for a pipe."""
    descriptor = os.open(path, _OPEN)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    return os.fdopen(descriptor, "rb", buffering=0)


def _read(path: Path) -> Raw | None:
    """Return the content of the file or link. None for anything else; raises OSError."""
    try:
        descriptor = os.open(path, _OPEN)
    except OSError as error:
        if error.errno not in {errno.ELOOP, errno.EMLINK}:
            raise
        return raw_of(os.fsencode(os.readlink(path)))  # noqa: PTH115 -- Path would tidy the target up
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return None
        # One more than expected, so that the end of a small file takes one call.
        data = os.read(descriptor, min(found.st_size, ROW_BYTES_MAX) + 1)
        if len(data) != found.st_size:
            data = _rest(descriptor, data)
        return raw_of(data) if len(data) <= ROW_BYTES_MAX else _read_large(descriptor, data, path)
    finally:
        os.close(descriptor)


def _rest(descriptor: int, data: bytes) -> bytes:
    while len(data) <= ROW_BYTES_MAX and (piece := os.read(descriptor, ROW_BYTES_MAX + 1 - len(data))):
        data += piece
    return data


def _read_large(descriptor: int, data: bytes, path: Path) -> Raw:
    digest = hashlib.sha256(data)
    while data := os.read(descriptor, ROW_BYTES_MAX):
        digest.update(data)
    return Raw(digest.digest(), path=path)
