"""Branches: names for the newest versions of lines of work."""

from msgspec import Struct

from ragforge.domain.commands import typed
from ragforge.domain.errors import UsageError
from ragforge.domain.ids import now
from ragforge.domain.versions import Branch, Version
from ragforge.versions.names import HEAD, check_branch_name, find_branch, find_version, shown
from ragforge.versions.record.recorder import Worktree
from ragforge.versions.state import Head


class BranchRow(Struct, frozen=True):
    """A branch, its version (None if that is not stored here), and whether it is current."""

    branch: Branch
    version: Version | None
    current: bool


async def list_branches(worktree: Worktree) -> list[BranchRow]:
    """Return the project's branches, by name."""
    versions = worktree.files.store.versions
    branches = await versions.branches(worktree.files.project.id)
    tips = {each.id: each for each in await versions.get([branch.version_id for branch in branches])}
    current = (await worktree.head()).branch
    return [BranchRow(each, tips.get(each.version_id), each.name == current) for each in branches]


async def start_branch(worktree: Worktree, name: str, at: str = HEAD) -> BranchRow:
    """Create a branch at the files' head or at another version, and return it.

    At the head, it becomes current: new versions move it. Raises UsageError for an invalid or existing name,
    or an unknown version.
    """
    check_branch_name(name)
    versions, project_id = worktree.files.store.versions, worktree.files.project.id
    if taken := await find_branch(versions, project_id, name):
        [*tip] = await versions.get([taken.version_id])
        where = f" and points to {shown(tip[0])}" if tip else ""
        raise UsageError(
            f"The branch {name!r} already exists{where}. `{typed(f'checkout {name}')}` goes there; "
            f"`{typed(f'branch -d {name}')}` deletes the name but no version."
        )
    async with worktree.ground() as ground:
        head = await ground.files.state.head(ground.root)
        version = await find_version(versions, project_id, at, head=head.version)
        current = version.id == head.version
        row = await _set(worktree, name, version, current=current)
        if current:
            await ground.files.state.set_head(ground.root, Head(head.version, name))
        return row


async def _set(worktree: Worktree, name: str, version: Version, *, current: bool) -> BranchRow:
    branch = Branch(worktree.files.project.id, name, version.id, now())
    await worktree.files.store.versions.set_branch(branch)
    return BranchRow(branch, version, current)


async def delete_branch(worktree: Worktree, name: str) -> None:
    """Delete the name; its versions stay. Raises UsageError if there is none."""
    if not await worktree.files.store.versions.delete_branch(worktree.files.project.id, name):
        raise UsageError(f"There is no branch {name!r}. `{typed('branch')}` lists them.")
    if (await worktree.head()).branch != name:
        return
    async with worktree.ground() as ground:
        head = await ground.files.state.head(ground.root)
        if head.branch == name:
            await ground.files.state.set_head(ground.root, Head(head.version))
