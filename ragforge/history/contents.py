"""Keeping the contents of covered files in the blob store, as they are at that moment."""

import asyncio
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from threading import Event
from typing import TypeAlias

from msgspec.structs import replace

from ragforge.domain.errors import StoreError
from ragforge.domain.versions import Node, Uncovered
from ragforge.history.coverage import Coverage
from ragforge.history.manifest import Manifest, Seen
from ragforge.history.scan import Scan, begin_scan, end_scan, scan
from ragforge.history.walking import Walking
from ragforge.store.base import Blobs
from ragforge.tools.threads import in_thread

ROUNDS_MAX = 3
"""So often a file that changes between being read and being kept is looked at again."""
BATCH_BYTES = 32 * 1024 * 1024
"""So much of what was read is held in memory at once, and kept by one transaction."""

Reading: TypeAlias = tuple[Walking, list[bytes]]


async def keep_contents(blobs: Blobs, root: Path, manifest: Manifest) -> list[Uncovered]:
    """Keep the content of every covered file and link; what is here already costs nothing.

    A file that changed since the scan is kept as it is now. What could not be read is returned; a file that
    has vanished is not: the next scan says so.
    """
    by_digest: dict[str, list[str]] = {}
    for path, seen in manifest.entries.items():
        if seen.sha256:
            by_digest.setdefault(seen.sha256.hex(), []).append(path)
    unread: list[Uncovered] = []
    missing = {digest: iter(by_digest[digest]) for digest in await blobs.touch(list(by_digest))}
    while missing:
        # Of files that are alike one is enough; the next is tried where that one is not any more what it was.
        tried = {digest: path for digest, paths in missing.items() if (path := next(paths, None)) is not None}
        kept = await blobs.put_files([root / path for path in tried.values()])
        for digest, path, stored in zip(tried, tried.values(), kept, strict=True):
            if stored is None and os.path.lexists(root / path):
                unread.append(Uncovered(path, "cannot be read"))
            if stored == digest:
                del missing[digest]
        missing = {digest: paths for digest, paths in missing.items() if digest in tried}
    return unread


async def scan_and_keep(
    blobs: Blobs, coverage: Coverage, last: Manifest, *, paths: Collection[str] | None = None
) -> tuple[Scan, StoreError | None]:
    """What differs from the last scan, the contents of all that is new kept; why they could not be, if so.

    A content is kept from the same reading that its hash is made in: what is overwritten a moment later is
    not lost. Only of a file over a megabyte it is another one, and the result says what was kept of it.
    The newest files come first, since they are the likeliest to be written again.
    paths: as for `scan`. Raises UsageError where the root itself cannot be read.
    """

    def begin(stop: Event) -> Reading:
        walking = begin_scan(coverage, last, paths=paths, stop=stop)
        walking.read_newest_first()
        return walking, walking.read_some(BATCH_BYTES)

    def go_on(stop: Event) -> list[bytes]:
        walking.stop = stop
        return walking.read_some(BATCH_BYTES)

    walking, contents = await in_thread(begin)
    trouble: StoreError | None = None
    while contents:
        if trouble is None:
            try:
                await blobs.put_many(contents)
            except StoreError as error:
                trouble = error
        contents = await in_thread(go_on)
    found = await in_thread(lambda _: end_scan(walking, last))
    try:
        if walking.large and trouble is None:
            return await keep_found(blobs, coverage, found, of=walking.large), None
    except StoreError as error:
        trouble = error
    return found, trouble


async def keep_found(
    blobs: Blobs, coverage: Coverage, found: Scan, *, of: Collection[str] | None = None
) -> Scan:
    """Keep the contents that a scan found new. Afterwards the blob store holds all that its result names.

    of: only of these paths. The result is another where a file changed or vanished since it was scanned.
    """
    waiting = found.read if of is None else {path: found.read[path] for path in of}
    for _ in range(ROUNDS_MAX):
        kept = await blobs.put_files([coverage.root / path for path in waiting])
        lost: list[str] = []
        for (path, digest), stored in zip(waiting.items(), kept, strict=True):
            if stored is None:
                lost.append(path)
            elif stored != digest:
                found = _with_node(found, path, await _as_kept(blobs, found.manifest, path, stored))
        if not lost:
            return found
        again = await asyncio.to_thread(scan, coverage, found.manifest, paths=lost)
        found, waiting = _joined(found, again, lost), again.read
    return found


async def _as_kept(blobs: Blobs, manifest: Manifest, path: str, digest: str) -> Seen | None:
    """The path with the content that was kept; the next scan reads it again."""
    seen = manifest.entries.get(path)
    if seen is None:
        return None
    size = len(await blobs.get(digest))
    return Seen(seen.mode, size, seen.mtime_ns, 0, seen.inode, bytes.fromhex(digest))


def _with_node(found: Scan, path: str, seen: Seen | None) -> Scan:
    if seen is None:
        return found
    differences = dict(found.differences)
    if path in differences:
        _set(differences, path, differences[path][0], seen.node)
    return replace(
        found,
        manifest=found.manifest.with_seen(path, seen),
        differences=differences,
        read={**found.read, path: seen.sha256.hex()},
    )


def _joined(found: Scan, again: Scan, lost: list[str]) -> Scan:
    """The first scan's result with what a second one found out about some of its paths."""
    differences = dict(found.differences)
    for path, (before, after) in again.differences.items():
        if path in differences or path not in found.read:
            _set(differences, path, differences.get(path, (before, None))[0], after)
    read: Mapping[str, str] = {path: digest for path, digest in found.read.items() if path not in lost}
    return Scan(
        again.manifest,
        dict(sorted(differences.items())),
        tuple(dict.fromkeys((*found.uncovered, *again.uncovered))),
        {**read, **again.read},
    )


def _set(
    differences: dict[str, tuple[Node | None, Node | None]],
    path: str,
    before: Node | None,
    after: Node | None,
) -> None:
    if before == after:
        differences.pop(path, None)
    else:
        differences[path] = (before, after)
