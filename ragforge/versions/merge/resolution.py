"""What the conflicts of a merge come to: by what a model made of them, else by a side, or by markers."""

from collections.abc import Mapping

from msgspec import Struct

from ragforge.domain.moves import Side
from ragforge.store.base import Blobs
from ragforge.versions.merge.three_way import MergeConflict, VersionMerge, take_content, take_theirs
from ragforge.versions.tree import WantedFile


class Settled(Struct, frozen=True):
    """A merge with nothing open: what has to change in the files.

    merged: paths whose content is of both. marked: paths that hold markers. left: conflicts that stay ours.
    """

    wanted: tuple[WantedFile, ...]
    merged: tuple[str, ...]
    marked: tuple[str, ...]
    left: tuple[MergeConflict, ...]


async def settle(
    found: VersionMerge, contents: Mapping[MergeConflict, bytes], side: Side, blobs: Blobs
) -> Settled:
    """The merge with these contents of conflicts, and the side for those that have none.

    What is wanted is in the blob store then. Raises StoreError.
    """
    wanted, merged = list(found.wanted), list(found.merged)
    marked: list[str] = []
    left: list[MergeConflict] = []
    for conflict in found.conflicts:
        if conflict in contents:
            wanted += await take_content(conflict, contents[conflict], blobs)
            merged.append(conflict.target)
        elif side is Side.THEIRS:
            wanted += take_theirs(conflict)
        elif side is Side.MARKERS and conflict.text is not None and conflict.clashes:
            wanted += await take_content(conflict, conflict.text, blobs)
            marked.append(conflict.target)
        elif side is Side.MARKERS:
            left.append(conflict)
    return Settled(tuple(wanted), tuple(merged), tuple(marked), tuple(left))
