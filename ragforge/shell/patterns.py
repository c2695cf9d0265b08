"""Whether words such as `src/*.py` stay harmless after the shell replaces them by file names."""

import os
from collections.abc import Iterable
from pathlib import Path

from ragforge.files.paths import inside
from ragforge.shell.grammar import SimpleCommand
from ragforge.shell.words import Word

# They accept any number of files, so the number of names does not matter.
_TAKE_ANY_NUMBER = frozenset(("ls", "cat", "head", "tail", "wc", "file", "stat", "du", "grep", "rg"))
# Files with such names hardly exist, and if one did, the flag would still only read.
_PATTERNS_FOR_THE_PROGRAM = ("--include=", "--exclude=", "--exclude-dir=", "--glob=")


def stays_harmless(command: SimpleCommand, *, folders: Iterable[Path], root: Path) -> bool:
    """Whether every word is literal, or stands for files in the project that are no flags."""
    words = [word for word in command.words if not word.literal]
    if not words:
        return True
    return command.texts[0] in _TAKE_ANY_NUMBER and all(
        word.text.startswith(_PATTERNS_FOR_THE_PROGRAM) or stays_inside(word, folders, root) for word in words
    )


def stays_inside(word: Word, folders: Iterable[Path], root: Path) -> bool:
    """Whether no file of the folder, matching or not, is a link out of the project or named like a flag."""
    parent, _, name = word.text.rpartition("/")
    # `.*` includes `..` too; a pattern for folders matches more than one folder's files.
    if (
        not word.pattern
        or word.text.startswith("-")
        or name.startswith(".")
        or any(c in parent for c in "*?[")
    ):
        return False
    for folder in folders:
        place = Path(os.path.realpath(folder / (parent or ("/" if word.text.startswith("/") else ""))))
        if not inside(place, root):
            return False
        try:
            entries = list(os.scandir(place))
        except OSError:  # no such folder: nothing replaces the pattern
            continue
        for entry in entries:
            if entry.name.startswith("-") and not parent:
                return False
            if entry.is_symlink() and not inside(Path(os.path.realpath(entry.path)), root):
                return False
    return True
