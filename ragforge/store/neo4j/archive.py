"""The whole graph, as records."""

from collections.abc import AsyncGenerator, Mapping, Sequence

from ragforge.domain.derivations import Derived
from ragforge.domain.memories import Memory
from ragforge.domain.turns import ConversationSession, Turn
from ragforge.domain.versions import Branch, Version
from ragforge.store.base import Record, RecordKind
from ragforge.store.neo4j.archive_read import counts, dump, fetch
from ragforge.store.neo4j.load import Loader
from ragforge.store.neo4j.nodes import Nodes, valid_ids
from ragforge.store.neo4j.outbox import Rows
from ragforge.store.neo4j.rewrite import rewrite_records
from ragforge.store.neo4j.rows import Label
from ragforge.store.neo4j.version_rows import branch_key


class Neo4jArchive:
    """Implements `Archive`."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._loader: Loader | None = None

    async def dump(self) -> AsyncGenerator[Record, None]:
        """Yield every record, kind by kind, parents before children, as a stream."""
        await self._settle()
        await self._nodes.settle_abandoned()
        async for record in dump(self._nodes.graph):
            yield record

    async def load(self, records: Sequence[Record]) -> int:
        """Store the records in the graph directly, in bulk; return how many were new or newer."""
        # Before the first is written: if the load is interrupted, it is needed all the same.
        self._nodes.carrier.abandoned_stale = True
        if self._loader is None:
            database = self._nodes.outbox.database_id
            self._loader = Loader(self._nodes.graph, database=database, settle=self._settle)
        changed = await self._loader.load(records)
        if changed:
            await self._nodes.outbox.write(lambda rows: _forget(rows, records))
        return changed

    async def rewrite(self, records: Sequence[Record], *, without: Sequence[str]) -> None:
        """Replace the texts of stored records, in the graph and in this machine's outbox.

        Raises StoreUnavailable if the server is unreachable.
        """
        await rewrite_records(self._nodes, records, without)

    async def fetch(self, kind: RecordKind, ids: Sequence[str]) -> list[Record]:
        """Return the stored records of the kind with these ids, in any order."""
        await self._settle()
        if kind is RecordKind.MEMORY:
            await self._nodes.settle_abandoned()
        return await fetch(self._nodes.graph, kind, valid_ids(ids))

    async def counts(self) -> Mapping[RecordKind, int]:
        await self._settle()
        return await counts(self._nodes.graph)

    async def _settle(self) -> None:
        await self._nodes.arrive(vectors=True)


def _forget(rows: Rows, records: Sequence[Record]) -> None:
    """Remove the local rows of these sessions, which may be older now than the graph's."""
    sessions = {each.id for each in records if isinstance(each, ConversationSession)}
    sessions |= {each.session_id for each in records if isinstance(each, Turn)}
    for session_id in sessions:
        rows.forget_session(session_id)
    rows.forget(Label.MEMORY, [each.id for each in records if isinstance(each, Memory)])
    rows.forget(Label.DERIVED, [each.id for each in records if isinstance(each, Derived)])
    rows.forget(Label.VERSION, [each.id for each in records if isinstance(each, Version)])
    branches = [each for each in records if isinstance(each, Branch)]
    rows.forget(Label.BRANCH, [branch_key(each.project_id, each.name) for each in branches])
