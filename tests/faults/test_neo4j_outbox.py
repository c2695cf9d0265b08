"""The file in which rows wait: full, and with rows that the server will never take."""

import resource
import sys
from pathlib import Path

import pytest

from ragforge.domain.errors import StoreUnavailable
from ragforge.domain.usage import Usage
from ragforge.store.neo4j.address import Address
from ragforge.store.neo4j.carry import carry
from ragforge.store.neo4j.connection import Graph
from ragforge.store.neo4j.outbox import Cargo, Outbox, Rows
from tests.contract.builders import a_project, a_step, a_turn, an_end, new_session
from tests.faults.graph import Speaker, arrived, assert_exactly_once, opened, url_of
from tests.servers.neo4j import Neo4jServer
from tests.servers.proxy import Proxy


@pytest.mark.skipif(sys.platform == "win32", reason="limits of a process are POSIX")
async def test_a_full_disk_acknowledges_nothing_and_goes_on_when_there_is_space(
    server: Neo4jServer, tmp_path: Path
) -> None:
    async with opened(url_of(server), tmp_path) as store:
        speaker = Speaker(store, await new_session(store))
        await store.sessions.claim(speaker.session.id)
        await speaker.speak()
        await arrived(store)
        (path,) = tmp_path.glob("outbox/*.db")
        written = max(file.stat().st_size for file in path.parent.iterdir())
        unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
        # A file that may not grow: to SQLite the same as a disk that is full.
        resource.setrlimit(resource.RLIMIT_FSIZE, (written + 20_000, unlimited[1]))
        try:
            refused = a_turn(speaker.session, "word " * 100_000, parent=speaker.turn)
            with pytest.raises(StoreUnavailable, match=r"outbox/.*disk"):
                await store.turns.start(refused)
            assert await store.turns.get(refused.id) is None
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
        await speaker.speak()
        await arrived(store)
    assert speaker.turn
    await assert_exactly_once(server, speaker.acknowledged, head=speaker.turn.id)


async def test_a_row_that_the_server_will_never_take_stops_no_other(
    server: Neo4jServer, proxy: Proxy, tmp_path: Path
) -> None:
    async with opened(url_of(server, port=proxy.port), tmp_path) as store:
        speaker = Speaker(store, await new_session(store))
        await store.sessions.claim(speaker.session.id)
        await arrived(store)
        proxy.refuse()
        proxy.cut()
        await speaker.speak()
        # Longer than the key of an index may be.
        long = a_project(id="p" * 40_000)
        await store.projects.add(long)
        # More than 64 bits, as a provider may say that has lost count.
        counted = await new_session(store)
        turn = a_turn(counted)
        await store.turns.start(turn)
        step = a_step(turn, usage=Usage(2**70, 0, 1, 0))
        await store.turns.end(an_end(turn, last_step=step))
        await speaker.speak()
        await proxy.accept()
        await arrived(store)
        assert store.link.away == ""
        await speaker.speak()
        await arrived(store)
        told = await store.check()
        assert any("Project ppp" in each and "the server refused it" in each for each in told)
        assert any(f"{turn.id}/0 waits here" in each for each in told)
        # It can still be read where it was written.
        assert await store.projects.get(long.id) == long
        kept = await store.turns.get(turn.id)
        assert kept
        assert kept.assistant == "Done."
    assert speaker.turn
    await assert_exactly_once(server, speaker.acknowledged, head=speaker.turn.id)


async def test_a_batch_that_comes_after_those_that_followed_it_changes_nothing(
    server: Neo4jServer, proxy: Proxy, tmp_path: Path
) -> None:
    async with opened(url_of(server, port=proxy.port), tmp_path) as store:
        speaker = Speaker(store, await new_session(store))
        await arrived(store)
        await store.sessions.claim(speaker.session.id)
        proxy.refuse()
        proxy.cut()
        await speaker.start()
        await speaker.call()
        (path,) = tmp_path.glob("outbox/*.db")
        other = Outbox(path)
        early = await other.read(lambda rows: rows.waiting(Cargo.CONVERSATION, rows_max=100, bytes_max=10**6))
        number = await other.write(Rows.next_change)
        await other.close()
        assert {row.props.get("status") for row in early} >= {"running"}
        await proxy.accept()
        await speaker.end()
        last = await speaker.speak()
        await arrived(store)
        graph = Graph(Address.from_url(url_of(server)))
        # What a server does that was stopped before it and goes on.
        told = await carry(graph, early, batch=number, deadline_s=30, database=other.database_id)
        await graph.close()
        assert told.late == {speaker.session.id}
    await assert_exactly_once(server, speaker.acknowledged, head=last.id)
