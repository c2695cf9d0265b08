"""The search of an open store with the embedder of the settings."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ragforge.config.secrets import find_key
from ragforge.config.settings import Settings
from ragforge.embedders.registry import open_embedder
from ragforge.memory.recall.search import Recall
from ragforge.store.base import Store

if TYPE_CHECKING:  # loaded if something is forgotten
    from ragforge.memory.forgotten import Forgotten


def open_recall(store: Store, settings: Settings, environ: Mapping[str, str]) -> Recall:
    """Return what every search of this process uses. Raises UsageError for an unknown embedder."""

    def known_key(provider: str) -> tuple[str, str] | None:
        found = find_key(provider, environ, endpoints=settings.endpoints)
        return (found.value, found.source) if found else None

    embedder = open_embedder(
        settings.memory.embedder, find_key=known_key, endpoints=settings.endpoints, environ=environ
    )
    return Recall(store, embedder, settings.memory.fusion, forgotten=forgotten_now)


async def forgotten_now(store: Store, project_id: str) -> "Forgotten | None":
    """Return what is forgotten in the project and everywhere; None for nothing. Raises StoreError."""
    if not await store.memories.forgotten(project_id=project_id):
        return None
    from ragforge.memory.forgotten import read_forgotten

    return await read_forgotten(store, project_id)


async def close_recall(recall: Recall) -> None:
    """Cancel running queries, and release the embedder's connections."""
    await recall.questions.close()
    if recall.embedder is not None:
        await recall.embedder.close()
