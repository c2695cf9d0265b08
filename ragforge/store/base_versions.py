"""The contract of the version tree: versions, branches, and moves of heads.

As in `store/base.py`: every method raises StoreUnavailable if the database cannot be read or written, writes
are durable when they return, and repeating a call changes nothing. The contents of a version are in the blob
store of the machine that made it; a version has only their hashes.

The tree outlives its sessions: when a session is deleted, its moves are deleted too, but its versions stay,
because others are based on them. They then refer neither to the session nor to its deleted turns, and a title
that was the first words of such a turn is empty. Turns that are passed on to a fork keep their versions.
"""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from ragforge.domain.versions import Branch, CheckoutLog, Version


class VersionRow(Struct, frozen=True):
    """A line of the log: a version without its changes and words, and how many files it changed."""

    version: Version
    files: int


class Versions(Protocol):
    """The versions of a project: a graph without cycles, because parents come before children."""

    async def add(self, version: Version) -> None:
        """Save a new version; a stored one with the same id does not change.

        A branch whose tip is its first parent does not move; use `set_branch`. If clocks disagree, so that it
        would not come after its parents by (time, id), its time becomes a millisecond after the newest
        parent's.
        Raises Conflict if a parent, its project, or a turn or session that it names is not stored, or if a
        parent belongs to another project.
        """
        ...

    async def get(self, ids: Sequence[str]) -> list[Version]:
        """Return the existing ones, complete, in the order of the ids."""
        ...

    async def of_turns(self, turn_ids: Sequence[str]) -> list[Version]:
        """Return the versions of these turns, complete, oldest first; a turn that continued has several."""
        ...

    async def unversioned(self, session_id: str, *, limit: int = 100) -> list[str]:
        """Return turns of the session that ended without a version, oldest first: there was a crash in
        between.

        Turns that ended before versions existed, or that came from an archive, are excluded.
        """
        ...

    async def rows(self, project_id: str, *, limit: int = 200, before: str | None = None) -> list[VersionRow]:
        """Return the project's versions, newest first by (time, id); with `before`, those older than that
        one.

        Takes the same time however many versions there are. Empty if `before` is not stored.
        """
        ...

    async def with_id_part(self, project_id: str, part: str, *, limit: int = 5) -> list[Version]:
        """Return those whose id matches (`ids.id_fits`) or that have this label; newest first, without
        changes and words.

        Empty text matches nothing.
        """
        ...

    async def line(self, version_id: str, *, limit: int | None = None) -> list[Version]:
        """Return the version and its first parents up to the root, newest first, complete; with a limit, the
        newest."""
        ...

    async def children(self, version_id: str) -> list[Version]:
        """Return the versions that have it as a parent, oldest first, complete."""
        ...

    async def label(self, version_id: str, label: str) -> None:
        """Set its label; an empty one removes it. Raises Conflict if the version is not stored."""
        ...

    async def set_branch(self, branch: Branch) -> None:
        """Create the branch, or move it to the version.

        Raises Conflict if the version does not belong to the project.
        """
        ...

    async def delete_branch(self, project_id: str, name: str) -> bool:
        """Delete the branch, never a version. Return whether it existed."""
        ...

    async def branches(self, project_id: str) -> list[Branch]:
        """Return the project's branches, by name."""
        ...

    async def add_move(self, move: CheckoutLog) -> None:
        """Save a move of heads; a stored one does not change. Raises Conflict for an unknown project.

        Other records that it names need not be stored (any more).
        """
        ...

    async def moves(
        self, project_id: str, *, session_id: str | None = None, limit: int | None = 100
    ) -> list[CheckoutLog]:
        """Return the moves of the project, or of a session, newest first by (time, id); all if there is no
        limit."""
        ...

    async def all_ids(self, project_id: str | None = None) -> list[str]:
        """Return the ids of all versions, oldest first, for a clean-up."""
        ...
