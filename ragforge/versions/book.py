"""The versions for a screen: page by page, with what each changed."""

from collections.abc import Sequence

from msgspec import Struct

from ragforge.domain.versions import Version
from ragforge.versions.branches import start_branch
from ragforge.versions.comparison import Compared, changes_of_version, compare
from ragforge.versions.difference import Difference, differences
from ragforge.versions.log import Log, read_log
from ragforge.versions.record.recorder import Worktree
from ragforge.versions.turns import TurnRow, turn_rows
from ragforge.versions.words import branched_words

PAGE = 200


class VersionBook(Struct, frozen=True):
    """The versions of the open project. Every method may raise RagforgeError."""

    worktree: Worktree

    async def page(self, *, before: str | None = None) -> Log:
        """Return the newest versions, or those after `before`."""
        files, head = self.worktree.files, await self.worktree.head()
        return await read_log(files.store.versions, files.project.id, head, limit=PAGE, before=before)

    async def changes(self, version: Version) -> Compared:
        """Return what a version of the log changed against its first parent."""
        found = await self.worktree.files.store.versions.get([version.id])
        return await changes_of_version(self.worktree, found[0] if found else version)

    async def compare(self, one: str, other: str) -> Compared:
        """Return the differences from one version to another, by their ids."""
        return await compare(self.worktree, one, other)

    async def label(self, version: Version, label: str) -> str:
        """Set the version's label, without secrets, and return it."""
        files = self.worktree.files
        label = files.redactor.text(" ".join(label.split()))
        await files.store.versions.label(version.id, label)
        return label

    async def branch(self, version: Version, name: str) -> str:
        """Start a branch at the version, and return what to say of it."""
        return branched_words(await start_branch(self.worktree, name, version.id))

    async def taken_back(self, rows: Sequence[TurnRow]) -> list[Difference]:
        """Return the combined file changes of these turns, oldest first, which going back would undo."""
        changes = [change for row in rows for change in row.changes]
        return await differences(changes, self.worktree.files.blobs)

    async def turns(self, head: str | None) -> list[TurnRow]:
        """Return the session's own turns down from its head with what each changed, oldest first."""
        return await turn_rows(self.worktree.files.store, self.worktree.session_id, head)
