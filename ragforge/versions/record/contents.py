"""Store the contents of tracked files in the blob store, as they are at that moment."""

import asyncio
import os
import random
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain.cancellation import in_thread
from ragforge.domain.errors import StoreError
from ragforge.domain.versions import Node, Untracked
from ragforge.store.base import Blobs
from ragforge.store.blob_forms import ROW_BYTES_MAX
from ragforge.versions.scan.changes import Scan, begin_scan, end_scan, scan
from ragforge.versions.scan.manifest import Manifest, Seen
from ragforge.versions.scan.track_rules import TrackRules
from ragforge.versions.scan.walk import Walking

ROUNDS_MAX = 3
"""How often a file is read again if it changes between being read and being stored."""
BATCH_BYTES = 32 * 1024 * 1024
"""How much of what was read is held in memory at once, and stored by one transaction."""
SAMPLE_FILES = 200
SAMPLE_BYTES = 4 * 1024 * 1024
"""Of the contents that a command may destroy, how many and how much is read and compared before each."""

Reading: TypeAlias = tuple[Walking, list[bytes]]


async def keep_contents(blobs: Blobs, root: Path, manifest: Manifest) -> list[Untracked]:
    """Store the content of every tracked file and link; what is already stored costs nothing.

    A file that changed since the scan is stored as it is now. Returns what could not be read, except files
    that no longer exist: the next scan reports those.
    """
    by_digest: dict[str, list[str]] = {}
    for path, seen in manifest.entries.items():
        if seen.sha256:
            by_digest.setdefault(seen.sha256.hex(), []).append(path)
    missing = await blobs.touch(list(by_digest))
    return await _keep(blobs, root, {digest: by_digest[digest] for digest in missing})


async def _keep(
    blobs: Blobs, root: Path, wanted: Mapping[str, Sequence[str]], *, anew: bool = False
) -> list[Untracked]:
    """Store contents from the files at these paths; return those that exist and cannot be read."""
    unread: list[Untracked] = []
    missing = {digest: iter(paths) for digest, paths in wanted.items()}
    while missing:
        # One of several equal files is enough; the next is tried if that one has changed.
        tried = {digest: path for digest, paths in missing.items() if (path := next(paths, None)) is not None}
        kept = await blobs.put_files([root / path for path in tried.values()], anew=anew)
        for digest, path, stored in zip(tried, tried.values(), kept, strict=True):
            if stored is None and os.path.lexists(root / path):
                unread.append(Untracked(path, "cannot be read"))
            if stored == digest:
                del missing[digest]
        missing = {digest: paths for digest, paths in missing.items() if digest in tried}
    return unread


class Proof(Struct, frozen=True):
    """The result of proving contents readable.

    again: paths whose content was missing or damaged, and was stored again from the file. lost: those
    for which that was impossible.
    """

    again: tuple[str, ...] = ()
    lost: tuple[Untracked, ...] = ()


class Sampling:
    """Chooses the contents to read and compare: a share each time, those not read for longest first."""

    def __init__(self) -> None:
        self._proved: set[bytes] = set()

    def choose(self, sizes: Mapping[bytes, int]) -> list[bytes]:
        """Return the next contents to check; if there are few, all of them each time."""
        small = [digest for digest, size in sizes.items() if size <= SAMPLE_BYTES]
        fresh = [digest for digest in small if digest not in self._proved]
        chosen = _within(fresh, sizes, SAMPLE_FILES, SAMPLE_BYTES)
        if len(chosen) == len(fresh):
            self._proved.clear()
            room = SAMPLE_BYTES - sum(sizes[digest] for digest in chosen)
            left = list(set(small).difference(chosen))
            chosen += _within(left, sizes, SAMPLE_FILES - len(chosen), room)
        self._proved.update(chosen)
        return chosen


def _within(digests: list[bytes], sizes: Mapping[bytes, int], count: int, total: int) -> list[bytes]:
    """Return as many of them, at random, as fit within both limits."""
    chosen: list[bytes] = []
    for digest in random.sample(digests, min(len(digests), count)):
        total -= sizes[digest]
        if total < 0:
            break
        chosen.append(digest)
    return chosen


async def prove_contents(
    blobs: Blobs, root: Path, manifest: Manifest, *, sampling: Sampling | None = None
) -> Proof:
    """Ensure that the content of every tracked file and link can be read, before something may destroy it.

    Each is looked up. With `sampling`, a share of them is read and compared with the hash, else all are.
    Unreadable contents are stored again, from the file.
    Raises StoreError if nothing can be read or stored.
    """
    sizes = {seen.sha256: seen.size for seen in manifest.entries.values() if seen.sha256}
    read = sampling.choose(sizes) if sampling else list(sizes)
    large = [digest.hex() for digest, size in sizes.items() if size > ROW_BYTES_MAX]
    bad = await blobs.unreadable(
        [digest.hex() for digest in sizes], large=large, read=[digest.hex() for digest in read]
    )
    if not bad:
        return Proof()
    by_digest: dict[str, list[str]] = {digest: [] for digest in bad}
    for path, seen in manifest.entries.items():
        if seen.sha256 and (paths := by_digest.get(seen.sha256.hex())) is not None:
            paths.append(path)
    lost = await _keep(blobs, root, by_digest, anew=True)
    gone = {each.path for each in lost}
    again = [path for paths in by_digest.values() for path in paths if path not in gone]
    return Proof(tuple(sorted(again)), tuple(lost))


async def scan_and_keep(
    blobs: Blobs, track_rules: TrackRules, last: Manifest, *, paths: Collection[str] | None = None
) -> tuple[Scan, StoreError | None]:
    """Return the changes since the last scan, with all new contents stored; why not, if that failed.

    A content is stored from the same read that computes its hash, so what is overwritten a moment later is
    not lost. Only files over a megabyte are read twice, and the result says what was stored of them.
    The newest files come first, since they are the most likely to be overwritten.
    paths: as for `scan`. Raises UsageError if the root itself cannot be read.
    """

    def begin(stop: Event) -> Reading:
        walking = begin_scan(track_rules, last, paths=paths, stop=stop)
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
            return await keep_found(blobs, track_rules, found, of=walking.large), None
    except StoreError as error:
        trouble = error
    return found, trouble


async def keep_found(
    blobs: Blobs, track_rules: TrackRules, found: Scan, *, of: Collection[str] | None = None
) -> Scan:
    """Store the contents that a scan found new. Afterwards the blob store has all that its result names.

    of: only of these paths. The result differs from the scan's if a file changed or vanished meanwhile.
    """
    waiting = found.read if of is None else {path: found.read[path] for path in of}
    for _ in range(ROUNDS_MAX):
        kept = await blobs.put_files([track_rules.root / path for path in waiting])
        lost: list[str] = []
        for (path, digest), stored in zip(waiting.items(), kept, strict=True):
            if stored is None:
                lost.append(path)
            elif stored != digest:
                found = _with_node(found, path, await _as_kept(blobs, found.manifest, path, stored))
        if not lost:
            return found
        again = await asyncio.to_thread(scan, track_rules, found.manifest, paths=lost)
        found, waiting = _joined(found, again, lost), again.read
    return found


async def _as_kept(blobs: Blobs, manifest: Manifest, path: str, digest: str) -> Seen | None:
    """Return the path with the content that was stored; the next scan reads it again."""
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
    """Return the first scan's result, updated by a second scan of some of its paths."""
    differences = dict(found.differences)
    for path, (before, after) in again.differences.items():
        if path in differences or path not in found.read:
            _set(differences, path, differences.get(path, (before, None))[0], after)
    read: Mapping[str, str] = {path: digest for path, digest in found.read.items() if path not in lost}
    return Scan(
        again.manifest,
        dict(sorted(differences.items())),
        tuple(dict.fromkeys((*found.untracked, *again.untracked))),
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
