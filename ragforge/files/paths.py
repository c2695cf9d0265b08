"""Whether a path is inside a folder, and whether writing to it always needs approval."""

import unicodedata
from pathlib import Path

PROTECTED_NAMES = frozenset({".git", ".ragforge", "git~1"})
"""Folders in which a change runs code or grants consent later. `git~1` is `.git` on Windows disks."""


def inside(path: Path, root: Path) -> bool:
    """Whether the path is the root or below it. Both must be resolved, see `resolve`."""
    return ".." not in path.parts and path.is_relative_to(root)


def is_protected(path: Path, root: Path) -> bool:
    """Whether the path is in `.git` or `.ragforge`, where every write needs approval.

    Names are compared like on a file system that ignores case and invisible characters.
    """
    parts = path.relative_to(root).parts if inside(path, root) else path.parts
    return any(_plain(part) in PROTECTED_NAMES for part in parts)


def _plain(name: str) -> str:
    visible = "".join(char for char in name if unicodedata.category(char) != "Cf")
    return unicodedata.normalize("NFKC", visible).casefold().rstrip(". ")
