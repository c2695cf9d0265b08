"""Finding in the graph by words and by meaning; without the server, in what is here."""

from collections.abc import Sequence

from ragforge.domain.errors import StoreUnavailable
from ragforge.domain.search import Candidate, Hit, Query
from ragforge.domain.vectors import Nearby
from ragforge.store.neo4j import search
from ragforge.store.neo4j.nodes import Nodes
from ragforge.store.neo4j.search_here import words_here


class Neo4jSearch:
    """Implements `Search`."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes

    async def words(self, query: Query) -> list[Hit]:
        """Turns, tool calls and summaries that hold the words, best first; any input is fine."""
        await self._nodes.settle()
        try:
            self._check_there()
            return await search.words(self._nodes.graph, query)
        except StoreUnavailable as error:
            self._nodes.carrier.lost(str(error))
            return await self._nodes.outbox.read(lambda rows: words_here(rows, query))

    async def candidates(self, query: Query, nearby: Nearby | None = None) -> list[Candidate]:
        """What may answer: the best by words and the nearest; while the server is away, by words alone."""
        if nearby is not None:
            await self._nodes.carrier.settle_vectors()
        await self._nodes.settle()
        try:
            self._check_there()
            return await search.candidates(self._nodes.graph, query, nearby)
        except StoreUnavailable as error:
            self._nodes.carrier.lost(str(error))
            found = await self._nodes.outbox.read(lambda rows: words_here(rows, query))
            return [
                Candidate(each.kind, each.id, each.session_id, each.turn_id, each.at, words=each.score)
                for each in found
            ]

    async def hits(self, candidates: Sequence[Candidate], text: str) -> list[Hit]:
        """The candidates as hits, in their order, with the excerpt that fits the text best."""
        try:
            self._check_there()
            return await search.hits(self._nodes.graph, candidates, text)
        except StoreUnavailable as error:
            self._nodes.carrier.lost(str(error))
            wanted = {each.id: place for place, each in enumerate(candidates)}
            query = Query(text, limit=len(candidates) * 10)
            found = await self._nodes.outbox.read(lambda rows: words_here(rows, query))
            return sorted((hit for hit in found if hit.id in wanted), key=lambda hit: wanted[hit.id])

    def _check_there(self) -> None:
        """Raise StoreUnavailable at once while the server is away: what is here answers then."""
        if self._nodes.carrier.away:
            raise StoreUnavailable(self._nodes.carrier.link.away)
