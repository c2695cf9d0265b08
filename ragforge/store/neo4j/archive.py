"""All that the graph holds, as records."""

from collections.abc import AsyncGenerator, Mapping, Sequence

from ragforge.store.base import Record, RecordKind
from ragforge.store.neo4j import archive_read
from ragforge.store.neo4j.load import load_records
from ragforge.store.neo4j.nodes import Nodes, valid_ids


class Neo4jArchive:
    """Implements `Archive`."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes

    async def dump(self) -> AsyncGenerator[Record, None]:
        """Every record, kind by kind, parents before children; it streams."""
        await self._settle()
        async for record in archive_read.dump(self._nodes.graph):
            yield record

    async def load(self, records: Sequence[Record]) -> int:
        """Keep the records; how many were new or newer here. They go to the graph directly, in bulk."""
        await self._settle()
        return await load_records(self._nodes.graph, records)

    async def fetch(self, kind: RecordKind, ids: Sequence[str]) -> list[Record]:
        """Those of the kind with these ids that there are, in any order."""
        await self._settle()
        return await archive_read.fetch(self._nodes.graph, kind, valid_ids(ids))

    async def counts(self) -> Mapping[RecordKind, int]:
        """How many there are of each kind."""
        await self._settle()
        return await archive_read.counts(self._nodes.graph)

    async def _settle(self) -> None:
        await self._nodes.carrier.settle_vectors()
        await self._nodes.settle()
        await self._nodes.reach()
