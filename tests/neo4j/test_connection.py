"""The connection, on servers that are there. `tests/faults` has those that stand still and refuse."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime, timedelta, timezone

import pytest

from ragforge.domain.errors import StoreUnavailable
from ragforge.store.neo4j.address import Address
from ragforge.store.neo4j.connection import Graph, Transaction, version_of
from ragforge.store.neo4j.errors import OutcomeUnknown, StatementRefused
from tests.servers.neo4j import Neo4jServer

PATIENT_S = 60.0


def address_of(server: Neo4jServer, *, scheme: str = "bolt") -> Address:
    return Address.from_url(server.url.replace("bolt", scheme, 1), server.password)


@pytest.fixture
async def graph(neo4j_server: Neo4jServer) -> AsyncIterator[Graph]:
    graph = Graph(address_of(neo4j_server))
    await graph.connect()
    yield graph
    await graph.close()


async def test_the_server_says_its_version_and_edition(graph: Graph, neo4j_server: Neo4jServer) -> None:
    assert ".".join(map(str, graph.version)) == neo4j_server.version.replace(".0", ".")
    assert graph.edition == "community"


async def test_values_come_back_as_pythons_own(graph: Graph) -> None:
    moment = datetime(2026, 2, 3, 4, 5, 6, 789000, timezone(timedelta(hours=5)))
    (row,) = await graph.read(
        "RETURN $moment AS moment, [1, datetime('2026-01-01T00:00+01:00')] AS list, "
        "{at: date('2026-01-02')} AS map, null AS nothing, [1.5, 2.5] AS vector",
        moment=moment,
    )
    assert row["moment"] == moment
    assert row["moment"].tzinfo is UTC
    assert row["list"] == [1, datetime(2025, 12, 31, 23, tzinfo=UTC)]
    assert row["map"]["at"].isoformat() == "2026-01-02"
    assert (row["nothing"], row["vector"]) == (None, [1.5, 2.5])


async def test_nodes_come_back_as_their_properties(graph: Graph) -> None:
    rows = await graph.write(
        "CREATE (n:Scratch {a: 1, at: datetime()}) WITH n, n AS m DELETE m RETURN {n: 2} AS n",
        deadline_s=PATIENT_S,
    )
    assert rows == [{"n": {"n": 2}}]
    (row,) = await graph.write(
        "CREATE (n:Scratch {a: $words}) WITH n CALL (n) { RETURN [n] AS nodes } RETURN nodes",
        words="x",
        deadline_s=PATIENT_S,
    )
    assert row["nodes"] == [{"a": "x"}]
    await graph.write("MATCH (n:Scratch) DELETE n", deadline_s=PATIENT_S)


@pytest.mark.parametrize("value", ["\ud800", 1 << 70, object()], ids=["text", "integer", "type"])
async def test_a_value_that_does_not_fit_is_refused_and_the_next_call_works(
    graph: Graph, value: object
) -> None:
    with pytest.raises(StatementRefused):
        await graph.write("RETURN $value", value=value, deadline_s=PATIENT_S)
    assert await graph.read("RETURN 1 AS one") == [{"one": 1}]


async def test_a_statement_that_fails_is_told_from_a_server_that_is_away(graph: Graph) -> None:
    for wrong in ("WRONG 1", "RETURN 1 / 0", "RETURN $missing"):
        with pytest.raises(StatementRefused):
            await graph.read(wrong)


async def test_a_transaction_is_committed_whole_or_not_at_all(graph: Graph) -> None:
    name = f"Scratch{time.monotonic_ns()}"

    async def work(transaction: Transaction, *, fail: bool) -> int:
        await transaction.run(f"CREATE (:{name})")
        if fail:
            raise KeyError("mine")
        return len(await transaction.run(f"MATCH (n:{name}) RETURN n"))

    with pytest.raises(KeyError):
        await graph.transaction(lambda transaction: work(transaction, fail=True), deadline_s=PATIENT_S)
    assert await graph.transaction(lambda t: work(t, fail=False), deadline_s=PATIENT_S) == 1
    await graph.write(f"MATCH (n:{name}) DELETE n", deadline_s=PATIENT_S)


async def test_two_transactions_that_lock_each_other_out_both_end_well(graph: Graph) -> None:
    names = [f"a{time.monotonic_ns()}", f"b{time.monotonic_ns()}"]
    await graph.write(
        "UNWIND $names AS name CREATE (:Scratch {name: name, count: 0})", names=names, deadline_s=PATIENT_S
    )
    both = asyncio.Barrier(2)

    async def counted(order: list[str]) -> None:
        first = True

        async def work(transaction: Transaction) -> None:
            nonlocal first
            lock = "MATCH (n:Scratch {name: $name}) SET n.count = n.count + 1"
            await transaction.run(lock, name=order[0])
            if first:
                first = False
                await both.wait()
            await transaction.run(lock, name=order[1])

        await graph.transaction(work, deadline_s=PATIENT_S)

    await asyncio.gather(counted(names), counted(names[::-1]))
    rows = await graph.write(
        "MATCH (n:Scratch) WHERE n.name IN $names WITH n, n.count AS count DELETE n RETURN count",
        names=names,
        deadline_s=PATIENT_S,
    )
    assert [row["count"] for row in rows] == [2, 2]


async def test_a_stream_can_be_left_early_and_the_next_call_works(graph: Graph) -> None:
    async with aclosing(graph.stream("UNWIND range(1, 10000000) AS n RETURN n")) as rows:
        async for row in rows:
            if row["n"] == 1000:
                break
    assert await graph.read("RETURN 1 AS one") == [{"one": 1}]


async def test_a_query_past_its_deadline_is_given_up_and_the_next_call_works(graph: Graph) -> None:
    with pytest.raises(OutcomeUnknown, match=r"within 0\.2 s"):
        await graph.read("UNWIND range(1, 1000000000) AS n WITH n WHERE n < 0 RETURN n", deadline_s=0.2)
    assert await graph.read("RETURN 1 AS one") == [{"one": 1}]


async def test_a_cancelled_call_leaves_a_connection_behind_that_works(graph: Graph) -> None:
    slow = asyncio.create_task(
        graph.read("UNWIND range(1, 1000000000) AS n WITH n WHERE n < 0 RETURN n", deadline_s=PATIENT_S)
    )
    await graph.read("RETURN 1")
    slow.cancel()
    with pytest.raises(asyncio.CancelledError):
        await slow
    assert await graph.read("RETURN 1 AS one") == [{"one": 1}]


async def test_bookmarks_of_another_database_are_forgotten(neo4j_server: Neo4jServer) -> None:
    # As after a restore: the server never had that state, and would wait for it.
    graph = Graph(address_of(neo4j_server, scheme="neo4j"), bookmarks=["FB:kcwQ4NfyswftTs+Ijhnbt5Axo8kCCJA="])
    await graph.connect()
    await graph.write("RETURN 1", deadline_s=PATIENT_S)
    assert graph.bookmarks
    await graph.close()


async def test_a_server_that_is_not_there_is_told_at_once() -> None:
    with pytest.raises(StoreUnavailable, match=r"connection refused.*RAGFORGE_STORE=sqlite"):
        await Graph(Address.from_url("bolt://127.0.0.1:1")).connect()
    with pytest.raises(StoreUnavailable, match=r"No server is known under the name 'nowhere\.invalid'"):
        await Graph(Address.from_url("bolt://nowhere.invalid")).connect()


async def test_tls_where_the_server_has_none_is_told_with_the_scheme_to_use(
    neo4j_server: Neo4jServer,
) -> None:
    for scheme in ("bolt+s", "bolt+ssc"):
        graph = Graph(address_of(neo4j_server, scheme=scheme))
        with pytest.raises(StoreUnavailable, match=r"does not use TLS there\. Use bolt://"):
            await graph.connect()
        await graph.close()


async def test_a_database_that_does_not_exist_is_named(neo4j_server: Neo4jServer) -> None:
    graph = Graph(Address.from_url(f"{neo4j_server.url}/elsewhere", neo4j_server.password))
    with pytest.raises(StoreUnavailable, match="has no database 'elsewhere'"):
        await graph.connect()
    await graph.close()


@pytest.mark.parametrize(
    ("text", "version"),
    [("5.26.30", (5, 26, 30)), ("2026.08.1", (2026, 8, 1)), ("5.27-aura", (5, 27)), ("odd", ())],
)
def test_versions_are_compared_by_their_numbers(text: str, version: tuple[int, ...]) -> None:
    assert version_of(text) == version
