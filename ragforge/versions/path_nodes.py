"""The contents of one path in a version: before it, at its end, and those its turn overwrote in between."""

from ragforge.domain.errors import UsageError
from ragforge.domain.printable import escaped
from ragforge.domain.versions import Node
from ragforge.versions.names import find_version, shown
from ragforge.versions.record.recorder import Worktree


async def lay_at(worktree: Worktree, name: str, path: str) -> list[Node]:
    """Return the files and links at the path, oldest first, without consecutive duplicates.

    name: as for `find_version`. path: relative to the project's root.
    Raises UsageError if the version does not name the path or only a folder was there; StoreError.
    """
    files = worktree.files
    head = (await worktree.head()).version
    version = await find_version(files.store.versions, files.project.id, name, head=head)
    found: list[Node] = []
    for change in version.changes:
        if change.path == path:
            for node in (change.before, change.after):
                if node and node.digest and (not found or found[-1].digest != node.digest):
                    found.append(node)
    if not found:
        raise UsageError(
            f"The version {shown(version)} did not change {escaped(path)!r}. `ragforge log --json` lists "
            "what each version changed, relative to the project's folder."
        )
    return found
