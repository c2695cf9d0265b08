"""What brings rows to a server lets it plan their queries first, and again after it has lost its plans.

A slow one is sent less.
"""

import time
from array import array
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from ragforge.domain import timeouts
from ragforge.domain.vectors import Embedding, Owner, OwnerKind
from ragforge.store.neo4j import Here, Neo4jStore
from ragforge.store.neo4j.address import Address
from ragforge.store.neo4j.carry import statement
from ragforge.store.neo4j.connection import Graph, Row
from ragforge.store.neo4j.migrations import prepare
from ragforge.store.neo4j.outbox import Cargo, open_outbox
from tests.contract.builders import new_session, said
from tests.faults.graph import arrived
from tests.servers.neo4j import Neo4jServer
from tests.servers.shared import Servers
from tests.servers.warm import MODEL

pytestmark = pytest.mark.remakes

CARRIES = {statement([], cargo)[0]: cargo for cargo in Cargo}


class Watched(Graph):
    """A connection that notes what is carried: the cargo, and whether there were rows in it."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self.carried: list[tuple[Cargo, bool]] = []
        self.sent: list[tuple[float, int]] = []
        """When how many rows were sent."""
        self.too_late = 0
        """So many of these get no answer in time."""
        self.plans_in_s = 0.0
        """A query without rows gets no answer in less time than this."""

    async def write(
        self, query: str, /, *, deadline_s: float = timeouts.NEO4J_WRITE_S_MAX, **parameters: Any
    ) -> list[Row]:
        if query in CARRIES:
            self.carried.append((CARRIES[query], any(parameters["rows"].values())))
            if self.carried[-1][1]:
                self.sent.append((time.monotonic(), sum(map(len, parameters["rows"].values()))))
                if len(self.sent) <= self.too_late:
                    deadline_s = 0.001
            elif deadline_s < self.plans_in_s:
                deadline_s = 0.001
        return await super().write(query, deadline_s=deadline_s, **parameters)

    def planned_before_rows(self) -> set[Cargo]:
        """Of which cargos the server was given none, before it was given the first rows."""
        first = [rows for _, rows in self.carried].index(True)
        return {cargo for cargo, _ in self.carried[:first]}


# One kind is enough: both forget their plans when an index is made.
@pytest.fixture(params=["neo4j-5"])
def server(request: pytest.FixtureRequest, neo4j_servers: Servers) -> Iterator[Neo4jServer]:
    with neo4j_servers.remade(request.param) as server:
        yield server


@pytest.fixture
async def graph(server: Neo4jServer) -> Watched:
    graph = Watched(Address.from_url(server.url, server.password))
    await graph.connect()
    return graph


@pytest.fixture
async def store(graph: Watched, tmp_path: Path) -> AsyncIterator[Neo4jStore]:
    info = await prepare(graph, adopt=True)
    outbox = open_outbox(tmp_path / f"{info.id}.db", lock_dir=tmp_path)
    store = Neo4jStore(graph.address.driver_uri, graph, Here(outbox, info.id, "here", tmp_path))
    yield store
    await store.close()


async def test_no_row_is_the_first_of_its_query(graph: Watched, store: Neo4jStore) -> None:
    await new_session(store)
    await arrived(store)
    assert graph.planned_before_rows() == {*Cargo}


async def test_after_an_index_was_made_all_is_planned_again_before_the_next_row(
    graph: Watched, store: Neo4jStore
) -> None:
    session = await new_session(store)
    # The server is others' too: they may have left indexes of any length.
    await store.vectors.use(MODEL, 4)
    await arrived(store)
    for dimensions, lost in ((3, {*Cargo}), (3, set[Cargo]())):
        graph.carried.clear()
        await store.vectors.use(MODEL, dimensions)
        await said(store, session)
        await arrived(store)
        assert graph.planned_before_rows() == lost


async def test_a_server_that_plans_slowly_gets_more_time_for_it(graph: Watched, store: Neo4jStore) -> None:
    """It begins anew each time, so with the same time it would never be done."""
    session = await new_session(store)
    await store.vectors.use(MODEL, 4)
    await arrived(store)
    graph.carried.clear()
    graph.plans_in_s = 3 * timeouts.NEO4J_WARM_UP_S_MAX
    await store.vectors.use(MODEL, 3)
    await said(store, session)
    await arrived(store)
    assert graph.planned_before_rows() == {*Cargo}
    tries = [rows for _, rows in graph.carried].index(True)
    assert tries >= len(Cargo) + 2, "twice it was given up"


async def test_a_slow_server_gets_less_once_it_has_given_up_what_it_was_sent(
    graph: Watched, store: Neo4jStore
) -> None:
    await arrived(store)
    graph.sent.clear()
    graph.too_late = 2
    # Nothing has these ids, so the server has little to do.
    await store.vectors.save(
        [
            Embedding(Owner(OwnerKind.TURN, str(number)), MODEL, "h", array("f", [1.0]))
            for number in range(520)
        ]
    )
    await arrived(store)
    times, sizes = zip(*graph.sent, strict=True)
    assert sizes == (500, 250, 125, 250, 145)
    assert times[1] - times[0] > timeouts.NEO4J_SERVER_GRACE_S
    assert times[2] - times[1] > timeouts.NEO4J_SERVER_GRACE_S


@pytest.mark.long_on_servers
async def test_after_a_repair_all_is_planned_again(graph: Watched, store: Neo4jStore) -> None:
    session = await new_session(store)
    await arrived(store)
    graph.carried.clear()
    await graph.run("DROP INDEX step_turn")
    assert await store.check(repair=True) == ["The index step_turn is missing. It was created again."]
    await said(store, session)
    await arrived(store)
    assert graph.planned_before_rows() == {*Cargo}
