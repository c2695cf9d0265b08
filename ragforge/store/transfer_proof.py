"""Whether what was sent is there: read back and compared by their prints."""

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
"""Of the list: number of the kind, whether the target had its own, length of the id, fingerprint, age."""

Again: TypeAlias = Callable[[RecordKind, Sequence[str]], Awaitable[list[Record]]]


class Sent(Struct, frozen=True):
    """A record that was sent, as it is remembered."""

    kind: RecordKind
    key: str
    digest: bytes
    age: bytes
    had_own: bool
    """The target held another state of it before."""


class SentList:
    """All that was sent, in a file without a name, so that it may be longer than the memory."""

    def __init__(self, folder: Path) -> None:
        """Raises StoreUnavailable when the folder cannot be written."""
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
        """Remember a chunk. had_own: ids of which the target held another state before."""
        kind = KINDS.index(chunk.kind)
        for key, record in chunk.records.items():
            name = key.encode()
            entry = ENTRY.pack(kind, key in had_own, len(name), chunk.prints[key], age_of(record))
            self._file.write(entry + name)
        self.count += len(chunk.records)

    def batches(self) -> Iterator[list[Sent]]:
        """What was sent, in the order in which it was, some of one kind at once."""
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
    """What reading back showed."""

    kept: int = 0
    """Records of which the target has its own state, such as a newer one."""
    mended: int = 0
    """Records that were believed to be there and were not; they are now."""
    wrong: list[str] = field(default_factory=list[str])
    """Those that are not as they were sent, by kind and id."""


async def prove(target: Archive, sent: SentList, *, again: Again | None, tell: Tell) -> Proof:
    """Read back all that was sent.

    again: gives records anew from where they come from, for what is missing; None where that cannot be.
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
                # What was kept of a deleted session is not needed where its steps are.
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
    """What was sent, with what the target has of it by id."""
    for batch in sent.batches():
        yield batch, await _fetched(target, batch[0].kind, [row.key for row in batch])


async def _mend(
    target: Archive, kind: RecordKind, absent: Sequence[str], found: dict[str, Record], again: Again
) -> set[str]:
    """Send anew what is absent; `found` gets what arrived. The ids of what its origin has no more either."""
    fresh = {key_of(record): record for record in await again(kind, absent)}
    # In the order of the dump, as a store wants them. What its origin lost meanwhile is not missed.
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
    """32 bytes by which a later state of the record is told from this one."""
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
    """Whether the record may have become another since it had this age: work goes on meanwhile."""
    match found:
        case Turn(ended_at=None):
            return True  # somebody goes on with it
        case ConversationSession() | Turn():
            return age_of(found) > age
        case Embedding():
            return age_of(found) != age
        case _:
            return False


def _moment(seconds: float) -> bytes:
    return max(0, round(seconds * 1000)).to_bytes(32, "big")
