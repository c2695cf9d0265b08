"""Files that somebody changed since: where what lies on the disk is neither expected nor wanted."""

import asyncio
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from msgspec import Struct, field

from ragforge.domain.versions import Node, NodeKind
from ragforge.files.open import why
from ragforge.store.base import Blobs
from ragforge.versions.restore.reach import OutOfReach, PathState, reaching, same
from ragforge.versions.tree import WantedFile


class FileConflict(Struct, frozen=True):
    """A path where something else lies than was left there.

    found: None too where there is a folder of which its files tell.
    can_merge: all three are files whose contents are at hand.
    """

    path: str
    expected: Node | None
    wanted: Node | None
    found: Node | None
    can_merge: bool = False


class Looked(Struct, frozen=True):
    """A wanted path and what lies there now; or why that cannot be told."""

    wanted: WantedFile
    found: PathState = field(default_factory=PathState)
    why: str = ""

    @property
    def is_reached(self) -> bool:
        """Whether there is nothing to do."""
        wanted = self.wanted.wanted
        if wanted is not None and wanted.kind is NodeKind.FOLDER and self.found.filled:
            return self.found.mode == wanted.mode
        return same(self.found.node, wanted)

    @property
    def is_conflict(self) -> bool:
        """Whether somebody changed it since."""
        return not self.why and not self.is_reached and not same(self.found.node, self.wanted.expected)


async def find_conflicts(root: Path, wanted: Sequence[WantedFile], blobs: Blobs) -> list[FileConflict]:
    """The paths at which a choice has to be made, in the order given.

    Raises OSError where the root cannot be opened, StoreUnavailable.
    """
    looked = [each for each in await asyncio.to_thread(look_at, root, wanted) if each.is_conflict]
    missing = set(await blobs.missing(sorted(_contents(each.wanted for each in looked))))
    return [
        FileConflict(
            each.wanted.path,
            each.wanted.expected,
            each.wanted.wanted,
            each.found.node,
            can_merge=not cannot_merge(each, missing),
        )
        for each in looked
    ]


def look_at(root: Path, wanted: Sequence[WantedFile]) -> list[Looked]:
    """What lies at the wanted paths now, in their order; blocks."""
    looked: list[Looked] = []
    with reaching(root, [each.path for each in wanted]) as reach:
        for each in wanted:
            try:
                looked.append(Looked(each, reach.look(each.path)))
            except OutOfReach as error:
                looked.append(Looked(each, why=str(error)))
            except OSError as error:
                looked.append(Looked(each, why=why(error)))
    return looked


def cannot_merge(looked: Looked, missing: Collection[str]) -> str:
    """Why the three cannot be merged, in a few words; empty where they can.

    missing: digests of contents that are not at hand.
    """
    ours = looked.found.node
    if ours is None or ours.kind is not NodeKind.FILE:
        return "what lies there is no file"
    for base, theirs in looked.wanted.steps:
        if theirs is None:
            return "it would be removed"
        if theirs.kind is not NodeKind.FILE or (base is not None and base.kind is not NodeKind.FILE):
            return "it was no file before"
        if theirs.digest in missing or (base is not None and base.digest in missing):
            return "an earlier content of it is not on this machine"
    return ""


def _contents(wanted: Iterable[WantedFile]) -> set[str]:
    return {
        node.digest
        for each in wanted
        for step in each.steps
        for node in step
        if node is not None and node.kind is NodeKind.FILE
    }
