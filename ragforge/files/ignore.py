"""What git ignores: `.gitignore` files, `.git/info/exclude` and the user's own excludes file."""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from re import Pattern
from typing import Protocol, cast

from msgspec import Struct

from ragforge.config.repository import GIT_NAME as GIT_FOLDER
from ragforge.config.repository import foreign_repository
from ragforge.domain import timeouts
from ragforge.domain.errors import UsageError
from ragforge.files.open import open_file

IGNORE_FILE_BYTES_MAX = 1024 * 1024

_GROUP_NAME = re.compile(r"\(\?P<\w+>")


class Line(Struct, frozen=True):
    """A line of an ignore file. ignored: False if it starts with `!`."""

    regex: Pattern[str]
    ignored: bool


class IgnoreFile(Struct, frozen=True):
    """The lines of one file, and the folder that their paths are relative to.

    any_line: matches whenever one of the lines does, so that one look rules out most paths; None if each line
    must be checked.
    """

    folder: str
    lines: tuple[Line, ...]
    any_line: Pattern[str] | None = None


Rules = tuple[IgnoreFile, ...]
"""What is in force in a folder; the last one that says something about a path decides."""


def rules_above(folder: Path, root: Path, excludes: Path | None) -> Rules:
    """Return the rules for the folder itself: all except those of its own `.gitignore`.

    root: where the rules start; it contains the folder. excludes: the user's own file, if any.
    """
    base = str(root)
    files = [read_rules(path, base) for path in (excludes, repository_excludes(root)) if path]
    files += [
        read_rules(above / ".gitignore", str(above))
        for above in reversed(folder.parents)
        if above.is_relative_to(root)
    ]
    return tuple(file for file in files if file.lines)


def repository_excludes(root: Path) -> Path | None:
    """Return the repository's own excludes file, which need not exist; None if the repository is foreign."""
    return None if foreign_repository(root) else root / GIT_FOLDER / "info" / "exclude"


def rules_in(folder: str, rules: Rules) -> Rules:
    """Return the rules for the contents of the folder: the inherited ones and its own."""
    own = read_rules(Path(folder) / ".gitignore", folder)
    return (*rules, own) if own.lines else rules


def is_ignored(path: str, rules: Rules, *, is_folder: bool) -> bool:
    """Whether git ignores the path, assuming that its folder is not ignored."""
    if path.rpartition("/")[2] == GIT_FOLDER:
        return True
    for file in reversed(rules):
        relative = path[len(file.folder.rstrip("/")) + 1 :] + ("/" if is_folder else "")
        if file.any_line and not file.any_line.search(relative):
            continue
        for line in reversed(file.lines):
            if _is_meant(line.regex, relative, is_folder=is_folder):
                return line.ignored
    return False


def _is_meant(regex: Pattern[str], relative: str, *, is_folder: bool) -> bool:
    """Whether the pattern matches the path itself, not only a folder above it or its contents."""
    for found in regex.finditer(relative):
        if "ps_d" in regex.groupindex and found["ps_d"]:
            if found.end("ps_d") == len(relative):
                return True
        elif not (is_folder and found.end() == len(relative)):
            return True
    return False


def excludes_file(environ: Mapping[str, str]) -> Path | None:
    """Return the user's own excludes file, as git finds it. Only the user's settings count, not a
    repository's.

    The file need not exist. None if there is no git. Starts a process.
    """
    git = ["git", "-c", "core.fsmonitor=false", "--no-optional-locks"]
    ask = [*git, "config", "--global", "--type=path", "--get", "core.excludesFile"]
    # A relative folder in PATH would make git whatever a file called git in the project is.
    path = ":".join(each for each in environ.get("PATH", os.defpath).split(":") if each.startswith("/"))
    try:
        answer = subprocess.run(
            ask,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeouts.GIT_S_MAX,
            check=False,
            env={**environ, "PATH": path},
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if name := os.fsdecode(answer.stdout).removesuffix("\n"):
        return Path(os.path.realpath(name))
    home = environ.get("HOME") or str(Path("~").expanduser())
    # Links are followed here, because many keep their settings elsewhere; what is read is never a link.
    return Path(os.path.realpath(f"{environ.get('XDG_CONFIG_HOME') or f'{home}/.config'}/git/ignore"))


def read_rules(path: Path, folder: str) -> IgnoreFile:
    """Return the file's lines; none if it is missing or unreadable, as in git."""
    try:
        with open_file(path) as file:
            content = file.read(IGNORE_FILE_BYTES_MAX)
    except (OSError, UsageError):
        return IgnoreFile(folder, ())
    text = os.fsdecode(content.removeprefix(b"\xef\xbb\xbf"))
    lines = tuple(_compiled(text.split("\n")))
    return IgnoreFile(folder, lines, _any_of(lines))


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


def _any_of(lines: Sequence[Line]) -> Pattern[str] | None:
    """Return all lines as one expression; None if that is not worth it, or impossible."""
    patterns = [line.regex.pattern for line in lines]
    names = [line.regex.groupindex for line in lines]
    # A name may stand in an expression only once, and what looks like one may stand within brackets.
    if len(lines) < 2 or any(p.count("(?P<") != len(n) for p, n in zip(patterns, names, strict=True)):
        return None
    return re.compile("|".join(f"(?:{_GROUP_NAME.sub('(?:', pattern)})" for pattern in patterns))


class _Compiled(Protocol):
    """The part of pathspec's pattern type that is used here."""

    regex: Pattern[str] | None
    include: bool | None
