"""The files that git tracks, read from its index: git ignores none of them, whatever the ignore files say.

Only reads the file's bytes: git is not started, and nothing of the repository is changed.
Source: git's own documentation, gitformat-index.
"""

import os
import re
import struct
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from ragforge.config.repository import foreign_repository, git_dir
from ragforge.domain.errors import UsageError
from ragforge.files.open import open_file

INDEX_BYTES_MAX = 256 * 1024 * 1024

_HEADER = struct.Struct(">4sLL")
_STAT_BYTES = 40
_EXTENDED = 0x4000
_SHA256 = re.compile(rb"^\s*objectformat\s*=\s*sha256\s*$", re.IGNORECASE | re.MULTILINE)


class GitIndex(Struct, frozen=True):
    """The paths of the files that git tracks, and of their folders."""

    files: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()


def git_index(root: Path) -> GitIndex:
    """Return what git tracks below the root of a repository; nothing if there is none, or it is unreadable.

    Nothing also if `.git` leads to a repository that does not know the folder.

    Of a split index, only the newer part.
    """
    folder = git_dir(root)
    if folder is None or foreign_repository(root):
        return GitIndex()
    try:
        index = _read(folder / "index")
        # The index does not say how long its hashes are. The settings of a worktree are elsewhere.
        common = folder / os.fsdecode(_read(folder / "commondir").strip() or b".")
        hash_bytes = 32 if _SHA256.search(_read(common / "config")) else 20
        files = frozenset(map(os.fsdecode, _names(index, hash_bytes)))
    except (OSError, ValueError, IndexError, struct.error):
        return GitIndex()
    folders: set[str] = set()
    for path in files:
        above = path.rpartition("/")[0]
        while above and above not in folders:
            folders.add(above)
            above = above.rpartition("/")[0]
    return GitIndex(files, frozenset(folders))


def _read(path: Path) -> bytes:
    try:
        with open_file(path) as file:
            return file.read(INDEX_BYTES_MAX)
    except (OSError, UsageError):
        return b""


def _names(index: bytes, hash_bytes: int) -> Iterator[bytes]:
    if not index:
        return
    signature, version, count = _HEADER.unpack_from(index)
    if signature != b"DIRC" or version not in {2, 3, 4}:
        raise ValueError("not a known index format")
    at, name = _HEADER.size, b""
    for _ in range(count):
        start = at
        at += _STAT_BYTES + hash_bytes
        is_extended = int.from_bytes(index[at : at + 2], "big") & _EXTENDED
        at += 4 if is_extended else 2
        if version == 4:
            removed, at = _number(index, at)
            name = name[: len(name) - removed]
        else:
            name = b""
        end = index.index(b"\0", at)
        name += index[at:end]
        # Before version 4, entries are padded with NULs to a multiple of eight bytes, at least one.
        at = end + 1 if version == 4 else start + (end - start) // 8 * 8 + 8
        yield name


def _number(index: bytes, at: int) -> tuple[int, int]:
    """Return a number in the encoding of pack files, and where it ends."""
    byte = index[at]
    value = byte & 127
    while byte & 128:
        at += 1
        byte = index[at]
        value = ((value + 1) << 7) | (byte & 127)
    return value, at + 1
