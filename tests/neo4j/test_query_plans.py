"""What a server plans: once where the plan may be kept, and to its end even if nobody waits for it."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from time import monotonic
from typing import Any, LiteralString, cast

import pytest
from neo4j import Query

from ragforge.domain.errors import StoreUnavailable
from ragforge.domain.ids import new_id
from ragforge.domain.memories import ConceptFilter, MemoryFilter, MemorySort, MemoryType
from ragforge.domain.search import INDEXED_KINDS, Candidate
from ragforge.domain.vectors import Nearby, Owner, OwnerKind
from ragforge.store.deadline import answered_by
from ragforge.store.neo4j.address import Address
from ragforge.store.neo4j.carrier import Carrier
from ragforge.store.neo4j.connection import Graph, Row
from ragforge.store.neo4j.memories import Neo4jMemories
from ragforge.store.neo4j.nodes import Nodes
from ragforge.store.neo4j.outbox import open_outbox
from ragforge.store.neo4j.places import contents_of, related
from ragforge.store.neo4j.rows import Label
from ragforge.store.neo4j.summaries import Neo4jSummaries
from ragforge.store.neo4j.vectors_read import lacking, nearest, similar
from tests.contract import builders as a
from tests.neo4j.graph_rows import connected
from tests.servers import neo4j
from tests.servers.neo4j import EMBEDDER, Neo4jServer
from tests.servers.shared import Servers

READING_ALL = ("AllNodesScan", "NodeByLabelScan", "DirectedRelationshipTypeScan")
KEPT = "replan=skip"
NOBODYS = "nobody's"


class PlannedGraph(Graph):
    """A connection that notes what is sent over it, and the operators of the plans that a server may keep."""

    def __init__(self, server: Neo4jServer) -> None:
        super().__init__(Address.from_url(server.url, server.password))
        self.sent: list[str] = []
        self.operators: dict[str, list[str]] = {}
        self.plans = True
        """Else what the server is to plan never arrives there."""

    async def _auto_commit(
        self, query: str, parameters: Mapping[str, Any], *, writes: bool, deadline_s: float
    ) -> list[Row]:
        self.sent.append(query)
        if query.startswith("EXPLAIN") and not self.plans:
            await asyncio.Event().wait()
        if KEPT in query and "EXPLAIN" not in query:
            await self._look_at(query, parameters)
        return await super()._auto_commit(query, parameters, writes=writes, deadline_s=deadline_s)

    async def _look_at(self, query: str, parameters: Mapping[str, Any]) -> None:
        # As a text of its own: what stands before or after it is part of what a server knows a plan by.
        new = Query(cast("LiteralString", f"EXPLAIN {query}\n// {new_id()}"))
        async with self._session(writes=False) as session:
            plan = (await (await session.run(new, dict(parameters))).consume()).plan
        assert plan
        self.operators[query] = list(_operators(plan))


def _operators(plan: Mapping[str, Any]) -> Iterator[str]:
    yield f"{plan['operatorType']} {plan['args'].get('Details', '')}"
    for child in plan.get("children", ()):
        yield from _operators(child)


@pytest.fixture(params=tuple(neo4j.VERSIONS))
def server(request: pytest.FixtureRequest, neo4j_servers: Servers) -> Iterator[Neo4jServer]:
    with neo4j_servers.emptied(request.param) as server:
        yield server


@pytest.fixture
async def planned(server: Neo4jServer) -> AsyncIterator[PlannedGraph]:
    graph = PlannedGraph(server)
    async with connected(server):
        await graph.connect()
    yield graph
    await graph.close()


@pytest.mark.each_server
async def test_a_plan_that_is_kept_finds_all_by_indexes_even_if_it_was_made_for_an_empty_graph(
    planned: PlannedGraph, tmp_path: Path
) -> None:
    outbox = open_outbox(tmp_path / "outbox.db", lock_dir=tmp_path)

    async def nothing(*_: Any) -> None: ...

    nodes = Nodes(planned, outbox, Carrier(planned, outbox, reach=nothing, fenced=nothing))
    memories, summaries = Neo4jMemories(nodes), Neo4jSummaries(nodes)
    nearby = Nearby(a.a_vector(1, 0), EMBEDDER, NOBODYS)
    keys = [(kind, NOBODYS) for kind in INDEXED_KINDS]
    await planned.write(f"CREATE (:{Label.PROJECT} {{id: $id}})", id=NOBODYS)

    for sort in MemorySort:
        await memories.find(MemoryFilter(NOBODYS, session_id=NOBODYS, person=NOBODYS, sort=sort))
    await memories.find(MemoryFilter(NOBODYS, binding=True))
    await memories.find(MemoryFilter(NOBODYS, types=(MemoryType.GOAL,), replaced=False, abandoned=False))
    await memories.find(MemoryFilter(None, person=NOBODYS, types=(MemoryType.PREFERENCE,)))
    await memories.get([NOBODYS])
    await memories.of_turns([NOBODYS])
    await memories.forgotten(project_id=NOBODYS)
    await memories.concepts(ConceptFilter(NOBODYS, NOBODYS, EMBEDDER))
    for binding in (True, False):
        await memories.count_wishes(project_id=NOBODYS, person=NOBODYS, binding=binding)
    for project in (None, NOBODYS):
        await summaries.lacking(project_id=project)
        await summaries.stand_ins(project_id=project)
        await summaries.upper_stand_ins(project_id=project)
        await summaries.outdated(project_id=project)
        await summaries.sessions_to_roll_up(100, project_id=project)
        await lacking(planned, EMBEDDER, project_id=project)
    await nearest(planned, nearby)
    await similar(planned, [Owner(kind, NOBODYS) for kind in OwnerKind], nearby)
    await contents_of(planned, keys)
    await related(planned, [Candidate(kind, NOBODYS, "", "", a.NOON) for kind in INDEXED_KINDS], limit=5)
    await outbox.close()

    assert len(planned.operators) > 20
    assert {
        query: found
        for query, operators in planned.operators.items()
        if (
            found := [
                each for each in operators if each.startswith(READING_ALL) and Label.DATABASE not in each
            ]
        )
    } == {}


async def test_what_is_cut_off_is_planned_to_its_end_and_asked_only_then(planned: PlannedGraph) -> None:
    query = f"MATCH (n {{id: $id}})--()--()--()--()--(m) RETURN count(m) AS number // {new_id()}"
    with pytest.raises(StoreUnavailable):
        await planned.read(query, deadline_s=0.001, id=NOBODYS)

    rows = await planned.read(query, deadline_s=120, id=NOBODYS)

    assert rows == [{"number": 0}]
    assert planned.sent[-2:] == [f"EXPLAIN {query}", query]
    assert not await planned.planned(timeout_s=60), "something is left to be planned"


async def test_there_is_time_for_what_was_cut_off_even_if_whoever_asked_had_none_left(
    planned: PlannedGraph,
) -> None:
    query = f"MATCH (n {{id: $id}})--()--()--()--()--(m) RETURN count(m) AS number // {new_id()}"
    with answered_by(monotonic()), pytest.raises(StoreUnavailable):
        await planned.read(query, id=NOBODYS)

    assert await planned.planned(timeout_s=60)


async def test_a_plan_that_never_comes_takes_half_of_the_time_that_whoever_asks_has_left(
    planned: PlannedGraph,
) -> None:
    query = f"RETURN 1 AS number // {new_id()}"
    planned.plans = False
    with pytest.raises(StoreUnavailable):
        await planned.read(query, deadline_s=0.001)
    assert planned.is_planning

    with answered_by(monotonic() + 10):
        assert await planned.read(query, deadline_s=120) == [{"number": 1}]
