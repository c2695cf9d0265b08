"""The embeddings in the graph: on their owners' nodes."""

from base64 import b64encode
from collections.abc import Sequence

from ragforge.domain.errors import UsageError
from ragforge.domain.vectors import DIMENSIONS_MAX, Embedding, Near, Nearby, Owner, Vector, check_vector
from ragforge.store.json_text import storable
from ragforge.store.neo4j.migrations import database_info
from ragforge.store.neo4j.nodes import Nodes, valid_ids
from ragforge.store.neo4j.outbox import EMBEDDING, Rows
from ragforge.store.neo4j.rows import Props
from ragforge.store.neo4j.schema import use_embedder
from ragforge.store.neo4j.vectors_read import get, lacking, nearest, same_text


class Neo4jVectors:
    """Implements `Vectors`."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes

    async def use(self, model: str, dimensions: int) -> None:
        """Prepare for this embedder. Raises UsageError for dimensions outside 1..4096."""
        if not 1 <= dimensions <= DIMENSIONS_MAX:
            raise UsageError(
                f"An embedder of {dimensions} dimensions cannot be used; it must have 1 to {DIMENSIONS_MAX}."
            )
        await self._nodes.reach()
        if await use_embedder(self._nodes.graph, storable(model), dimensions):
            self._nodes.carrier.cool()

    async def in_use(self) -> str:
        """Return the name of the embedder that `use` set last; empty before any."""
        self._nodes.check()
        info = await database_info(self._nodes.graph)
        return info.embedder if info else ""

    async def save(self, embeddings: Sequence[Embedding]) -> None:
        for each in embeddings:
            check_vector(each.vector, of=f"{each.owner.kind} {each.owner.id}")

        def write(rows: Rows) -> None:
            for each in embeddings:
                rows.put(EMBEDDING, f"{each.owner.kind}/{each.owner.id}", _props(each))

        if embeddings:
            await self._nodes.write(write)

    async def get(self, owners: Sequence[Owner]) -> list[Embedding]:
        await self._nodes.arrive(vectors=True)
        return await get(self._nodes.graph, owners)

    async def lacking(self, model: str, *, project_id: str | None = None, limit: int = 100) -> list[Owner]:
        """Return ended turns, summaries and memories that need a vector of it, newest first."""
        await self._nodes.arrive(vectors=True)
        return await lacking(self._nodes.graph, storable(model), project_id=project_id, limit=limit)

    async def same_text(self, model: str, hashes: Sequence[str]) -> dict[str, Vector]:
        if not hashes:
            return {}
        await self._nodes.arrive(vectors=True)
        return await same_text(self._nodes.graph, storable(model), valid_ids(hashes))

    async def nearest(self, nearby: Nearby) -> list[Near]:
        """Return the nearest, best first, ties by id. Vectors of other dimensions are not compared."""
        check_vector(nearby.vector, of="the question")
        await self._nodes.arrive(vectors=True)
        return await nearest(self._nodes.graph, nearby)


def _props(embedding: Embedding) -> Props:
    return {
        "model": storable(embedding.model),
        "hash": embedding.text_hash,
        "vector": b64encode(embedding.vector.tobytes()).decode(),
        "stale": None,
    }
