"""The contract of the version tree: versions, branches, and the moves of heads.

As with `store/base.py`: every method raises StoreUnavailable when the database cannot be read or written,
writes are durable when they return, and the same call repeated changes nothing. What a version's contents
are lies in the blob store of the machine that made it; here stand their hashes.

The tree outlives the sessions that it grew in: with a session that is deleted go its moves, and its versions
stay, for others stand on them. They then name neither it nor a turn that went, and a title that was the first
words of such a turn is empty. Turns that are handed over to a fork take their versions with them.
"""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from ragforge.domain.versions import Branch, CheckoutLog, Version


class VersionRow(Struct, frozen=True):
    """A line of the log: a version without its changes and words, and how many files it touched."""

    version: Version
    files: int


class Versions(Protocol):
    """The versions of a project: a graph without cycles, since parents come before children."""

    async def add(self, version: Version) -> None:
        """Keep a new version; one of the same id stays as it is.

        Its branch, where a branch's tip is its first parent, does not move by itself: `set_branch` does that.
        Where clocks disagree, so that it would not come after its parents by (time, id), its time becomes a
        millisecond after the newest parent's.
        Raises Conflict where a parent, its project, or a turn or session that it names is not stored, or a
        parent is another project's.
        """
        ...

    async def get(self, ids: Sequence[str]) -> list[Version]:
        """Those that there are, whole, in the order of the ids."""
        ...

    async def of_turns(self, turn_ids: Sequence[str]) -> list[Version]:
        """The versions of these turns, whole, oldest first; a turn that ran on has several."""
        ...

    async def unversioned(self, session_id: str, *, limit: int = 100) -> list[str]:
        """Turns of the session that ended and have no version, oldest first: a crash came between.

        Those that ended before there were versions are not among them, nor those that an archive brought.
        """
        ...

    async def rows(self, project_id: str, *, limit: int = 200, before: str | None = None) -> list[VersionRow]:
        """The project's, newest first by (time, id); with `before`, those that follow that one: older ones.

        Takes the same time however many versions there are. Nothing follows what is not stored.
        """
        ...

    async def with_id_part(self, project_id: str, part: str, *, limit: int = 5) -> list[Version]:
        """Those whose id fits (`ids.id_fits`) or whose label is this; newest first, no changes, no words.

        Nothing has an empty name.
        """
        ...

    async def line(self, version_id: str, *, limit: int | None = None) -> list[Version]:
        """The version and its first parents up to the root, newest first, whole; with a limit, the newest."""
        ...

    async def children(self, version_id: str) -> list[Version]:
        """Versions of which it is a parent, oldest first, whole."""
        ...

    async def label(self, version_id: str, label: str) -> None:
        """Give it a label; an empty one takes it away. Raises Conflict where it is not stored."""
        ...

    async def set_branch(self, branch: Branch) -> None:
        """Let the name point to the version, whether the name is new or not.

        Raises Conflict where the version is not one of the project's.
        """
        ...

    async def delete_branch(self, project_id: str, name: str) -> bool:
        """Take the name away, never a version; whether there was one."""
        ...

    async def branches(self, project_id: str) -> list[Branch]:
        """The project's, by name."""
        ...

    async def add_move(self, move: CheckoutLog) -> None:
        """Keep that heads moved; one of the same id stays as it is. Raises Conflict for an unknown project.

        What else it names need not be stored (any more).
        """
        ...

    async def moves(
        self, project_id: str, *, session_id: str | None = None, limit: int | None = 100
    ) -> list[CheckoutLog]:
        """The project's moves, or those of a session, newest first by (time, id); without a limit all."""
        ...

    async def all_ids(self, project_id: str | None = None) -> list[str]:
        """The ids of all versions, oldest first: what a clean-up goes through."""
        ...
