"""Find a program by its name or path, and read it."""

from pathlib import Path

from ragforge.agent.instructions import FILE_BYTES_MAX, read_instructions
from ragforge.domain.errors import UsageError
from ragforge.files.open import open_file
from ragforge.session.program_files import SUFFIX, ProgramFile, find_programs
from ragforge.session.state import Workspace
from ragforge.session.trust import TrustPlace
from ragforge.workflow.check import assemble
from ragforge.workflow.language import nearest
from ragforge.workflow.parse import BYTES_MAX

CREATOR = "creator"


def find_program(workspace: Workspace, name: str, folder: Path, *, shipped: bool = False) -> ProgramFile:
    """Return the program of this name, such as `review` or `project:review`, or at this path; blocks.

    The creator is the user's own if they changed it. shipped: only those that ship with ragforge.
    Raises UsageError that names the nearest one.
    """
    if name.endswith(SUFFIX) or "/" in name:
        path = (folder / name).expanduser()
        if not path.exists():
            raise UsageError(f"There is no file {name}.")
        return ProgramFile(path.stem, path)
    known = find_programs(workspace)
    origin, colon, plain = name.rpartition(":")
    if shipped:
        origin, colon = "shipped", ":"
    elif plain == CREATOR and not colon:
        known.sort(key=lambda each: each.origin != "user")
    for each in known:
        if each.name == plain and (not colon or each.origin == origin):
            return each
    names = sorted({each.name for each in known})
    raise UsageError(
        f"There is no program {name!r}.{nearest(name, names)} Known programs: {', '.join(names)}."
    )


async def read_program(workspace: Workspace, file: ProgramFile) -> bytes:
    """Return the content of the file. The user is asked about a project's program first, like its commands.

    Raises UsageError for one that is not trusted, cannot be read, or is not what its file name says.
    """
    if file.origin == "project":
        root = workspace.place.root
        found = read_instructions(file.path, root=root, clean=str)
        if found is None or not await workspace.trust.admitted(
            TrustPlace(workspace.project.id, root), [found]
        ):
            relative = file.path.relative_to(root)
            raise UsageError(
                f"{file.name} was not run: {relative} came with the project and is not trusted. "
                "/trust in the interface shows it and asks; "
                f"`ragforge --trust-project run project:{file.name}` trusts it for one run."
            )
        content = found.text.encode()
        if file.path.stat().st_size > FILE_BYTES_MAX:
            raise UsageError(
                f"{file.name} was not run: a project's program has at most {FILE_BYTES_MAX:,} bytes."
            )
    else:
        content = read_file(file.path)
    program = assemble(content).program
    if file.origin and program and program.name != file.name:
        raise UsageError(
            f"{file.path} says .program {program.name}; a program must have the name of its file, "
            f"{file.name}."
        )
    return content


def read_file(path: Path) -> bytes:
    """Return the file's content, up to a little more than a program may have. Raises UsageError."""
    try:
        with open_file(path.resolve()) as file:
            return file.read(BYTES_MAX + 1)
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror or error}.") from error
