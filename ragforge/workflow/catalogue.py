"""Which programs there are: those that ship, the user's, the project's; and reading one."""

from pathlib import Path

from msgspec import Struct

from ragforge.agent.instructions import read_instructions
from ragforge.config.paths import config_dir
from ragforge.domain.errors import UsageError
from ragforge.files.open import open_file
from ragforge.session.state import Workspace
from ragforge.session.trust import TrustPlace
from ragforge.workflow.check import assemble
from ragforge.workflow.language import PROGRAM_NAME, nearest
from ragforge.workflow.parse import BYTES_MAX

SHIPPED = Path(__file__).with_name("programs")
IN_PROJECT = Path(".ragforge") / "programs"
SUFFIX = ".spu"
FILES_MAX = 200


class ProgramFile(Struct, frozen=True):
    """A file with a program. origin: shipped, user or project; empty for one that was named by its path."""

    name: str
    path: Path
    origin: str = ""


def find_programs(workspace: Workspace) -> list[ProgramFile]:
    """Those that can be named, in the order in which a name means one; blocks."""
    folders = {
        "shipped": SHIPPED,
        "user": config_dir(workspace.environ) / "programs",
        "project": workspace.place.root / IN_PROJECT,
    }
    return [
        ProgramFile(path.stem, path, origin)
        for origin, folder in folders.items()
        for path in sorted(folder.glob(f"*{SUFFIX}"))[:FILES_MAX]
        if PROGRAM_NAME.fullmatch(path.stem)
    ]


def find_program(workspace: Workspace, name: str, folder: Path) -> ProgramFile:
    """The program of this name, such as `review` or `project:review`, or the file at this path; blocks.

    Raises UsageError that names the nearest one.
    """
    if name.endswith(SUFFIX) or "/" in name:
        path = (folder / name).expanduser()
        if not path.exists():
            raise UsageError(f"There is no file {name}.")
        return ProgramFile(path.stem, path)
    known = find_programs(workspace)
    origin, colon, plain = name.rpartition(":")
    for each in known:
        if each.name == plain and (not colon or each.origin == origin):
            return each
    names = sorted({each.name for each in known})
    raise UsageError(f"There is no program {name!r}.{nearest(name, names)} There are: {', '.join(names)}.")


async def read_program(workspace: Workspace, file: ProgramFile) -> bytes:
    """The content of the file. A project's own program is asked about first, as its commands are.

    Raises UsageError for one that is not trusted, cannot be read, or is not what its file is called.
    """
    if file.origin == "project":
        root = workspace.place.root
        found = read_instructions(file.path, root=root, clean=str)
        if found is None or not await workspace.trust.admitted(
            TrustPlace(workspace.project.id, root), [found]
        ):
            relative = file.path.relative_to(root)
            raise UsageError(f"{file.name} did not run: {relative} came with the project and is not trusted.")
        content = found.text.encode()
    else:
        content = read_file(file.path)
    program = assemble(content).program
    if file.origin and program and program.name != file.name:
        raise UsageError(
            f"{file.path} says .program {program.name}; a program is called as its file is, {file.name}."
        )
    return content


def read_file(path: Path) -> bytes:
    """What is in the file, up to a little more than a program may have. Raises UsageError."""
    try:
        with open_file(path.resolve()) as file:
            return file.read(BYTES_MAX + 1)
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror or error}.") from error
