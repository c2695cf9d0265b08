"""Verify that what was sent is there: read back and compare by fingerprints."""

import struct
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import IO, TypeAlias

from msgspec import Struct, field

from ragforge.domain.errors import StoreUnavailable
from ragforge.domain.turns import ConversationSession, Turn
from ragforge.domain.vectors import Embedding
from ragforge.store.archive_items import key_of
from ragforge.store.archive_lines import exact_print
from ragforge.store.base import Archive, Record, RecordKind
from ragforge.store.transfer_stream import Chunk, Progress, Stage, Tell, ahead

READ_BACK_ROWS = 500
KINDS: tuple[RecordKind, ...] = tuple(RecordKind)
ENTRY = struct.Struct(">B?H32s32s")
"""An entry: number of the kind, whether the target had its own, length of the id, fingerprint, age."""

Again: TypeAlias = Callable[[RecordKind, Sequence[str]], Awaitable[list[Record]]]


class Sent(Struct, frozen=True):
    """A record that was sent, as remembered."""

    kind: RecordKind
    key: str
    digest: bytes
    age: bytes
    had_own: bool
    """The target had another state of it before."""


class SentList:
    """Everything that was sent, in an unnamed file, so that it may exceed the memory."""

    def __init__(self, folder: Path) -> None:
        """Raises StoreUnavailable if the folder cannot be written."""
        try:
            # Closed by `__exit__`.
            self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder, prefix="sent-")  # noqa: SIM115
        except OSError as error:
            raise StoreUnavailable(f"Cannot write in {folder}: {error.strerror}.") from error
        self.count = 0

    def __enter__(self) -> "SentList":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, chunk: Chunk, *, had_own: set[str]) -> None:
        """Record a chunk. had_own: ids of which the target had another state before."""
        kind = KINDS.index(chunk.kind)
        for key, record in chunk.records.items():
            name = key.encode()
            entry = ENTRY.pack(kind, key in had_own, len(name), chunk.prints[key], age_of(record))
            self._file.write(entry + name)
        self.count += len(chunk.records)

    def batches(self) -> Iterator[list[Sent]]:
        """Yield what was sent, in that order, some of one kind at once."""
        self._file.seek(0)
        batch: list[Sent] = []
        while head := self._file.read(ENTRY.size):
            number, had_own, length, digest, age = ENTRY.unpack(head)
            kind = KINDS[int(number)]
            sent = Sent(kind, self._file.read(length).decode(), digest, age, had_own)
            if batch and (sent.kind is not batch[0].kind or len(batch) >= READ_BACK_ROWS):
                yield batch
                batch = []
            batch.append(sent)
        if batch:
            yield batch


class Proof(Struct):
    """The result of reading back."""

    kept: int = 0
    """Records of which the target has its own state, such as a newer one."""
    mended: int = 0
    """Records that were assumed to be there and were not; they are now."""
    wrong: list[str] = field(default_factory=list[str])
    """Those that differ from what was sent, by kind and id."""


async def prove(target: Archive, sent: SentList, *, again: Again | None, tell: Tell) -> Proof:
    """Read back everything that was sent.

    again: returns missing records once more from their origin; None if that is impossible.
    """
    proof, done = Proof(), 0
    async with aclosing(ahead(_read_back(target, sent))) as batches:
        async for batch, found in batches:
            absent = [row.key for row in batch if row.key not in found]
            gone: set[str] = set()
            if absent and again is not None:
                gone = await _mend(target, batch[0].kind, absent, found, again)
                proof.mended += sum(key in found for key in absent)
            if absent and batch[0].kind is RecordKind.SPENT:
                # The costs kept of a deleted session are not needed if its steps are there.
                steps = await _fetched(target, RecordKind.STEP, absent)
                proof.kept += len(steps)
                gone |= steps.keys()
            for row in batch:
                _judge(row, found.get(row.key), proof, is_gone=row.key in gone)
            done += len(batch)
            tell(Progress(Stage.VERIFY, done, sent.count))
    return proof


async def _read_back(
    target: Archive, sent: SentList
) -> AsyncGenerator[tuple[list[Sent], dict[str, Record]], None]:
    """Yield what was sent, with what the target has of it by id."""
    for batch in sent.batches():
        yield batch, await _fetched(target, batch[0].kind, [row.key for row in batch])


async def _mend(
    target: Archive, kind: RecordKind, absent: Sequence[str], found: dict[str, Record], again: Again
) -> set[str]:
    """Resend what is absent; `found` receives what arrived. Returns the ids that its origin has lost too."""
    fresh = {key_of(record): record for record in await again(kind, absent)}
    # In the order of the dump, as a store requires. What its origin lost meanwhile is not missed.
    await target.load([fresh[key] for key in absent if key in fresh])
    found |= await _fetched(target, kind, list(fresh))
    return set(absent) - set(fresh)


async def _fetched(target: Archive, kind: RecordKind, keys: Sequence[str]) -> dict[str, Record]:
    return {key_of(record): record for record in await target.fetch(kind, keys)} if keys else {}


def _judge(row: Sent, found: "Record | None", proof: Proof, *, is_gone: bool) -> None:
    if found is None:
        if not is_gone:
            proof.wrong.append(f"{row.kind} {row.key}")
    elif exact_print(found) != row.digest:
        if row.had_own or is_newer(found, row.age):
            proof.kept += 1
        else:
            proof.wrong.append(f"{row.kind} {row.key}")


def age_of(record: Record) -> bytes:
    """Return 32 bytes that distinguish this state of the record from later ones."""
    match record:
        case ConversationSession():
            return _moment(record.last_activity_at.timestamp())
        case Turn():
            return _moment(record.ended_at.timestamp() if record.ended_at else 0)
        case Embedding():
            return f"{record.model} {record.text_hash}".encode("utf-8", "replace")[-32:].rjust(32)
        case _:
            return bytes(32)


def is_newer(found: Record, age: bytes) -> bool:
    """Whether the record may have changed since it had this age, because work continues meanwhile."""
    match found:
        case Turn(ended_at=None):
            return True  # somebody continues it
        case ConversationSession() | Turn():
            return age_of(found) > age
        case Embedding():
            return age_of(found) != age
        case _:
            return False


def _moment(seconds: float) -> bytes:
    return max(0, round(seconds * 1000)).to_bytes(32, "big")
