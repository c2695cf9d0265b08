"""Project instructions: AGENTS.md, CLAUDE.md and GEMINI.md, from the project's root down."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import Struct

from ragforge.domain.errors import UsageError
from ragforge.tools.files import open_file
from ragforge.tools.paths import inside

NAMES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
FILE_BYTES_MAX = 40_000
"""More than this of one file is cut: instructions that long crowd out the work."""


class Instructions(Struct, frozen=True):
    """One instruction file. `text` is cut where the file is too long."""

    path: Path
    text: str


def folders_between(root: Path, folder: Path) -> list[Path]:
    """The folders from the root down to the folder; empty where that is not below the root."""
    if not folder.is_relative_to(root):
        return []
    parts = folder.relative_to(root).parts
    return [root.joinpath(*parts[:depth]) for depth in range(len(parts) + 1)]


def find_instructions(folders: Iterable[Path], *, root: Path, given: set[Path]) -> list[Instructions]:
    """What the folders' files say, those given already left out; `given` is extended.

    root: resolved; a link out of it is told of, not followed: reading elsewhere needs asking.
    A file that is a link to another one, or says the same, is given once.
    """
    found: list[Instructions] = []
    for folder in folders:
        texts: set[str] = set()
        for name in NAMES:
            path = folder / name
            if path in given or not _is_file(path):
                continue
            text = _read(path, root)
            given.add(path)
            if text.strip() and text not in texts:
                texts.add(text)
                found.append(Instructions(path, text))
    return found


def as_text(instructions: Sequence[Instructions], root: Path) -> str:
    """The instructions for the model, each under its path; empty when there are none."""
    return "\n\n".join(
        f"Instructions of this project, from {item.path.relative_to(root)}:\n\n{item.text.strip()}"
        for item in instructions
    )


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a folder that may not be looked into
        return False


def _read(path: Path, root: Path) -> str:
    try:
        target = path.resolve()
        if not inside(target, root):
            return f"[not read: {path.name} is a link to a file outside the project]"
        with open_file(target) as file:
            head = file.read(FILE_BYTES_MAX + 1)
    except (OSError, RuntimeError, UsageError):  # RuntimeError: links that lead in a circle
        return ""
    text = head[:FILE_BYTES_MAX].decode("utf-8", "replace")
    return text + ("\n[cut: the file is longer]" if len(head) > FILE_BYTES_MAX else "")
