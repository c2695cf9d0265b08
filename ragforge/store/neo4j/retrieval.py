"""Search the graph by words and by meaning; without the server, the replica here."""

from collections.abc import Sequence

from ragforge.domain.errors import StoreUnavailable
from ragforge.domain.search import Candidate, Hit, Query, Related
from ragforge.domain.vectors import Nearby
from ragforge.store.neo4j.nodes import Nodes
from ragforge.store.neo4j.places import related
from ragforge.store.neo4j.scores import Rarities
from ragforge.store.neo4j.search import candidates, hits, words


class Neo4jSearch:
    """Implements `Search`."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._rarities = Rarities()

    async def words(self, query: Query) -> list[Hit]:
        """Return what contains the words, best first; any input is fine."""
        await self._settle()
        try:
            self._check_there()
            return await words(self._nodes.graph, self._rarities, query)
        except StoreUnavailable as error:
            self._nodes.carrier.lost(str(error))
            return await self._nodes.here.search.words(query)

    async def candidates(self, query: Query, nearby: Nearby | None = None) -> list[Candidate]:
        """Return the candidates: the best by words and the nearest; without the server, by words alone."""
        if nearby is not None:
            await self._nodes.carrier.settle_vectors()
        await self._settle()
        try:
            self._check_there()
            return await candidates(self._nodes.graph, self._rarities, query, nearby)
        except StoreUnavailable as error:
            self._nodes.carrier.lost(str(error))
            return await self._nodes.here.search.candidates(query)

    async def related(self, candidates: Sequence[Candidate], *, limit: int = 200) -> list[Related]:
        """Return the turns one step away from each, in the order of the candidates."""
        if not candidates:
            return []
        await self._settle()
        try:
            self._check_there()
            return await related(self._nodes.graph, candidates, limit=limit)
        except StoreUnavailable as error:
            self._nodes.carrier.lost(str(error))
            found = await self._nodes.here.search.related(candidates, limit=limit)
            return [each for each in found if each.turn.id not in self._nodes.here.missing]

    async def hits(self, candidates: Sequence[Candidate], text: str) -> list[Hit]:
        if not candidates:
            return []
        try:
            self._check_there()
            return await hits(self._nodes.graph, candidates, text)
        except StoreUnavailable as error:
            self._nodes.carrier.lost(str(error))
            return await self._nodes.here.search.hits(candidates, text)

    async def _settle(self) -> None:
        await self._nodes.settle()
        await self._nodes.settle_abandoned()

    def _check_there(self) -> None:
        """Raise StoreUnavailable at once while the server is unreachable: the replica answers then."""
        if self._nodes.carrier.away:
            raise StoreUnavailable(self._nodes.carrier.link.away)
