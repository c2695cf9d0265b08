"""Every acknowledged word reaches the graph exactly once, however its server and its writers end."""

import asyncio
import statistics
import time
from pathlib import Path

import pytest

from ragforge.domain.errors import StoreUnavailable
from ragforge.domain.search import Query
from ragforge.store.neo4j.address import Address
from ragforge.store.neo4j.connection import Graph
from ragforge.store.neo4j.errors import OutcomeUnknown
from tests.contract.builders import new_session
from tests.faults.graph import Speaker, arrived, assert_exactly_once, opened, url_of
from tests.faults.graph_process import writing
from tests.processes import until
from tests.servers import neo4j
from tests.servers.neo4j import OwnServer

AWAY_S_MAX = 120.0
AT_ONCE_S_MAX = 1.5
"""Shorter than any deadline of a call to the server. A busy machine may take longer, but not each time."""
TRIES = 5
ORDERS = 400
SOON_S = 1.0
PATIENT_S = 60.0


@pytest.fixture
def server(own_neo4j: OwnServer) -> OwnServer:
    return own_neo4j


async def test_a_server_killed_in_the_middle_of_a_turn_gets_all_when_it_is_started_again(
    server: OwnServer, tmp_path: Path
) -> None:
    async with opened(url_of(server), tmp_path) as store:
        session = await new_session(store)
        await arrived(store)
    with writing(url_of(server), tmp_path, session.id) as writer:
        writer.ask("speak")
        for order in ("start", "call", "end"):
            writer.send(order)
        # Somewhere within the turn's batches.
        neo4j.kill(server)
        for _ in range(3):
            assert writer.hear() == "done"
        writer.ask("speak")
        neo4j.start_again(server)
        writer.ask("speak")
        writer.ask("settle")
        assert writer.ask("lost") == "no"
        writer.close()
    await assert_exactly_once(server, writer.acknowledged, head=list(writer.acknowledged.turns)[-1])


async def test_what_a_killed_writer_had_acknowledged_is_carried_by_the_next(
    server: OwnServer, tmp_path: Path
) -> None:
    async with opened(url_of(server), tmp_path) as store:
        session = await new_session(store)
        await arrived(store)
    with writing(url_of(server), tmp_path, session.id) as writer:
        # More than it can tell before somebody reads it: it cannot be done.
        for _ in range(ORDERS):
            writer.send("speak")
        for _ in range(5):
            writer.hear()
        # While it writes, and while it carries.
        writer.kill()
    assert len(writer.acknowledged.turns) < ORDERS
    async with opened(url_of(server), tmp_path) as store:
        await arrived(store)
        await store.sessions.claim(session.id)
        stored = await store.sessions.get(session.id)
        assert stored
        assert stored.head
        # The one that it was at may have begun without a word of it having been told.
        path = await store.turns.path(stored.head)
        acknowledged = list(writer.acknowledged.turns)
        assert [turn.id for turn in path][: len(acknowledged)] == acknowledged
        assert len(path) <= len(acknowledged) + 1
        speaker = Speaker(store, session, last=path[-1])
        await speaker.speak()
    writer.acknowledged.turns |= speaker.acknowledged.turns
    assert speaker.turn
    await assert_exactly_once(server, writer.acknowledged, more=True, head=speaker.turn.id)


async def test_a_stopped_server_holds_up_nobody_and_gets_all_when_it_goes_on(
    server: OwnServer, tmp_path: Path
) -> None:
    async with opened(url_of(server), tmp_path) as store:
        session = await new_session(store)
        claim = await store.sessions.claim(session.id)
        speaker = Speaker(store, session)
        first = await speaker.speak()
        await arrived(store)
        neo4j.stop(server)
        # On its way when the server stopped: whether it arrives is not known.
        turn = await speaker.start()
        await until(lambda: bool(store.link.away), AWAY_S_MAX)
        assert (waiting := store.link.waiting) > 0
        await speaker.call()
        assert store.link.waiting > waiting

        took_s: list[float] = []
        for _ in range(TRIES):
            began = time.monotonic()
            path = await store.turns.path(turn.id)
            assert [each.id for each in path] == [first.id, turn.id]
            assert await store.turns.get(first.id) == path[0]
            assert len(await store.turns.steps([first.id, turn.id])) == 4
            assert len(await store.calls.of_turns([first.id, turn.id])) == 3
            hits = await store.search.words(Query(f"answer of {first.id}", project_id=session.project_id))
            assert first.id in {hit.turn_id for hit in hits}
            with pytest.raises(StoreUnavailable):
                await store.vectors.in_use()
            took_s.append(time.monotonic() - began)
        assert min(took_s) < AT_ONCE_S_MAX

        await speaker.end()
        speaker.times_s.clear()
        last = await speaker.speak()
        assert statistics.median(speaker.times_s) < AT_ONCE_S_MAX
        neo4j.go_on(server)
        await arrived(store)
        assert store.link.away == ""
        assert claim.lost == ""

        neo4j.stop(server)
        await new_session(store)
        await until(lambda: bool(store.link.away), AWAY_S_MAX)
        assert store.link.waiting > 0
        began = time.monotonic()
        await store.close()
        assert time.monotonic() - began < AT_ONCE_S_MAX
        neo4j.go_on(server)
    await assert_exactly_once(server, speaker.acknowledged, head=last.id)


async def test_a_server_that_stands_still_is_given_up_and_used_again_when_it_goes_on(
    server: OwnServer,
) -> None:
    graph = Graph(Address.from_url(server.url, server.password))
    await graph.connect()
    # Several connections in the pool, all of which the stopped server has.
    await asyncio.gather(*(graph.read("RETURN 1", deadline_s=PATIENT_S) for _ in range(4)))
    neo4j.stop(server)
    try:
        began = time.monotonic()
        with pytest.raises(OutcomeUnknown):
            await graph.write("CREATE (:Scratch)", deadline_s=SOON_S)
        with pytest.raises(OutcomeUnknown):
            async for _ in graph.stream("RETURN 1", deadline_s=SOON_S):
                pass
        with pytest.raises(OutcomeUnknown):
            await graph.transaction(lambda transaction: transaction.run("RETURN 1"), deadline_s=SOON_S)
        other = Graph(Address.from_url(server.url, server.password))
        with pytest.raises(StoreUnavailable):
            await other.read("RETURN 1", deadline_s=SOON_S)
        await other.close()
        assert time.monotonic() - began < 60
    finally:
        neo4j.go_on(server)
    assert await graph.read("RETURN 1 AS one", deadline_s=PATIENT_S) == [{"one": 1}]
    await graph.close()


async def test_closing_does_not_wait_for_a_server_that_stands_still(server: OwnServer) -> None:
    graph = Graph(Address.from_url(server.url, server.password))
    await graph.connect()
    neo4j.stop(server)
    try:
        began = time.monotonic()
        await graph.close()
        assert time.monotonic() - began < 30
    finally:
        neo4j.go_on(server)
