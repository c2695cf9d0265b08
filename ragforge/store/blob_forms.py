"""The forms of contents in the blob store: plain or compressed, in a row or, if large, in a separate file."""

import hashlib
import os
import secrets
import zlib
from contextlib import suppress
from enum import IntEnum
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from ragforge.config.paths import sync_folder
from ragforge.domain.errors import StoreUnavailable

ROW_BYTES_MAX = 1024 * 1024
"""Larger contents are files."""
PACK_BYTES_MIN = 400
"""Smaller contents are not compressed: the space saved is not worth the time."""
PIECE_BYTES = 1024 * 1024


class Form(IntEnum):
    """How a content is stored. The numbers are used in the database."""

    PLAIN = 0
    PACKED = 1
    PLAIN_FILE = 2
    PACKED_FILE = 3

    @property
    def is_file(self) -> bool:
        """Whether it is a separate file."""
        return self >= Form.PLAIN_FILE


class Made(Struct, frozen=True):
    """A content ready to be stored. staged: the file to be moved into place, if it is one."""

    digest: bytes
    form: Form
    data: bytes = b""
    staged: Path | None = None

    @property
    def size(self) -> int:
        """The bytes that it holds in memory."""
        return len(self.data)


def pack(data: bytes) -> tuple[Form, bytes]:
    """Return the content as stored in a row."""
    size = len(data)
    if size < PACK_BYTES_MIN:
        return Form.PLAIN, data
    # Most files are small, and most of the time would be spent on a compression window that stays empty.
    window = min(15, max(12, (size - 1).bit_length()))
    packer = zlib.compressobj(1, zlib.DEFLATED, window, min(8, window - 7))
    packed = packer.compress(data) + packer.flush()
    return (Form.PACKED, packed) if len(packed) < size else (Form.PLAIN, data)


def unpack(form: int, data: bytes) -> bytes | None:
    """Decode the content; None if it was altered so that it cannot be read."""
    if form in {Form.PLAIN, Form.PLAIN_FILE}:
        return data
    try:
        return zlib.decompress(data)
    except zlib.error:
        return None


class BlobFiles:
    """The large contents, in a folder of their own, named by their hashes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, digest: bytes) -> Path:
        """Return the path of the content, if it is here."""
        name = digest.hex()
        return self.folder / name[:2] / name

    def stage(self, source: BinaryIO) -> Made:
        """Write and sync a large content, not in its place yet. Raises OSError."""
        self._make(self.folder)
        staged = self.folder / f"{secrets.token_hex(8)}.staged"
        digest, packer = hashlib.sha256(), zlib.compressobj(1)
        first = source.read(PIECE_BYTES)
        # The beginning tells whether to compress: nearly all large incompressible contents are so throughout.
        shrinks = len(zlib.compress(first, 1)) < len(first) * 0.9
        try:
            descriptor = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                piece = first
                while piece:
                    digest.update(piece)
                    file.write(packer.compress(piece) if shrinks else piece)
                    piece = source.read(PIECE_BYTES)
                if shrinks:
                    file.write(packer.flush())
                file.flush()
                os.fsync(descriptor)
        except BaseException:
            staged.unlink(missing_ok=True)
            raise
        form = Form.PACKED_FILE if shrinks else Form.PLAIN_FILE
        return Made(digest.digest(), form, staged=staged)

    def place(self, made: Made) -> None:
        """Move a staged content into place, durably. Raises OSError."""
        assert made.staged
        path = self.path(made.digest)
        self._make(path.parent)
        made.staged.replace(path)
        sync_folder(path.parent)

    def discard(self, made: Made) -> None:
        """Remove a staged content that is not needed, or could not be moved into place."""
        if made.staged:
            made.staged.unlink(missing_ok=True)

    def read(self, digest: bytes) -> bytes | None:
        """Return the file's bytes, None if there is none. Raises OSError."""
        try:
            return self.path(digest).read_bytes()
        except FileNotFoundError:
            return None

    def is_there(self, digest: bytes) -> bool:
        """Whether there is a file of this content."""
        return self.path(digest).is_file()

    def size(self, digest: bytes) -> int:
        """Return the size of the file; 0 if there is none."""
        try:
            return self.path(digest).stat().st_size
        except OSError:
            return 0

    def remove(self, digest: bytes) -> None:
        """Remove the file of this content, if there is one. Raises OSError."""
        self.path(digest).unlink(missing_ok=True)

    def older_than(self, limit: float) -> list[tuple[Path, bytes | None, int]]:
        """Yield files last changed before then, with their sizes and the hashes of their contents.

        The hash is None for a file that was never moved into place. limit: seconds since 1970.
        """
        found: list[tuple[Path, bytes | None, int]] = []
        for path in (*self.folder.glob("*.staged"), *self.folder.glob("??/" + "?" * 64)):
            with suppress(OSError, ValueError):
                about = path.stat()
                if about.st_mtime < limit:
                    digest = None if path.suffix else bytes.fromhex(path.name)
                    found.append((path, digest, about.st_size))
        return found

    def _make(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def cannot_write(folder: Path, error: OSError) -> StoreUnavailable:
    """Return the error for a large content that could not be stored."""
    return StoreUnavailable(
        f"Cannot store a content in {folder}: {error.strerror}. Free some space there and "
        "make the folder writable."
    )
