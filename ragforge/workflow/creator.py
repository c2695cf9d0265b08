"""The programs that write programs, `creator.spu` and `merge.spu`, and their runs for a request."""

import asyncio
from pathlib import Path

from ragforge.domain.derivations import DerivedFilter
from ragforge.domain.errors import UsageError
from ragforge.session.program_files import EXAMPLES_SUFFIX, SHIPPED, find_programs
from ragforge.session.state import Session, Workspace
from ragforge.workflow.catalogue import CREATOR, find_program, read_file, read_program
from ragforge.workflow.examples import failed_examples
from ragforge.workflow.execution import Execution, Front, assembled, new_run
from ragforge.workflow.language import nearest
from ragforge.workflow.records import PROGRAM
from ragforge.workflow.runs import ProgramRun
from ragforge.workflow.tree import ProgramTree

MERGE = Path(__file__).with_name("merge.spu")
LISTED_MAX = 100


async def creator_execution(
    session: Session, front: Front, *, target: str, intent: str, shipped: bool, price_usd_max: float | None
) -> Execution:
    """Return the creator, about to do what the user wants of the program `target`. Raises UsageError."""
    file = find_program(session.workspace, CREATOR, session.cwd, shipped=shipped)
    content = await read_program(session.workspace, file)
    try:
        program = assembled(content, file.path.name)
    except UsageError as error:
        if file.origin != "user":
            raise
        raise UsageError(f"{error}\n--shipped uses the creator that ships with ragforge.") from error
    run = new_run(program, content, file.path.name, {})
    return Execution(session, program, run, front, price_usd_max=price_usd_max, target=target, intent=intent)


def merge_execution(
    session: Session, front: Front, *, target: str, one: str, other: str, price_usd_max: float | None
) -> Execution:
    """Return `merge.spu` for two versions of the program `target`."""
    content = read_file(MERGE)
    program = assembled(content, MERGE.name)
    run = new_run(program, content, MERGE.name, {"ID1": one, "ID2": other})
    return Execution(session, program, run, front, price_usd_max=price_usd_max, target=target)


async def differs(workspace: Workspace) -> str:
    """Return a notice if the user's own creator was made from an older shipped one. Raises StoreError."""
    tree = ProgramTree(workspace, CREATOR)
    first = await tree.first()
    shipped = await asyncio.to_thread(read_file, SHIPPED / tree.file.name)
    if first is None or not tree.file.exists() or await tree.content(first) == shipped:
        return ""
    return (
        "The creator that ships with ragforge has changed since you customised it. --shipped runs the "
        "shipped one."
    )


async def whose_words(workspace: Workspace, name: str) -> str:
    """Return a notice before the user changes a program that is not theirs yet."""
    found = await asyncio.to_thread(find_programs, workspace)
    origins = [each.origin for each in found if each.name == name]
    if name == CREATOR or "user" in origins or not origins:
        return ""
    if "shipped" in origins:
        return f"{name} ships with ragforge and keeps its name: yours will be /user:{name}."
    return (
        f"{name} is the project's: yours will come before it. /program share {name} puts it into the project."
    )


async def example_words(workspace: Workspace, run: ProgramRun) -> str:
    """Return the proposal to keep the run as an example, for a program of the user's without one.

    None if it cannot be an example, because its output depends on the project.
    """
    own = ProgramTree(workspace, run.program).file
    examples = own.with_name(f"{run.program}{EXAMPLES_SUFFIX}")
    if not run.example or run.source != own.name or not own.exists() or examples.exists():
        return ""
    if await failed_examples(run.text, run.example):
        return ""
    return f"Was that right? /program example {run.program} keeps it, and later versions must pass it."


async def existing_tree(workspace: Workspace, name: str) -> ProgramTree:
    """Return the versions of the user's program of this name, of a shipped one, or of the project's.

    The text of a project's program, once it is trusted, is the version that the user's own start with.
    Raises UsageError.
    """
    tree = ProgramTree(workspace, name)
    found = await asyncio.to_thread(find_programs, workspace)
    origins = {each.origin: each for each in found if each.name == name}
    if "project" in origins and len(origins) == 1:
        await tree.take_in(await read_program(workspace, origins["project"]))
    elif not origins and not (await tree.head()).version:
        known = {each.name for each in found}
        raise UsageError(f"There is no program {name!r}.{nearest(name, known)} /program list shows all.")
    return tree


async def newest_program(workspace: Workspace) -> str:
    """Return the user's program that was changed last. Raises UsageError if there is none."""
    for record in await workspace.store.derivations.find(DerivedFilter(PROGRAM.label, limit=LISTED_MAX)):
        name = str(record.data.get("name", ""))
        if record.project_id == await ProgramTree(workspace, name).project_id():
            return name
    raise UsageError("You have no programs yet. /program new WORDS makes one.")
