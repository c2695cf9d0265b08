"""Words such as `src/*.py`, for which the shell puts the names of files: whether that stays harmless."""

import os
from collections.abc import Iterable
from pathlib import Path

from ragforge.files.paths import inside
from ragforge.shell.grammar import SimpleCommand
from ragforge.shell.words import Word

# They take any number of files, so it does not matter how many names there will be.
_TAKE_ANY_NUMBER = frozenset(("ls", "cat", "head", "tail", "wc", "file", "stat", "du", "grep", "rg"))
# A name that begins like this is no file of anybody's, and if it were, the flag would still only read.
_PATTERNS_FOR_THE_PROGRAM = ("--include=", "--exclude=", "--exclude-dir=", "--glob=")


def stays_harmless(command: SimpleCommand, *, folders: Iterable[Path], root: Path) -> bool:
    """Whether every word is literal, or stands for files that lie in the project and are no flags."""
    words = [word for word in command.words if not word.literal]
    if not words:
        return True
    return command.texts[0] in _TAKE_ANY_NUMBER and all(
        word.text.startswith(_PATTERNS_FOR_THE_PROGRAM) or stays_inside(word, folders, root) for word in words
    )


def stays_inside(word: Word, folders: Iterable[Path], root: Path) -> bool:
    """Whether no file of the folder, matching or not, is a link out of the project or named like a flag."""
    parent, _, name = word.text.rpartition("/")
    # `.*` stands for `..` too; a pattern for folders stands for more than one folder's files.
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
        except OSError:  # no such folder: nothing takes the place of the pattern
            continue
        for entry in entries:
            if entry.name.startswith("-") and not parent:
                return False
            if entry.is_symlink() and not inside(Path(os.path.realpath(entry.path)), root):
                return False
    return True
