"""What git ignores: `.gitignore` files, `.git/info/exclude` and the person's own excludes file."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from re import Pattern
from typing import Protocol, cast

from ragforge.domain.errors import UsageError
from ragforge.tools.files import open_file

IGNORE_FILE_BYTES_MAX = 1024 * 1024
GIT_FOLDER = ".git"


@dataclass(frozen=True, slots=True)
class Line:
    """A line of an ignore file. ignored: False where it begins with `!`."""

    regex: Pattern[str]
    ignored: bool


@dataclass(frozen=True, slots=True)
class IgnoreFile:
    """The lines of one file, and the folder that their paths are relative to."""

    folder: str
    lines: tuple[Line, ...]


Rules = tuple[IgnoreFile, ...]
"""What is in force in a folder; the last one that says something about a path decides."""


def rules_above(folder: Path, root: Path, excludes: Path | None) -> Rules:
    """The rules in force for the folder itself: all but those of its own `.gitignore`.

    root: where the rules begin; the folder lies in it. excludes: the person's own file, if any.
    """
    base = str(root)
    files = [read_rules(path, base) for path in (excludes, root / GIT_FOLDER / "info" / "exclude") if path]
    files += [
        read_rules(above / ".gitignore", str(above))
        for above in reversed(folder.parents)
        if above.is_relative_to(root)
    ]
    return tuple(file for file in files if file.lines)


def rules_in(folder: str, rules: Rules) -> Rules:
    """The rules for what lies in the folder: those that are in force there, and its own."""
    own = read_rules(Path(folder) / ".gitignore", folder)
    return (*rules, own) if own.lines else rules


def is_ignored(path: str, rules: Rules, *, is_folder: bool) -> bool:
    """Whether git ignores the path, given that it does not ignore the folder in which it lies."""
    if path.rpartition("/")[2] == GIT_FOLDER:
        return True
    for file in reversed(rules):
        relative = path[len(file.folder.rstrip("/")) + 1 :] + ("/" if is_folder else "")
        for line in reversed(file.lines):
            if _is_meant(line.regex, relative, is_folder=is_folder):
                return line.ignored
    return False


def _is_meant(regex: Pattern[str], relative: str, *, is_folder: bool) -> bool:
    """Whether the pattern means the path itself, not merely a folder above it or all that is in it."""
    for found in regex.finditer(relative):
        if "ps_d" in regex.groupindex and found["ps_d"]:
            if found.end("ps_d") == len(relative):
                return True
        elif not (is_folder and found.end() == len(relative)):
            return True
    return False


def read_rules(path: Path, folder: str) -> IgnoreFile:
    """The file's lines; none where it is missing or cannot be read, as in git."""
    try:
        with open_file(path) as file:
            content = file.read(IGNORE_FILE_BYTES_MAX)
    except (OSError, UsageError):
        return IgnoreFile(folder, ())
    text = os.fsdecode(content.removeprefix(b"\xef\xbb\xbf"))
    return IgnoreFile(folder, tuple(_compiled(text.split("\n"))))


def _compiled(lines: list[str]) -> Iterator[Line]:
    # Takes 60 ms to import, and whoever imports the tools need not walk.
    from pathspec.patterns.gitignore import GitIgnorePatternError
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    for line in lines:
        try:
            pattern = cast("_Compiled", GitIgnoreSpecPattern(line.removesuffix("\r")))
        except GitIgnorePatternError:
            continue  # git passes over such lines too
        if pattern.regex is not None and pattern.include is not None:
            yield Line(pattern.regex, pattern.include)


class _Compiled(Protocol):
    """What we use of pathspec's pattern, whose own types leave open what the expression is for."""

    regex: Pattern[str] | None
    include: bool | None
