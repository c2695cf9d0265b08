"""Change the embedder of a store, for everybody who uses it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from msgspec import Struct
from msgspec.structs import replace

from ragforge.config.edit import set_value
from ragforge.config.paths import user_file
from ragforge.domain.errors import UsageError
from ragforge.embedders.base import Embedder, learn_dimensions
from ragforge.session.machine import Machine
from ragforge.session.recall_embedder import close_recall, open_recall
from ragforge.store.base import RecordKind, Store


class EmbedderChange(Struct, frozen=True):
    """The consequences of a change. old: empty if nothing is embedded. vectors: how many are recomputed."""

    old: str
    new: str
    vectors: int


async def plan_change(machine: Machine, store: Store, name: str) -> EmbedderChange:
    """Return what this embedder would change. Raises UsageError if there is none, and StoreError."""
    async with _embedder(machine, store, name) as embedder:
        if not embedder.remote:
            await embedder.prepare()  # a missing package is reported before anything is asked
        counts = await store.archive.counts()
        return EmbedderChange(await store.vectors.in_use(), embedder.name, counts[RecordKind.EMBEDDING])


async def change_embedder(machine: Machine, store: Store, name: str) -> None:
    """Use it for the store, and set it here. Raises UsageError, ModelError, StoreError."""
    async with _embedder(machine, store, name) as embedder:
        await store.vectors.use(embedder.name, await learn_dimensions(embedder))
    await asyncio.to_thread(set_value, user_file(machine.environ), "memory.embedder", name)


@asynccontextmanager
async def _embedder(machine: Machine, store: Store, name: str) -> AsyncGenerator[Embedder]:
    settings = machine.settings
    chosen = replace(settings, memory=replace(settings.memory, embedder=name))
    recall = open_recall(store, chosen, machine.environ)
    try:
        if recall.embedder is None:
            raise UsageError(f"{name!r} is not an embedder.")
        yield recall.embedder
    finally:
        await close_recall(recall)
