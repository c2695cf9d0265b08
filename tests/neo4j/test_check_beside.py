"""What `check` and `status` say of a graph that is in order, also while others write to it."""

from collections.abc import Iterator
from typing import Any

import pytest

from ragforge.store.base import RecordKind
from ragforge.store.neo4j.abandonment import HEADS
from ragforge.store.neo4j.address import Address
from ragforge.store.neo4j.check import findings
from ragforge.store.neo4j.connection import Graph, Row
from ragforge.store.neo4j.migrations import database_info, prepare
from ragforge.store.neo4j.status import status
from tests.contract.builders import DIMENSIONS
from tests.neo4j.graph_rows import connected
from tests.servers.neo4j import EMBEDDER, Neo4jServer
from tests.servers.shared import Servers


# One kind is enough: the two differ in nothing that is asked here.
@pytest.fixture(params=["neo4j-5"])
def server(request: pytest.FixtureRequest, neo4j_servers: Servers) -> Iterator[Neo4jServer]:
    with neo4j_servers.emptied(request.param) as server:
        yield server


class Undoing(Graph):
    """A connection beside which somebody undoes a turn, and the next but one look sees all of it."""

    looks = 0

    async def read(self, query: str, /, **more: Any) -> list[Row]:
        if query == HEADS:
            self.looks += 1
            if self.looks == 2:
                await self.run("MATCH (t:ConversationTurn {id: 't2'}) SET t.left = true")
        return await super().read(query, **more)


async def test_a_turn_that_is_being_undone_is_no_finding(server: Neo4jServer) -> None:
    graph = Undoing(Address.from_url(server.url, server.password))
    await graph.connect()
    try:
        await prepare(graph, adopt=False)
        await graph.run(
            "CREATE (:ConversationSession {sessionId: 's', headId: 't1'}), "
            "(t1:ConversationTurn {id: 't1', turnIndex: 0}), "
            "(:ConversationTurn {id: 't2', parentId: 't1', turnIndex: 1})-[:NEXT]->(t1)"
        )
        wrong = [each for each in await findings(graph, repair=False) if "is marked as abandoned" in each]
        assert (wrong, graph.looks) == ([], 3)
        await graph.run("MATCH (t:ConversationTurn {id: 't2'}) SET t.left = null")
        (wrong,) = [each for each in await findings(graph, repair=False) if "is marked as abandoned" in each]
        assert wrong.startswith("Turn t2 ")
    finally:
        await graph.close()


class Writing(Graph):
    """A connection beside which somebody writes: the first look sees a call without what ties it."""

    is_whole = False

    async def read(self, query: str, /, **more: Any) -> list[Row]:
        found = await super().read(query, **more)
        if not self.is_whole and any(row.get("id") == "k" for row in found):
            self.is_whole = True
            await self.run(
                "MATCH (k:ToolCall {id: 'k'}), (t:ConversationTurn {id: 't1'}) "
                "CREATE (t)-[:HAS_TOOL_CALL]->(k)"
            )
        return found


@pytest.mark.parametrize("repair", [False, True])
async def test_what_is_being_written_is_no_finding(server: Neo4jServer, repair: bool) -> None:
    graph = Writing(Address.from_url(server.url, server.password))
    await graph.connect()
    try:
        await prepare(graph, adopt=False)
        await graph.run("CREATE (:ConversationTurn {id: 't1'}), (:ToolCall {id: 'k', turnId: 't1'})")
        found = await findings(graph, repair=repair)
        assert graph.is_whole
        assert [each for each in found if each.startswith("ToolCall k lacks its HAS_TOOL_CALL.")] == []
    finally:
        await graph.close()


async def test_the_status_names_server_indexes_and_counts(server: Neo4jServer) -> None:
    async with connected(server) as graph:
        await graph.run(
            "CREATE (:Project {id: 'p', createdAt: datetime()}), (:Project {id: 'q', createdAt: datetime()})"
        )
        info = await database_info(graph)
        assert info is not None
        told = await status(graph, info)
    assert told.kind == f"Neo4j {graph.version_text} community"
    assert told.counts[RecordKind.PROJECT] == 2
    assert set(told.indexes.values()) == {"online"}
    assert told.details["embedder"] == f"{EMBEDDER}, {DIMENSIONS} dimensions"
    assert told.latency_ms > 0
