"""All that the graph holds, as records: streamed, in order, and never more than can be loaded."""

import tracemalloc
from array import array
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from datetime import timedelta

import pytest
from msgspec.structs import replace

from ragforge.domain.ids import new_id
from ragforge.domain.messages import TextPart
from ragforge.domain.summaries import Summary
from ragforge.domain.vectors import Embedding, Owner, OwnerKind
from ragforge.store.archive_items import key_of, kind_of
from ragforge.store.archive_lines import canonical
from ragforge.store.base import Record, RecordKind
from ragforge.store.neo4j.archive_read import counts, dump, fetch
from ragforge.store.neo4j.connection import Graph
from ragforge.store.neo4j.rows import Label
from tests.contract.builders import NOON, a_call, a_request, a_session, a_step, a_turn
from tests.neo4j.graph_rows import Rows, connected
from tests.servers.neo4j import Neo4jServer
from tests.servers.shared import Servers

TURNS = 1_500
CHARS = 10_000


# One kind is enough: the two differ in nothing that is asked here.
@pytest.fixture(params=["neo4j-5"])
def neo4j_server(request: pytest.FixtureRequest, neo4j_servers: Servers) -> Iterator[Neo4jServer]:
    """An empty server: a dump is of everything."""
    with neo4j_servers.emptied(request.param) as server:
        yield server


@pytest.fixture
async def graph(neo4j_server: Neo4jServer) -> AsyncIterator[Graph]:
    async with connected(neo4j_server) as found:
        yield found


async def filled(rows: Rows) -> list[Record]:
    """One of everything and some more, in the order of a dump."""
    session = replace(rows.session, head="is yet to come", user="ada \ud800", title="a\0b")
    fork = a_session(rows.project.id, forked_from=session.id)
    first = a_turn(session, "One. 🦜", usage=a_step(a_turn(session)).usage, cost_usd=0.5)
    second = replace(
        a_turn(session, "Two.", parent=first), assistant="Yes.", ended_at=NOON + timedelta(minutes=3)
    )
    branch = replace(a_turn(fork, "Or three.", parent=first), user=(TextPart("a"), TextPart("b")))
    step = a_step(second, 0, "Let me.", a_request("read", path="a.py"), a_request("grep", pattern="x"))
    late = a_step(second, 10, "Done.")
    calls = [a_call(step, 0), a_call(step, 1, result="half \ud800", diff="+ a")]
    summary = Summary(new_id(), rows.project.id, session.id, 1, "Short.", (first.id, second.id), NOON)
    await rows.add_session(session)
    await rows.add_session(fork)
    await rows.add_turns([first, second, branch])
    for each in (step, late):
        await rows.add_step(each)
    for each in calls:
        await rows.add_call(each)
    await rows.add_summary(summary)
    vector = array("f", [0.25, -1.5, *(0.125,) * 254])
    await rows.embed({first.id: vector})
    await rows.embed({summary.id: vector}, label=Label.SUMMARY)
    embeddings = [
        Embedding(Owner(OwnerKind.SUMMARY, summary.id), "m", summary.id, vector),
        Embedding(Owner(OwnerKind.TURN, first.id), "m", first.id, vector),
    ]
    by_id: Callable[[Record], str] = key_of
    return [
        rows.project,
        *sorted((session, fork), key=by_id),
        first,
        *sorted((second, branch), key=by_id),
        step,
        late,
        *sorted(calls, key=by_id),
        summary,
        *embeddings,
    ]


def as_stored(records: list[Record]) -> list[bytes]:
    """What can be compared: no store can hold half of a surrogate pair."""
    return [canonical(record).replace(b"\\ud800", b"\\ufffd") for record in records]


async def dumped(graph: Graph) -> list[Record]:
    return [record async for record in dump(graph)]


async def test_everything_comes_out_once_and_in_order(rows: Rows) -> None:
    records = await filled(rows)
    assert as_stored(await dumped(rows.graph)) == as_stored(records)


async def test_counts_are_those_of_the_dump(rows: Rows) -> None:
    assert {kind: number for kind, number in (await counts(rows.graph)).items() if number} == {
        RecordKind.PROJECT: 1,
        RecordKind.SESSION: 1,
    }
    records = await filled(rows)
    expected = {kind: sum(kind_of(each) == kind for each in records) for kind in RecordKind}
    assert await counts(rows.graph) == expected


async def test_records_are_fetched_by_the_ids_that_a_dump_gives(rows: Rows) -> None:
    records = await filled(rows)
    for kind in RecordKind:
        wanted = [each for each in records if kind_of(each) == kind]
        found = await fetch(
            rows.graph, kind, [*(key_of(each) for each in wanted), "no such", "turn/", "a/b/0"]
        )
        assert sorted(as_stored(found)) == sorted(as_stored(wanted))
        assert await fetch(rows.graph, kind, []) == []


async def test_nodes_of_other_people_are_no_records(rows: Rows) -> None:
    records = await filled(rows)
    await rows.graph.write(
        "CREATE (:Project {name: 'theirs'}), (:Project {id: 7}), (:ToolCall {hammer: true})"
    )
    found = await dumped(rows.graph)
    await rows.graph.write(
        "MATCH (n:Project|ToolCall) WHERE n.name = 'theirs' OR n.id = 7 OR n.hammer DELETE n"
    )
    assert as_stored(found) == as_stored(records)


async def test_what_belongs_to_a_turn_that_came_too_late_is_left_out(rows: Rows) -> None:
    records = await filled(rows)
    late = a_turn(rows.session, "Late.")
    step = a_step(late, 0, "", a_request())
    found: list[Record] = []
    async with aclosing(dump(rows.graph)) as dumping:
        async for record in dumping:
            found.append(record)
            if kind_of(record) == RecordKind.STEP and late is not None:
                await rows.add_turns([late])
                await rows.add_step(step)
                await rows.add_call(a_call(step))
                await rows.embed({late.id: array("f", [1.0] * 256)})
                late = None
    assert as_stored(found) == as_stored(records)


async def test_a_dump_that_is_left_early_holds_nothing_open(rows: Rows) -> None:
    await filled(rows)
    async with aclosing(dump(rows.graph)) as dumping:
        async for _ in dumping:
            break
    open_ones = await rows.graph.read(
        "SHOW TRANSACTIONS YIELD currentQuery WHERE currentQuery CONTAINS 'ORDER BY n.id'"
    )
    assert [each for each in open_ones if "SHOW" not in each["currentQuery"]] == []


@pytest.mark.long
async def test_a_large_dump_is_not_held_at_once(rows: Rows) -> None:
    await rows.add_turns(a_turn(rows.session, "x" * CHARS) for _ in range(TURNS))
    tracemalloc.start()
    count = 0
    async for _ in dump(rows.graph):
        count += 1
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == TURNS + 2
    # Two answers of FETCH_ROWS may be on the way.
    assert peak < TURNS * CHARS * 5 / 6
