"""Which repository a folder's `.git` leads to, and whether it belongs to the folder. Starts no process.

A folder from a stranger may have a `.git` that leads to somebody's private repository: a file that names one,
a link, or a folder whose parts do. git would read all of its history.
Source: git's own documentation, gitrepository-layout.
"""

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

GIT_NAME = ".git"
_BYTES_MAX = 1024 * 1024
_LINE_BYTES_MAX = 4096
_PARTS = ("HEAD", "objects", "refs", "packed-refs", "logs", "index", "config", "config.worktree", "worktrees")
"""What git reads commits, names, files and addresses from."""
_WITH_LINKS = ("refs", "logs", "objects", "worktrees")
"""Folders in which git follows links."""
_ESCAPED = re.compile(rb"\\([0-7]{1,3}|.)")
_CONTROLS = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
_SECTION = re.compile(r"^\s*\[\s*([\w.-]+)\s*\]\s*(?:[#;].*)?$")
_WORKTREE = re.compile(r'^\s*worktree\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^"#;]*?))\s*(?:[#;].*)?$', re.IGNORECASE)


def git_dir(folder: Path) -> Path | None:
    """Return the folder of git's own files, also for a work tree or a submodule, whose `.git` is a file."""
    dot_git = folder / GIT_NAME
    try:
        found = dot_git if dot_git.is_dir() else _named_by(dot_git)
        # To git, an empty `.git` is no repository either.
        return found if found and ((found / "HEAD").is_file() or (found / "HEAD").is_symlink()) else None
    except (OSError, ValueError):
        return None


def foreign_repository(folder: Path) -> Path | None:
    """Return the first of `foreign_repositories`, or None."""
    return next(foreign_repositories(folder), None)


def foreign_repositories(folder: Path) -> Iterator[Path]:
    """Yield the repositories, or parts of them, that `.git` leads to and that do not know the folder.

    A work tree's and a submodule's own repository name the folder, and so are not foreign to it.
    """
    found = git_dir(folder)
    if found is None:
        return
    here, repository = Path(os.path.realpath(folder)), Path(os.path.realpath(found))
    if not (folder / GIT_NAME).is_file() and repository.is_relative_to(here):
        yield from dict.fromkeys(_leading_out(repository, here))
    elif not _knows(repository, here):
        yield repository
    else:
        # Its own, and yet it may have been sent along with what it shares.
        yield from dict.fromkeys(_leading_out(repository, _common(repository)))


def foreign_above(folder: Path) -> Iterator[Path]:
    """Yield the same for the nearest folder upwards that git works in."""
    for candidate in (folder, *folder.parents):
        if git_dir(candidate):
            yield from foreign_repositories(candidate)
            return


def _named_by(dot_git: Path) -> Path | None:
    content = _read(dot_git)
    if not content.startswith(b"gitdir: "):
        return None
    # As git reads it: all of the file is the path, but for the line breaks at its end.
    return dot_git.parent / os.fsdecode(content.removeprefix(b"gitdir: ").rstrip(b"\r\n"))


def _knows(repository: Path, folder: Path) -> bool:
    """Whether the repository says that the folder is its work tree or its submodule."""
    dot_git = os.path.realpath(folder / GIT_NAME)
    if back := _line(repository / "gitdir"):
        # Where git puts it: what names a repository elsewhere as its own is no work tree of that.
        is_place = repository.parent.name == "worktrees" and repository.parent.parent == _common(repository)
        return is_place and os.path.realpath(repository / back) == dot_git
    if (repository / "commondir").exists():
        return False
    work_tree = _work_tree(repository)
    return bool(work_tree) and os.path.realpath(repository / work_tree) == str(folder)


def _common(repository: Path) -> Path:
    """Return what a work tree's repository shares with the others: that of the main work tree, or else
    itself."""
    return Path(os.path.realpath(repository / (_line(repository / "commondir") or ".")))


def _work_tree(repository: Path) -> str:
    """Return the setting `core.worktree`; empty if there is none."""
    section, found = "", ""
    for line in os.fsdecode(_read(repository / "config")).splitlines():
        if header := _SECTION.match(line):
            section = header[1].lower()
        elif line.lstrip().startswith("["):
            section = ""
        elif section == "core" and (setting := _WORKTREE.match(line)):
            quoted, bare = setting.groups()
            found = re.sub(r"\\(.)", r"\1", quoted) if quoted is not None else bare
    return found


def _leading_out(repository: Path, folder: Path) -> Iterator[Path]:
    """Yield where parts of a repository lead to if that is outside the folder."""
    places = [repository]
    if common := _line(repository / "commondir"):
        places.append(Path(os.path.realpath(repository / common)))
    for place in places:
        if not place.is_relative_to(folder):
            yield place
            continue
        yield from _outside([place / name for name in _PARTS], folder)
        for name in _WITH_LINKS:
            part = Path(os.path.realpath(place / name))
            if part.is_relative_to(folder):
                yield from _outside(_links(part), folder)
        yield from _borrowed(place / "objects", folder)


def _outside(paths: Iterable[Path], folder: Path) -> Iterator[Path]:
    """Yield where these lead to if that is outside the folder."""
    for path in paths:
        target = Path(os.path.realpath(path))
        if not target.is_relative_to(folder):
            yield target


def _links(folder: Path) -> Iterator[Path]:
    """Yield the symbolic links in the folder, at any depth, without following them."""
    below = [os.fspath(folder)]
    while below:
        with suppress(OSError), os.scandir(below.pop()) as entries:
            for entry in entries:
                if entry.is_symlink():
                    yield Path(entry.path)
                elif entry.is_dir(follow_symlinks=False):
                    below.append(entry.path)


def _borrowed(objects: Path, folder: Path) -> Iterator[Path]:
    """Yield the folders outside of this one from which objects are borrowed, also by borrowed ones inside."""
    seen = {objects}
    below = [objects]
    while below:
        borrowing = below.pop()
        for line in _read(borrowing / "info" / "alternates").splitlines():
            if not line or line.startswith(b"#"):
                continue
            target = Path(os.path.realpath(borrowing / os.fsdecode(_unquoted(line))))
            if not target.is_relative_to(folder):
                yield target
            elif target not in seen:
                seen.add(target)
                below.append(target)
                yield from _outside(_links(target), folder)


def _unquoted(line: bytes) -> bytes:
    """Return the path in a line of `alternates`, which git may have quoted as in C."""
    if not line.startswith(b'"'):
        return line
    return _ESCAPED.sub(_unescaped, line[1:].removesuffix(b'"'))


def _unescaped(found: re.Match[bytes]) -> bytes:
    code = found[1]
    return bytes([int(code, 8) & 0xFF]) if code.isdigit() else _CONTROLS.get(code, code)


def _line(file: Path) -> str:
    """Return the file's content without trailing line breaks, or nothing."""
    return os.fsdecode(_read(file, _LINE_BYTES_MAX).rstrip(b"\r\n"))


def _read(file: Path, bytes_max: int = _BYTES_MAX) -> bytes:
    try:
        if not file.is_file():
            return b""
        with file.open("rb") as content:
            return content.read(bytes_max)
    except (OSError, ValueError):
        return b""
