"""Backups, and copies from one store to another: everything that is stored, streamed with little memory.

Everything is idempotent: existing records are kept, and none is stored twice.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, closing
from pathlib import Path

from msgspec import Struct

from ragforge.domain import timeouts
from ragforge.domain.errors import Conflict, StoreUnavailable, UsageError
from ragforge.domain.turns import Person
from ragforge.store.archive_file import BackupWriter, Closing, Header, header
from ragforge.store.archive_items import Blob, blobs_of
from ragforge.store.base import Blobs, RecordKind, Store, StoreStatus
from ragforge.store.transfer_checkpoint import Checkpoint
from ragforge.store.transfer_move import Move, TransferResult, check_arrived, waiting_words
from ragforge.store.transfer_stream import (
    Chunk,
    Progress,
    Stage,
    Tell,
    ahead,
    batches,
    chunks,
    in_thread,
    items_of,
    lines_of,
    with_blobs,
    with_owners,
)

OWNED_SINCE = {"SQLite": 10, "Neo4j": 7}
"""The schemas from which on a memory has an owner."""


class BackupMade(Struct, frozen=True):
    """The result of a backup."""

    file: Path
    size_bytes: int
    closing: Closing
    took_s: float


class Backup(Struct, frozen=True):
    """A backup file that was read to its end and is complete."""

    file: Path
    header: Header
    closing: Closing

    @property
    def is_before_owners(self) -> bool:
        """Whether it was made before memories had owners, so that it names none."""
        kind = self.header.origin.partition(" ")[0]
        return self.header.schema < OWNED_SINCE.get(kind, 0)


def _tell_nothing(_: Progress) -> None:
    pass


async def backup(
    store: Store,
    blobs: Blobs,
    file: Path,
    *,
    force: bool = False,
    partial: bool = False,
    tell: Tell = _tell_nothing,
) -> BackupMade:
    """Write everything that is stored to one file, with the contents that it refers to.

    force: replace a file. partial: leave out rows that have not reached the server yet, instead of refusing.
    Raises UsageError, StoreUnavailable or StoreDamaged; then there is no new file.
    """
    started = time.perf_counter()
    link = await store.drain(timeout_s=timeouts.NEO4J_DRAIN_S_MAX)
    if link.waiting and not partial:
        # While the server is away there is nothing that could be backed up.
        without = "" if link.away else " `--partial` makes a backup without them."
        raise StoreUnavailable(f"{waiting_words(link.waiting, link.away)}{without}")
    status = await store.status()
    done, total = 0, sum(status.counts.values())
    missing: dict[str, None] = {}
    with BackupWriter(file, header(origin=status.kind, schema=status.schema), force=force) as out:
        items = with_blobs(store.archive.dump(), blobs, missing)
        async with aclosing(ahead(batches(items))) as read:
            async for batch in read:
                await in_thread(lambda batch=batch: out.write(batch))
                done += sum(not isinstance(item, Blob) for item in batch)
                tell(Progress(Stage.MOVE, done, max(done, total)))
        written = await in_thread(lambda: out.finish(missing=missing, waiting=link.waiting))
    return BackupMade(file, file.stat().st_size, written, time.perf_counter() - started)


async def verified(file: Path, *, tell: Tell = _tell_nothing) -> Backup:
    """Return the backup, once it was read to its end. Raises UsageError, StoreNewer or StoreDamaged."""
    first = last = None
    lines = lines_of(file, progress=lambda done, total: tell(Progress(Stage.CHECK, done, total)))
    async with aclosing(lines) as read:
        async for line in read:
            first, last = first or line, line
    assert isinstance(first, Header)
    assert isinstance(last, Closing)
    return Backup(file, first, last)


async def restore(
    found: Backup,
    target: Store,
    blobs: Blobs,
    *,
    machine_dir: Path,
    person: Person | None = None,
    tell: Tell = _tell_nothing,
) -> TransferResult:
    """Add the contents of the backup to the target.

    person: who restores it. If the backup is older than owners of memories, identities and preferences go to
    whoever started their session.
    The file is read twice: `verified` reads all of it before anything is written, so that a damaged backup
    changes nothing, which is worth the seconds it takes. Raises StoreError.
    """
    total = sum(found.closing.counts.get(kind, 0) for kind in RecordKind)
    move = Move(target, blobs, machine_dir=machine_dir, total=total, tell=tell)
    await blobs.set_used_by(target.url)
    missing = dict.fromkeys(await blobs.missing(found.closing.missing))
    items = items_of(found.file)
    if person and found.is_before_owners:
        items = with_owners(items, person)
    return await move.run(chunks(items), missing=missing, again=None)


async def copy(
    source: Store, target: Store, blobs: Blobs, *, machine_dir: Path, tell: Tell = _tell_nothing
) -> TransferResult:
    """Copy everything in the source to the target, which keeps what it has.

    If interrupted, it continues where it was. Contents stay where they are, on this machine; missing ones
    are named. Raises UsageError if both are one database, StoreUnavailable while rows wait for a server.
    """
    await check_arrived(source)
    # Recorded before anything refers to them there, so that a clean-up spares them.
    await blobs.set_used_by(target.url)
    ours, theirs = await asyncio.gather(source.status(), target.status())
    if _identity(ours) == _identity(theirs):
        raise UsageError(f"Both are {ours.place}. Give two different stores to copy.")

    async def run(checkpoint: Checkpoint) -> TransferResult:
        total = sum(ours.counts.values())
        move = Move(target, blobs, machine_dir=machine_dir, total=total, tell=tell, checkpoint=checkpoint)
        missing: dict[str, None] = {}
        records = _looking_for_blobs(chunks(source.archive.dump()), blobs, missing)
        return await move.run(records, missing=missing, again=source.archive.fetch)

    with closing(Checkpoint.between(machine_dir, _identity(ours), _identity(theirs))) as checkpoint:
        if not sum(theirs.counts.values()):
            checkpoint.forget()  # it was emptied, or is another database than before
        try:
            moved = await run(checkpoint)
        except Conflict:
            if not checkpoint.is_resumed:
                raise
            # New rows may depend on rows that arrived before and were deleted since: check everything again.
            checkpoint.forget()
            moved = await run(checkpoint)
        checkpoint.forget()
    return moved


async def _looking_for_blobs(
    records: AsyncGenerator[Chunk, None], blobs: Blobs, missing: dict[str, None]
) -> AsyncGenerator[Chunk, None]:
    """Yield the same chunks; `missing` receives the hashes of contents they refer to that are not here."""
    async with aclosing(records):
        async for chunk in records:
            wanted = dict.fromkeys(digest for record in chunk.records.values() for digest in blobs_of(record))
            if wanted:
                missing.update(dict.fromkeys(await blobs.missing(list(wanted))))
            yield chunk


def _identity(status: StoreStatus) -> str:
    """Return what identifies the database: its id, else its address."""
    return status.details.get("database id") or status.place
