"""Two who would write one session: processes of one machine, and machines that share the graph."""

import os
from pathlib import Path

import pytest

from ragforge.domain.errors import Conflict, SessionBusy
from ragforge.store.base import Store
from ragforge.store.base_conversations import Claim
from ragforge.store.neo4j.carry_lock import alone
from tests.contract.builders import new_session, said
from tests.faults.graph import Speaker, arrived, assert_exactly_once, opened, url_of
from tests.faults.graph_process import writing
from tests.processes import until
from tests.servers import neo4j
from tests.servers.neo4j import Neo4jServer
from tests.servers.proxy import Proxy

LOST_S_MAX = 120.0

SILENT = "MATCH (s:ConversationSession {sessionId: $id}) SET s.writerSeen = s.writerSeen - duration('PT1H')"


async def taken_over(store: Store, server: Neo4jServer, session_id: str) -> Claim:
    """The claim of a session whose writer was not heard of for an hour of the server's time."""
    for _ in range(20):
        neo4j.query(server, SILENT, id=session_id)
        try:
            return await store.sessions.claim(session_id)
        except SessionBusy:
            # It was heard of in between.
            continue
    raise AssertionError("its writer was always heard of")


async def test_of_two_processes_of_a_machine_the_second_is_refused(
    server: Neo4jServer, tmp_path: Path
) -> None:
    async with opened(url_of(server), tmp_path) as store:
        session = await new_session(store)
        with writing(url_of(server), tmp_path, session.id) as first:
            with pytest.raises(SessionBusy, match=f"process {first.process.pid} on "):
                await store.sessions.claim(session.id)
            first.ask("speak")
            first.kill()
        # The system takes the lock from the dead; its turns are carried by whoever lives.
        await store.sessions.claim(session.id)
        last = await store.turns.get(list(first.acknowledged.turns)[-1])
        second = Speaker(store, session, last=last)
        await second.speak()
        await arrived(store)
    second.acknowledged.turns |= first.acknowledged.turns
    assert second.turn
    await assert_exactly_once(server, second.acknowledged, head=second.turn.id)


async def test_a_session_can_be_claimed_before_it_has_arrived(server: Neo4jServer, tmp_path: Path) -> None:
    async with opened(url_of(server), tmp_path) as store:
        await arrived(store)
        (path,) = tmp_path.glob("outbox/*.db")
        # A process of this machine was suspended while it carried.
        async with alone(path.with_suffix(".carry.lock"), held=lambda _: None):
            session = await new_session(store)
            await store.sessions.claim(session.id)
            speaker = Speaker(store, session)
            await speaker.speak()
            assert store.link.waiting > 0
        await arrived(store)
    assert speaker.turn
    await assert_exactly_once(server, speaker.acknowledged, head=speaker.turn.id)


async def test_of_two_machines_the_second_is_refused_while_the_first_lives(
    server: Neo4jServer, tmp_path: Path
) -> None:
    url = url_of(server)
    async with opened(url, tmp_path / "first") as first, opened(url, tmp_path / "second") as second:
        session = await new_session(first)
        await arrived(first)
        claim = await first.sessions.claim(session.id)
        await said(first, session, "Mine.")
        with pytest.raises(SessionBusy, match=r"process \d+ on "):
            await second.sessions.claim(session.id)
        await claim.release()
        await second.sessions.claim(session.id)
        with pytest.raises(SessionBusy):
            await first.sessions.claim(session.id)


async def test_a_silent_writer_is_succeeded_and_what_it_says_afterwards_is_a_branch(
    server: Neo4jServer, tmp_path: Path
) -> None:
    url = url_of(server)
    async with opened(url, tmp_path / "second") as store:
        session = await new_session(store)
        await arrived(store)
        with writing(url, tmp_path / "first", session.id) as first:
            first.ask("speak")
            first.ask("start")
            first.ask("call")
            first.ask("settle")
            first.stop()
            await taken_over(store, server, session.id)
            shared, running = first.acknowledged.turns
            assert [turn.id for turn in await store.turns.path(running)] == [shared, running]
            with pytest.raises(Conflict, match="another machine"):
                await store.turns.reopen(running)
            second = Speaker(store, session, last=await store.turns.get(running))
            await second.speak()
            await arrived(store)
            first.go_on()
            # It ends the turn that it was at, and begins another below it.
            first.ask("end")
            first.ask("speak")
            first.ask("settle")
            await until(lambda: first.ask("lost") != "no", LOST_S_MAX)
            assert f"taken over by process {os.getpid()} on " in first.ask("lost")
            first.close()
        head, ours = await store.sessions.get(session.id), second.turn
        assert head
        assert ours
        assert head.head == ours.id
    # The branch: both turns rest on the one that the first was at.
    branch = list(first.acknowledged.turns)[-1]
    assert first.acknowledged.turns[branch].parent == second.acknowledged.turns[ours.id].parent == running
    first.acknowledged.turns |= second.acknowledged.turns
    await assert_exactly_once(server, first.acknowledged, head=ours.id)


async def test_who_goes_on_without_the_server_moves_no_head_that_another_has_moved(
    server: Neo4jServer, tmp_path: Path
) -> None:
    async with Proxy(server.port) as proxy:
        away = url_of(server, port=proxy.port)
        async with opened(away, tmp_path / "first") as store:
            session = await new_session(store)
            first = Speaker(store, session)
            await store.sessions.claim(session.id)
            await first.speak()
        async with opened(away, tmp_path / "first") as store:
            # Looked at and closed again: nothing was written under this claim.
            await store.sessions.claim(session.id)
        proxy.refuse()
        async with opened(away, tmp_path / "first") as store:
            claim = await store.sessions.claim(session.id)
            again = Speaker(store, session, last=first.turn)
            await again.speak()
            async with opened(url_of(server), tmp_path / "second") as other:
                await other.sessions.claim(session.id)
                second = Speaker(other, session, last=first.turn)
                await second.speak()
                await arrived(other)
                await proxy.accept()
                await arrived(store)
                await until(lambda: claim.lost != "", LOST_S_MAX)
    first.acknowledged.turns |= again.acknowledged.turns | second.acknowledged.turns
    assert second.turn
    await assert_exactly_once(server, first.acknowledged, head=second.turn.id)
