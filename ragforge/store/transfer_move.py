"""Put records into a store: existing ones are not written again, and everything is read back."""

import asyncio
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path

from msgspec import Struct

from ragforge.domain import timeouts
from ragforge.domain.errors import StoreDamaged, StoreUnavailable
from ragforge.store.archive_items import Blob, key_of
from ragforge.store.archive_lines import exact_print
from ragforge.store.base import Blobs, Record, RecordKind, Store
from ragforge.store.transfer_checkpoint import Checkpoint
from ragforge.store.transfer_proof import Again, Proof, SentList, prove
from ragforge.store.transfer_stream import Chunk, Progress, Stage, Tell, ahead

GOING_MAX = 2
"""How many chunks are sent at once: one is prepared while another is written."""
NAMED_MAX = 5


class TransferResult(Struct, frozen=True):
    """The result of a copy or a restored backup."""

    counts: Mapping[RecordKind, int]
    """The records to move, of every kind; 0 if there were none."""
    new: int
    """Of these, those that were new to the target, or newer than its own."""
    kept: int
    """Of these, those of which the target keeps a state of its own, such as a newer one."""
    blobs: int
    """Contents that were new to this machine."""
    missing_blobs: tuple[str, ...]
    """Contents that records refer to and that were unavailable."""
    move_s: float
    verify_s: float


class Move:
    """A method of storing chunks."""

    def __init__(
        self,
        target: Store,
        blobs: Blobs,
        *,
        machine_dir: Path,
        total: int,
        tell: Tell,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self._target = target
        self._blobs = blobs
        self._machine_dir = machine_dir
        self._total = total
        self._tell = tell
        self._checkpoint = checkpoint
        self._counts: Counter[RecordKind] = Counter()
        self._new = self._new_blobs = 0

    async def run(
        self, chunks: AsyncGenerator[Chunk, None], *, missing: Mapping[str, None], again: Again | None
    ) -> TransferResult:
        """Move all chunks and read the result back.

        missing: unavailable contents, as they are found while the chunks are read.
        again: returns records once more. Raises StoreDamaged if what is read back differs from what was sent.
        """
        started = time.perf_counter()
        held = await self._target.archive.counts()
        with SentList(self._machine_dir) as sent:
            async with aclosing(ahead(chunks)) as read:
                await self._send_all(read, sent, held)
            await check_arrived(self._target)
            moved_at = time.perf_counter()
            proof = await prove(self._target.archive, sent, again=again, tell=self._tell)
        self._judge(proof)
        return TransferResult(
            counts={kind: self._counts[kind] for kind in RecordKind},
            new=self._new + proof.mended,
            kept=proof.kept,
            blobs=self._new_blobs,
            missing_blobs=tuple(missing),
            move_s=moved_at - started,
            verify_s=time.perf_counter() - moved_at,
        )

    async def _send_all(
        self, chunks: AsyncGenerator[Chunk, None], sent: SentList, held: Mapping[RecordKind, int]
    ) -> None:
        """Send the chunks, some of them at once; they arrive in order."""
        going: deque[tuple[Chunk, set[str], asyncio.Task[int]]] = deque()

        async def arrived() -> None:
            chunk, others, loading = going[0]
            self._new += await loading
            going.popleft()
            self._note(chunk, others, sent)

        try:
            async for chunk in chunks:
                await self._keep(chunk.blobs)
                wanted, others = await self._lacking(chunk, is_first=not held.get(chunk.kind))
                while len(going) >= GOING_MAX:
                    await arrived()
                going.append((chunk, others, asyncio.create_task(self._load(wanted))))
            while going:
                await arrived()
        finally:
            for _, _, loading in going:
                loading.cancel()
            await asyncio.gather(*(loading for _, _, loading in going), return_exceptions=True)

    def _note(self, chunk: Chunk, others: set[str], sent: SentList) -> None:
        """Record that the chunk has arrived, and those before it."""
        if self._checkpoint is not None and chunk.records and not others:
            self._checkpoint.add(chunk.digest)
        sent.add(chunk, had_own=others)
        self._counts[chunk.kind] += len(chunk.records)
        self._tell(Progress(Stage.MOVE, sent.count, max(sent.count, self._total)))

    async def _lacking(self, chunk: Chunk, *, is_first: bool) -> tuple[list[Record], set[str]]:
        """Return what the target lacks of the chunk; and the ids of which it has another state already."""
        wanted, others = dict(chunk.records), set[str]()
        if not wanted or (self._checkpoint is not None and chunk.digest in self._checkpoint):
            return [], others
        if not is_first:
            for record in await self._target.archive.fetch(chunk.kind, list(wanted)):
                key = key_of(record)
                if exact_print(record) == chunk.prints[key]:
                    del wanted[key]
                else:
                    others.add(key)
        return list(wanted.values()), others

    async def _load(self, wanted: Sequence[Record]) -> int:
        return await self._target.archive.load(wanted) if wanted else 0

    async def _keep(self, contents: Sequence[Blob]) -> None:
        absent = set(await self._blobs.touch([blob.digest for blob in contents]) if contents else ())
        if absent:
            await self._blobs.put_many([blob.data for blob in contents if blob.digest in absent])
        self._new_blobs += len(absent)

    def _judge(self, proof: Proof) -> None:
        if not proof.wrong:
            return
        if self._checkpoint is not None:
            self._checkpoint.forget()
        more = f" and {len(proof.wrong) - NAMED_MAX} more" if len(proof.wrong) > NAMED_MAX else ""
        raise StoreDamaged(
            "The data read back from the store differs from what was sent: "
            f"{', '.join(proof.wrong[:NAMED_MAX])}{more}. Run `ragforge db check`, then try again."
        )


async def check_arrived(store: Store) -> None:
    """Wait for rows on their way to the server. Raises StoreUnavailable if some are not sent."""
    link = await store.drain(timeout_s=timeouts.NEO4J_DRAIN_S_MAX)
    if link.waiting:
        raise StoreUnavailable(waiting_words(link.waiting, link.away))


def waiting_words(waiting: int, away: str) -> str:
    """Return what is said of rows that have not reached the server."""
    rows = "1 row has" if waiting == 1 else f"{waiting} rows have"
    return (
        f"{rows} not reached the server yet and would be missing.{f' {away}' if away else ''} "
        "Try again when it answers."
    )
