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
    """A line of an ignore file. ignored: False where it begins with `!`."""

    regex: Pattern[str]
    ignored: bool


class IgnoreFile(Struct, frozen=True):
    """The lines of one file, and the folder that their paths are relative to.

    any_line: finds something in a path where one of the lines does, so that one look tells of most paths that
    none means them; None where each line is to be asked.
    """

    folder: str
    lines: tuple[Line, ...]
    any_line: Pattern[str] | None = None


Rules = tuple[IgnoreFile, ...]
"""What is in force in a folder; the last one that says something about a path decides."""


def rules_above(folder: Path, root: Path, excludes: Path | None) -> Rules:
    """The rules in force for the folder itself: all but those of its own `.gitignore`.

    root: where the rules begin; the folder lies in it. excludes: the user's own file, if any.
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
    """The repository's own file of patterns, which need not exist; None where it is a stranger's."""
    return None if foreign_repository(root) else root / GIT_FOLDER / "info" / "exclude"


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
        if file.any_line and not file.any_line.search(relative):
            continue
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


def excludes_file(environ: Mapping[str, str]) -> Path | None:
    """The user's own file of patterns, as git finds it. Only their settings count, not a repository's.

    The file need not exist. None where there is no git. Starts a process.
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
    """The file's lines; none where it is missing or cannot be read, as in git."""
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
    """All lines as one expression; None where that is not worth it, or cannot be made."""
    patterns = [line.regex.pattern for line in lines]
    names = [line.regex.groupindex for line in lines]
    # A name may stand in an expression only once, and what looks like one may stand within brackets.
    if len(lines) < 2 or any(p.count("(?P<") != len(n) for p, n in zip(patterns, names, strict=True)):
        return None
    return re.compile("|".join(f"(?:{_GROUP_NAME.sub('(?:', pattern)})" for pattern in patterns))


class _Compiled(Protocol):
    """What we use of pathspec's pattern, whose own types leave open what the expression is for."""

    regex: Pattern[str] | None
    include: bool | None
