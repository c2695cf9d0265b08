"""Project instructions: AGENTS.md, CLAUDE.md and GEMINI.md, from the project's root downwards."""

from collections.abc import Callable, Collection, Iterable, Sequence
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from ragforge.domain.errors import UsageError
from ragforge.files.open import open_file
from ragforge.files.paths import inside

NAMES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
FILE_BYTES_MAX = 40_000
"""More than this of one file is truncated: instructions that long crowd out the work."""


SKILLS_HEADING = (
    "Skills: instructions for certain kinds of work. If a skill's description fits the request, read it "
    "first, with the `skill` tool and its name."
)


class Instructions(Struct, frozen=True):
    """One instruction file as it is sent to the model: truncated if it is too long, secrets redacted.

    is_note: the text is ragforge's own, about a file that is not read.
    """

    path: Path
    text: str
    is_note: bool = False

    @property
    def digest(self) -> str:
        """The hash of the text, by which it is trusted."""
        return digest_of(self.text)


class Skill(Struct, frozen=True):
    """A skill. problem: why it cannot be used. Tools that its front matter asks for are never granted."""

    name: str
    description: str
    file: Instructions
    in_project: bool
    text: str = ""
    """The text below its head."""
    problem: str = ""

    @property
    def folder(self) -> Path:
        """The folder of its files."""
        return self.file.path.parent


def digest_of(text: str) -> str:
    """Return the SHA-256 of a text, in hexadecimal."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def folders_between(root: Path, folder: Path) -> list[Path]:
    """Return the folders from the root down to the folder; empty if it is not below the root."""
    if not folder.is_relative_to(root):
        return []
    parts = folder.relative_to(root).parts
    return [root.joinpath(*parts[:depth]) for depth in range(len(parts) + 1)]


def find_instructions(
    folders: Iterable[Path],
    *,
    root: Path,
    given: Collection[Path] = (),
    clean: Callable[[str], str] = str,
) -> list[Instructions]:
    """Return the instructions in the folders, without files that were returned before.

    root: resolved. A link that leads out of it is reported, not followed.
    clean: redacts secrets in a text. A file that links to another one, or has the same text, is returned
    once.
    """
    found: list[Instructions] = []
    for folder in dict.fromkeys(folders):
        texts: set[str] = set()
        for name in NAMES:
            path = folder / name
            if path in given:
                continue
            read = read_instructions(path, root=root, clean=clean)
            if read and read.text not in texts:
                texts.add(read.text)
                found.append(read)
    return found


def read_instructions(path: Path, *, root: Path, clean: Callable[[str], str] = str) -> Instructions | None:
    """Return the current content of the file; None if there is no file, or if it is empty."""
    try:
        if not path.is_file():
            return None
        target = path.resolve()
        if not inside(target, root):
            note = f"[not read: {path.name} is a link to a file outside the project]"
            return Instructions(path, note, is_note=True)
        with open_file(target) as file:
            head = file.read(FILE_BYTES_MAX + 1)
    # ValueError: a NUL in the path; RuntimeError: links that lead in a circle
    except (OSError, ValueError, RuntimeError, UsageError):
        return None
    text = instructions_text(head, clean=clean)
    return Instructions(path, text) if text.strip() else None


def instructions_text(content: bytes, *, clean: Callable[[str], str] = str) -> str:
    """Return the text that is sent to the model for a file with this content."""
    text = clean(content[:FILE_BYTES_MAX].decode("utf-8", "replace"))
    return text + ("\n[truncated: the file is longer]" if len(content) > FILE_BYTES_MAX else "")


def as_text(instructions: Sequence[Instructions], root: Path) -> str:
    """Return the instructions for the model, each under its path; empty if there are none."""
    return "\n\n".join(
        f"Instructions of this project, from {item.path.relative_to(root)}:\n\n{item.text.strip()}"
        for item in instructions
    )


def skills_text(skills: Sequence[Skill]) -> str:
    """Return the list of skills for the model; empty if there are none."""
    if not skills:
        return ""
    return "\n".join([SKILLS_HEADING, *(f"- {skill.name}: {skill.description}" for skill in skills)])
