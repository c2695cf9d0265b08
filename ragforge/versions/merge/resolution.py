"""Resolve the conflicts of a merge: by a model's contents, by taking a side, or with markers."""

from collections.abc import Mapping

from msgspec import Struct

from ragforge.domain.moves import Side
from ragforge.store.base import Blobs
from ragforge.versions.merge.three_way import MergeConflict, VersionMerge, take_content, take_theirs
from ragforge.versions.tree import WantedFile


class Settled(Struct, frozen=True):
    """A merge without open conflicts: what has to change in the files.

    merged: paths with content of both. marked: paths that contain markers. left: conflicts that stay ours.
    """

    wanted: tuple[WantedFile, ...]
    merged: tuple[str, ...]
    marked: tuple[str, ...]
    left: tuple[MergeConflict, ...]


async def settle(
    found: VersionMerge, contents: Mapping[MergeConflict, bytes], side: Side, blobs: Blobs
) -> Settled:
    """Return the merge with these contents of conflicts; the side decides the others.

    Afterwards all wanted contents are in the blob store. Raises StoreError.
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
