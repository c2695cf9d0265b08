"""Which repository a folder's `.git` leads to, and whether it is the folder's own. Starts no process.

A folder that came from a stranger may bring a `.git` that leads to somebody's private repository: a file
that names one, a link, or a folder whose parts do. git would read all of its history.
Source: git's own documentation, gitrepository-layout.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

GIT_NAME = ".git"
_BYTES_MAX = 1024 * 1024
_LINE_BYTES_MAX = 4096
_PARTS = ("HEAD", "objects", "refs", "packed-refs", "logs", "index")
"""What git reads commits, names and files from."""
_SECTION = re.compile(r"^\s*\[\s*([\w.-]+)\s*\]\s*(?:[#;].*)?$")
_WORKTREE = re.compile(r'^\s*worktree\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^"#;]*?))\s*(?:[#;].*)?$', re.IGNORECASE)


def git_dir(folder: Path) -> Path | None:
    """The folder of git's own files, also of a work tree or a submodule, whose `.git` is a file."""
    dot_git = folder / GIT_NAME
    try:
        found = dot_git if dot_git.is_dir() else _named_by(dot_git)
        # To git, an empty `.git` is no repository either.
        return found if found and ((found / "HEAD").is_file() or (found / "HEAD").is_symlink()) else None
    except (OSError, ValueError):
        return None


def foreign_repository(folder: Path) -> Path | None:
    """The repository that the folder's `.git` leads to, where that does not know of the folder; else None.

    A work tree's and a submodule's own repository name the folder, and so are no strangers' to it.
    """
    found = git_dir(folder)
    if found is None:
        return None
    here, repository = Path(os.path.realpath(folder)), Path(os.path.realpath(found))
    if (folder / GIT_NAME).is_file() or not repository.is_relative_to(here):
        return None if _knows(repository, here) else repository
    return next(_leading_out(repository, here), None)


def foreign_above(folder: Path) -> Path | None:
    """The same for the nearest folder upwards that git works in."""
    for candidate in (folder, *folder.parents):
        if git_dir(candidate):
            return foreign_repository(candidate)
    return None


def _named_by(dot_git: Path) -> Path | None:
    content = _read(dot_git)
    if not content.startswith(b"gitdir: "):
        return None
    # As git reads it: all of the file is the path, but for the line breaks at its end.
    return dot_git.parent / os.fsdecode(content.removeprefix(b"gitdir: ").rstrip(b"\r\n"))


def _knows(repository: Path, folder: Path) -> bool:
    """Whether the repository says of itself that the folder is its work tree or its submodule."""
    dot_git = os.path.realpath(folder / GIT_NAME)
    if back := _line(repository / "gitdir"):
        common = Path(os.path.realpath(repository / (_line(repository / "commondir") or ".")))
        # Where git puts it: what names a repository elsewhere as its own is no work tree of that.
        is_place = repository.parent.name == "worktrees" and repository.parent.parent == common
        return is_place and os.path.realpath(repository / back) == dot_git
    if (repository / "commondir").exists():
        return False
    work_tree = _work_tree(repository)
    leads_out = next(_leading_out(repository, repository), None)
    return not leads_out and bool(work_tree) and os.path.realpath(repository / work_tree) == str(folder)


def _work_tree(repository: Path) -> str:
    """The setting `core.worktree`; empty where there is none."""
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
    if common := _line(repository / "commondir"):
        shared = Path(os.path.realpath(repository / common))
        if not shared.is_relative_to(folder):
            yield shared
    for name in _PARTS:
        target = Path(os.path.realpath(repository / name))
        if not target.is_relative_to(folder):
            yield target


def _line(file: Path) -> str:
    """The file's content without the line breaks at its end, or nothing."""
    return os.fsdecode(_read(file, _LINE_BYTES_MAX).rstrip(b"\r\n"))


def _read(file: Path, bytes_max: int = _BYTES_MAX) -> bytes:
    try:
        if not file.is_file():
            return b""
        with file.open("rb") as content:
            return content.read(bytes_max)
    except (OSError, ValueError):
        return b""
