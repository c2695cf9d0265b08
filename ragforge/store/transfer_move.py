"""Putting records into a store: what is there already is not written again, and all is read back."""

import time
from collections import Counter
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from ragforge.domain.errors import StoreDamaged, StoreUnavailable
from ragforge.store.archive_lines import fingerprint, key_of
from ragforge.store.base import Blobs, RecordKind, Store
from ragforge.store.transfer_checkpoint import Checkpoint
from ragforge.store.transfer_proof import Again, Proof, SentList, prove
from ragforge.store.transfer_stream import Chunk, Progress, Stage, Tell, ahead

DRAIN_S_MAX = 5.0
"""So long it is waited for rows that are still on their way to a server."""
NAMED_MAX = 5


@dataclass(frozen=True, slots=True)
class Moved:
    """What a copy or a restored backup came to."""

    counts: Mapping[RecordKind, int]
    """Records that there were to move."""
    new: int
    """Of them, those that were new to the target, or newer than its own."""
    kept: int
    """Of them, those of which the target keeps a state of its own, such as a newer one."""
    blobs: int
    """Contents that were new to this machine."""
    missing_blobs: tuple[str, ...]
    """Contents that records refer to and that were not to be had."""
    move_s: float
    verify_s: float


class Move:
    """One way from chunks into a store."""

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
    ) -> Moved:
        """Move all chunks and read back what came of them.

        missing: contents that are not to be had, as they are found while the chunks are read.
        again: gives records anew. Raises StoreDamaged when what is read back is not what was sent.
        """
        started = time.perf_counter()
        held = await self._target.archive.counts()
        with SentList(self._machine_dir) as sent:
            async with aclosing(ahead(chunks)) as read:
                async for chunk in read:
                    sent.add(chunk, had_own=await self._send(chunk, is_first=not held.get(chunk.kind)))
                    self._counts[chunk.kind] += len(chunk.records)
                    self._tell(Progress(Stage.MOVE, sent.count, max(sent.count, self._total)))
            await check_arrived(self._target)
            moved_at = time.perf_counter()
            proof = await prove(self._target.archive, sent, again=again, tell=self._tell)
        self._judge(proof)
        return Moved(
            counts=dict(self._counts),
            new=self._new + proof.mended,
            kept=proof.kept,
            blobs=self._new_blobs,
            missing_blobs=tuple(missing),
            move_s=moved_at - started,
            verify_s=time.perf_counter() - moved_at,
        )

    async def _send(self, chunk: Chunk, *, is_first: bool) -> set[str]:
        """Write what the target lacks; the ids of which it holds another state already."""
        absent = set(await self._blobs.missing([blob.digest for blob in chunk.blobs]) if chunk.blobs else ())
        for blob in chunk.blobs:
            if blob.digest in absent:
                await self._blobs.put(blob.data)
        self._new_blobs += len(absent)
        if self._checkpoint is not None and chunk.digest in self._checkpoint:
            return set()
        wanted, others = dict(chunk.records), set[str]()
        if not is_first:
            for record in await self._target.archive.fetch(chunk.kind, list(wanted)):
                key = key_of(record)
                if fingerprint(record) == chunk.prints[key]:
                    del wanted[key]
                else:
                    others.add(key)
        if wanted:
            self._new += await self._target.archive.load(list(wanted.values()))
        if self._checkpoint is not None and not others:
            self._checkpoint.add(chunk.digest)
        return others

    def _judge(self, proof: Proof) -> None:
        if not proof.wrong:
            return
        if self._checkpoint is not None:
            self._checkpoint.forget()
        more = f" and {len(proof.wrong) - NAMED_MAX} more" if len(proof.wrong) > NAMED_MAX else ""
        raise StoreDamaged(
            "What was written to the store does not read back as it was sent: "
            f"{', '.join(proof.wrong[:NAMED_MAX])}{more}. Run `ragforge db check`, then try again."
        )


async def check_arrived(store: Store) -> None:
    """Wait for rows that are on their way to the server. Raises StoreUnavailable when some stay behind."""
    link = await store.drain(timeout_s=DRAIN_S_MAX)
    if link.waiting:
        raise StoreUnavailable(waiting_words(link.waiting, link.away))


def waiting_words(waiting: int, away: str) -> str:
    """What is said of rows that have not reached the server."""
    rows = "1 row has" if waiting == 1 else f"{waiting} rows have"
    return (
        f"{rows} not reached the server yet and would be missing.{f' {away}' if away else ''} "
        "Try again when it answers."
    )
