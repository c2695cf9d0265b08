"""Detect renamed files by their contents: the same, or at least half in common."""

import asyncio
from collections import Counter
from collections.abc import Collection, Sequence

from ragforge.domain.versions import Change, Node, NodeKind, Provenance
from ragforge.files.line_changes import split_lines
from ragforge.store.base import Blobs
from ragforge.versions.merge.ancestors import State
from ragforge.versions.scan.renames import renames

ALIKE_MIN = 0.5
"""A rename shares at least this part of the larger file's bytes, in common lines."""
FILES_MAX = 100
"""With more removed or added files, only equal contents count: all pairs would be compared."""
BYTES_MAX = 1024 * 1024


async def renamed(base: State, side: State, other: State, blobs: Blobs) -> dict[str, str]:
    """Return old and new paths of files that the side renamed and the other side touched.

    Renames of files that the other side did not touch do not matter. Raises StoreError.
    """
    gone = [
        path for path, node in base.items() if node and side.get(path) is None and other.get(path) != node
    ]
    if not gone:
        return {}
    came = [path for path, node in side.items() if node and base.get(path) is None]
    removed = [Change(path, base[path], None, Provenance.MERGE) for path in gone]
    added = [Change(path, None, side[path], Provenance.MERGE) for path in came]
    found = {
        change.renamed_from: change.path for change in renames([*removed, *added]) if change.renamed_from
    }
    left = [(path, node) for path in gone if path not in found and (node := base[path]) and _is_text(node)]
    taken = frozenset(found.values())
    new = [(path, node) for path in came if path not in taken and (node := side[path]) and _is_text(node)]
    if left and new and max(len(left), len(new)) <= FILES_MAX:
        found |= await _alike(left, new, blobs)
    return found


def _is_text(node: Node) -> bool:
    return node.kind is NodeKind.FILE and 0 < node.size <= BYTES_MAX


async def _alike(
    gone: Sequence[tuple[str, Node]], came: Sequence[tuple[str, Node]], blobs: Blobs
) -> dict[str, str]:
    """Return the most similar pairs first, each path in at most one."""
    lacking = await blobs.missing([node.digest for _, node in (*gone, *came)])
    old = await _lines(gone, lacking, blobs)
    new = await _lines(came, lacking, blobs)

    def rank() -> list[tuple[float, bool, str, str]]:
        pairs = ((_share(old[a], new[b]), _name(a) == _name(b), a, b) for a in old for b in new)
        return sorted(
            (pair for pair in pairs if pair[0] >= ALIKE_MIN), key=lambda pair: (-pair[0], not pair[1])
        )

    found: dict[str, str] = {}
    for _, _, origin, path in await asyncio.to_thread(rank):
        if origin not in found and path not in found.values():
            found[origin] = path
    return found


async def _lines(
    files: Sequence[tuple[str, Node]], lacking: Collection[str], blobs: Blobs
) -> dict[str, Counter[bytes]]:
    contents = {path: await blobs.get(node.digest) for path, node in files if node.digest not in lacking}
    return {path: Counter(split_lines(content)) for path, content in contents.items()}


def _share(one: Counter[bytes], other: Counter[bytes]) -> float:
    common = sum(len(line) * count for line, count in (one & other).items())
    return common / max(1, *(sum(len(line) * count for line, count in each.items()) for each in (one, other)))


def _name(path: str) -> str:
    return path.rpartition("/")[2]
