"""The files with programs: shipped ones, the user's, the project's."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

import ragforge
from ragforge.config.paths import config_dir
from ragforge.domain.errors import UsageError
from ragforge.domain.programs import PROGRAM_NAME, PROGRAM_ORIGINS, SUFFIX, description_of
from ragforge.files.open import open_file
from ragforge.session.state import Workspace

SHIPPED = Path(ragforge.__file__).parent / "workflow" / "programs"
IN_PROJECT = Path(".ragforge") / "programs"
EXAMPLES_SUFFIX = ".spu.test"
FILES_MAX = 200
HEAD_BYTES_MAX = 4_000
"""A description is within so many lines."""


class ProgramFile(Struct, frozen=True):
    """A file with a program. origin: shipped, user or project; empty if it was named by its path."""

    name: str
    path: Path
    origin: str = ""


def find_programs(workspace: Workspace) -> list[ProgramFile]:
    """Return the program files, in the order of precedence of their names; blocks."""
    return program_files(workspace.environ, workspace.place.root)


def program_files(environ: Mapping[str, str], root: Path) -> list[ProgramFile]:
    """Return those of the project with this root."""
    folders = (SHIPPED, config_dir(environ) / "programs", root / IN_PROJECT)
    return [
        ProgramFile(path.stem, path, origin)
        for origin, folder in zip(PROGRAM_ORIGINS, folders, strict=True)
        for path in sorted(folder.glob(f"*{SUFFIX}"))[:FILES_MAX]
        if PROGRAM_NAME.fullmatch(path.stem)
    ]


def program_commands(workspace: Workspace) -> dict[str, str]:
    """Return the slash commands of programs, with their descriptions; blocks."""
    found: dict[str, str] = {}
    for each in find_programs(workspace):
        name = f"{each.origin}:{each.name}" if each.name in found else each.name
        found[name] = program_description(each.path)
    return found


def program_description(path: Path) -> str:
    """Return the program's own description; empty if it has none; blocks."""
    try:
        with open_file(path.resolve()) as file:
            return description_of(file.read(HEAD_BYTES_MAX).decode("utf-8", "replace"))
    except (OSError, UsageError):
        return ""
