"""Streams of records: cut into chunks that are sent as one, with the next read while one is written."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, suppress
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain.errors import StoreDamaged
from ragforge.domain.memories import PERSONAL, Memory
from ragforge.domain.turns import ConversationSession, Person
from ragforge.store.archive_file import BACKUP, Closing, Header, read_backup
from ragforge.store.archive_items import Blob, Item, blobs_of, key_of, kind_of
from ragforge.store.archive_lines import exact_form
from ragforge.store.base import Blobs, Record, RecordKind

T = TypeVar("T")

CHUNK_ROWS_MAX = 1000
CHUNK_BYTES_MAX = 4 * 1024 * 1024
CHUNK_ROWS_USUAL = 512
LINES_AT_ONCE = 200


class Stage(StrEnum):
    """The current activity, in a word for users."""

    CHECK = "checking the file"
    MOVE = "copying"
    VERIFY = "reading back"


class Progress(Struct, frozen=True):
    """The progress: records, or bytes while a file is checked."""

    stage: Stage
    done: int
    total: int

    @property
    def in_bytes(self) -> bool:
        """Whether bytes are counted."""
        return self.stage is Stage.CHECK


Tell: TypeAlias = Callable[[Progress], object]


class Chunk(Struct, frozen=True):
    """Records of one kind, with the contents that they refer to, or only contents of a record that follows.

    prints: the exact fingerprint of each record. digest: of all; two chunks of one digest are the same.
    """

    kind: RecordKind
    records: Mapping[str, Record]
    """By their ids, in the order of the dump."""
    prints: Mapping[str, bytes]
    blobs: tuple[Blob, ...]

    @property
    def digest(self) -> str:
        """The id of the chunk."""
        return hashlib.sha256(b"".join(self.prints.values())).hexdigest()


async def chunks(items: AsyncGenerator[Item, None]) -> AsyncGenerator[Chunk, None]:
    """Yield the items in chunks, whose ends depend on their contents.

    So a record that was added in between changes its own chunk and leaves the others as they were, and the
    digests of chunks tell what was sent already.
    """
    draft = _Draft()
    async with aclosing(items):
        async for item in items:
            if isinstance(item, Blob):
                if draft.hold(item):
                    yield draft.take_contents()
                continue
            kind = RecordKind(kind_of(item))
            if draft.records and kind is not draft.kind:
                yield draft.take()
            if draft.add(kind, item):
                yield draft.take()
    if draft.records:
        yield draft.take()


class _Draft:
    """A growing chunk. A content comes before the record that needs it, so it waits for that one.

    A version may need more contents than fit in memory: then they are sent before it.
    """

    def __init__(self) -> None:
        self.kind = RecordKind.PROJECT
        self._hold_nothing()
        self._start()

    def _hold_nothing(self) -> None:
        self._contents: list[Blob] = []
        self._content_bytes = 0

    def hold(self, content: Blob) -> bool:
        """Keep the content for the record that follows; return whether the waiting ones are enough."""
        self._contents.append(content)
        self._content_bytes += len(content.data)
        return self._content_bytes >= CHUNK_BYTES_MAX

    def take_contents(self) -> Chunk:
        """Return only the waiting contents."""
        chunk = Chunk(self.kind, {}, {}, tuple(self._contents))
        self._hold_nothing()
        return chunk

    def _start(self) -> None:
        self.records: dict[str, Record] = {}
        self._prints: dict[str, bytes] = {}
        self._blobs: list[Blob] = []
        self._bytes = 0

    def add(self, kind: RecordKind, record: Record) -> bool:
        """Add the record; return whether the chunk ends with it."""
        text, key = exact_form(record), key_of(record)
        digest = hashlib.sha256(text).digest()
        self.kind = kind
        self.records[key] = record
        self._prints[key] = digest
        self._blobs += self._contents
        self._bytes += len(text) + self._content_bytes
        self._hold_nothing()
        by_content = int.from_bytes(digest[:8], "big") % CHUNK_ROWS_USUAL == 0
        return by_content or len(self.records) >= CHUNK_ROWS_MAX or self._bytes >= CHUNK_BYTES_MAX

    def take(self) -> Chunk:
        """Return the chunk, and start another one."""
        chunk = Chunk(self.kind, self.records, self._prints, tuple(self._blobs))
        self._start()
        return chunk


async def ahead(items: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
    """Yield the same items; while one is processed, the next is made."""

    async def following() -> T | None:
        return await anext(items, None)

    coming = asyncio.create_task(following())
    try:
        while (item := await coming) is not None:
            coming = asyncio.create_task(following())
            yield item
    finally:
        coming.cancel()
        with suppress(asyncio.CancelledError, Exception):  # its error, if any, was raised above
            await coming
        await items.aclose()


async def batches(items: AsyncGenerator[Item, None]) -> AsyncGenerator[list[Item], None]:
    """Yield the items, some at once, which suits a thread."""
    batch: list[Item] = []
    contents = 0
    async with aclosing(items):
        async for item in items:
            batch.append(item)
            contents += len(item.data) if isinstance(item, Blob) else 0
            if len(batch) >= LINES_AT_ONCE or contents >= CHUNK_BYTES_MAX:
                yield batch
                batch, contents = [], 0
    if batch:
        yield batch


async def with_blobs(
    records: AsyncGenerator[Record, None], blobs: Blobs, missing: dict[str, None]
) -> AsyncGenerator[Item, None]:
    """Yield the records, before each the contents that it refers to and that were not yielded yet.

    missing: receives the hashes of those that are missing or were altered.
    """
    given: set[str] = set()
    async with aclosing(records):
        async for record in records:
            wanted = [digest for digest in dict.fromkeys(blobs_of(record)) if digest not in given]
            given.update(wanted)
            absent = await blobs.missing(wanted) if wanted else []
            for digest in wanted:
                data = None if digest in absent else await _content(blobs, digest)
                if data is None:
                    missing[digest] = None
                else:
                    yield Blob(digest, data)
            yield record


async def _content(blobs: Blobs, digest: str) -> bytes | None:
    try:
        return await blobs.get(digest)
    except StoreDamaged:
        return None


async def lines_of(
    file: Path, *, what: str = BACKUP, progress: Callable[[int, int], object] = lambda _, __: None
) -> AsyncGenerator["Header | Item | Closing", None]:
    """Yield the lines of a file of this kind, read by a thread. Raises as `read_backup`."""
    lines = read_backup(file, what=what, progress=progress)
    try:
        while batch := await in_thread(lambda: list(islice(lines, LINES_AT_ONCE))):
            for line in batch:
                yield line
    finally:
        lines.close()


async def items_of(file: Path) -> AsyncGenerator[Item, None]:
    """Yield the records and contents of a backup file. Raises as `read_backup`."""
    async with aclosing(lines_of(file)) as lines:
        async for line in lines:
            if not isinstance(line, Header | Closing):
                yield line


async def with_owners(items: AsyncGenerator[Item, None], person: Person) -> AsyncGenerator[Item, None]:
    """Yield the items; identities and preferences without an owner get whoever started their session.

    person: who asks for it; their sessions older than persons are theirs.
    """
    begun: dict[str, str] = {}
    async with aclosing(items):
        async for item in items:
            if isinstance(item, ConversationSession):
                begun[item.id] = item.begun_by(person)
            elif isinstance(item, Memory) and item.type in PERSONAL and not item.owner:
                yield replace(item, owner=begun.get(item.session_id, ""))
                continue
            yield item


async def in_thread(call: Callable[[], T]) -> T:
    """Return what the call returns. It may finish when we are cancelled: what it uses is closed after it."""
    running = asyncio.ensure_future(asyncio.to_thread(call))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait({running})
        raise
