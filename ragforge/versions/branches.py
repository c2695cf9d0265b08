"""Branches: names for the newest versions of lines of work."""

from msgspec import Struct

from ragforge.domain.commands import typed
from ragforge.domain.errors import UsageError
from ragforge.domain.ids import now
from ragforge.domain.versions import Branch, Version
from ragforge.session.state import Session
from ragforge.versions.names import HEAD, check_branch_name, find_branch, find_version, shown
from ragforge.versions.state import Head


class BranchRow(Struct, frozen=True):
    """A branch, the version that it points to (None where that is not stored here), whether it is current."""

    branch: Branch
    version: Version | None
    current: bool


async def list_branches(session: Session) -> list[BranchRow]:
    """The project's branches, by name."""
    versions = session.workspace.store.versions
    branches = await versions.branches(session.workspace.project.id)
    tips = {each.id: each for each in await versions.get([branch.version_id for branch in branches])}
    current = (await session.worktree.head()).branch
    return [BranchRow(each, tips.get(each.version_id), each.name == current) for each in branches]


async def start_branch(session: Session, name: str, at: str = HEAD) -> BranchRow:
    """A new branch, at the files' head or another version.

    At the head it is current from now on: new versions move it. Raises UsageError for a name that cannot be,
    one that is taken, or a version that is unknown.
    """
    check_branch_name(name)
    versions, project_id = session.workspace.store.versions, session.workspace.project.id
    if taken := await find_branch(versions, project_id, name):
        [*tip] = await versions.get([taken.version_id])
        where = f" and points to {shown(tip[0])}" if tip else ""
        raise UsageError(
            f"There is a branch {name!r} already{where}. `{typed(f'checkout {name}')}` goes there; "
            f"`{typed(f'branch -d {name}')}` takes the name away, and no version with it."
        )
    async with session.worktree.ground() as ground:
        head = await ground.files.state.head(ground.root)
        version = await find_version(versions, project_id, at, head=head.version)
        current = version.id == head.version
        row = await _set(session, name, version, current=current)
        if current:
            await ground.files.state.set_head(ground.root, Head(head.version, name))
        return row


async def _set(session: Session, name: str, version: Version, *, current: bool) -> BranchRow:
    branch = Branch(session.workspace.project.id, name, version.id, now())
    await session.workspace.store.versions.set_branch(branch)
    return BranchRow(branch, version, current)


async def delete_branch(session: Session, name: str) -> None:
    """Take the name away; its versions stay. Raises UsageError where there is none."""
    if not await session.workspace.store.versions.delete_branch(session.workspace.project.id, name):
        raise UsageError(f"There is no branch {name!r}. `{typed('branch')}` lists them.")
    if (await session.worktree.head()).branch != name:
        return
    async with session.worktree.ground() as ground:
        head = await ground.files.state.head(ground.root)
        if head.branch == name:
            await ground.files.state.set_head(ground.root, Head(head.version))
