"""Every acknowledged word reaches the graph exactly once, whatever the network does on the way."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ragforge.domain import timeouts
from ragforge.domain.errors import StoreUnavailable
from ragforge.domain.turns import TurnStatus
from tests.contract.builders import new_session
from tests.faults.graph import Speaker, arrived, assert_exactly_once, opened, url_of
from tests.faults.graph_process import writing
from tests.processes import until
from tests.servers import neo4j
from tests.servers.neo4j import Neo4jServer
from tests.servers.proxy import Proxy

AWAY_S_MAX = 120.0


@pytest.fixture
def url(server: Neo4jServer, proxy: Proxy) -> str:
    """The server behind the proxy."""
    return url_of(server, port=proxy.port)


def cut(proxy: Proxy) -> None:
    proxy.cut()


def truncate_at_once(proxy: Proxy) -> None:
    proxy.cut_after(1)


def truncate_later(proxy: Proxy) -> None:
    proxy.cut_after(40)


@pytest.mark.parametrize("fault", [cut, truncate_at_once, truncate_later])
async def test_a_cut_in_the_middle_of_a_turn_loses_and_doubles_nothing(
    fault: Callable[[Proxy], None], server: Neo4jServer, proxy: Proxy, url: str, tmp_path: Path
) -> None:
    async with opened(url, tmp_path) as store:
        speaker = Speaker(store, await new_session(store))
        await store.sessions.claim(speaker.session.id)
        await speaker.speak()
        for _ in range(3):
            fault(proxy)
            await speaker.start()
            fault(proxy)
            await speaker.call()
            fault(proxy)
            await speaker.end()
        await arrived(store)
        assert store.link.away == ""
    assert speaker.turn
    await assert_exactly_once(server, speaker.acknowledged, head=speaker.turn.id)


async def test_a_pulled_cable_stops_nobody(
    server: Neo4jServer, proxy: Proxy, url: str, tmp_path: Path
) -> None:
    async with opened(url, tmp_path) as store:
        speaker = Speaker(store, await new_session(store))
        await store.sessions.claim(speaker.session.id)
        await speaker.start()
        proxy.drop = True
        await speaker.call()
        await until(lambda: bool(store.link.away), AWAY_S_MAX)
        waiting = store.link.waiting
        await speaker.end()
        await speaker.speak()
        assert store.link.waiting > waiting > 0
        assert "did not answer" in store.link.away
        proxy.drop = False
        # What stood open while the cable was out is never answered.
        proxy.cut()
        await arrived(store)
    assert speaker.turn
    await assert_exactly_once(server, speaker.acknowledged, head=speaker.turn.id)


async def test_what_comes_late_over_a_slow_line_is_written_once(
    server: Neo4jServer, proxy: Proxy, url: str, tmp_path: Path
) -> None:
    async with opened(url, tmp_path) as store:
        speaker = Speaker(store, await new_session(store))
        await store.sessions.claim(speaker.session.id)
        await arrived(store)
        proxy.delay_s = 3
        await speaker.start()
        await speaker.call()
        await until(lambda: bool(store.link.away), AWAY_S_MAX)
        await speaker.end()
        proxy.delay_s = 0
        await arrived(store)
        await speaker.speak()
        await arrived(store)
    assert speaker.turn
    await assert_exactly_once(server, speaker.acknowledged, head=speaker.turn.id)


async def test_nothing_is_sent_again_while_a_slow_server_may_still_be_at_work_on_it(
    server: Neo4jServer, proxy: Proxy, url: str, tmp_path: Path
) -> None:
    async with opened(url, tmp_path) as store:
        speaker = Speaker(store, await new_session(store))
        await store.sessions.claim(speaker.session.id)
        await arrived(store)
        await speaker.speak()
        await arrived(store)
        assert speaker.turn
        # Longer than it has at first, and less than it has then.
        proxy.watched, proxy.watched_delay_s = speaker.turn.id.encode(), 1.5 * timeouts.NEO4J_STEP_S_MAX
        await speaker.speak()
        await arrived(store)
    first, second, *_ = proxy.watched_at
    assert second - first > timeouts.NEO4J_STEP_S_MAX + timeouts.NEO4J_SERVER_GRACE_S
    await assert_exactly_once(server, speaker.acknowledged, head=speaker.turn.id)


async def test_a_server_that_was_never_reached_keeps_nothing_and_says_what_to_do(
    proxy: Proxy, url: str, tmp_path: Path
) -> None:
    proxy.refuse()
    with pytest.raises(StoreUnavailable, match="Start it") as refused:
        async with opened(url, tmp_path):
            pass
    assert "never reached before" in str(refused.value)
    assert not list(tmp_path.rglob("*.db"))


async def test_a_server_that_is_away_at_the_start_gets_all_when_it_is_back(
    server: Neo4jServer, proxy: Proxy, url: str, tmp_path: Path
) -> None:
    async with opened(url, tmp_path) as store:
        old = Speaker(store, await new_session(store))
        claim = await store.sessions.claim(old.session.id)
        await old.speak()
        await claim.release()
    proxy.refuse()
    async with opened(url, tmp_path) as store:
        assert "Start it" in store.link.away
        new = Speaker(store, await new_session(store))
        await store.sessions.claim(new.session.id)
        await new.speak()
        # The one of before goes on too.
        await store.sessions.claim(old.session.id)
        again = Speaker(store, old.session, last=old.turn)
        await again.speak()
        assert store.link.waiting > 0
        await proxy.accept()
        await arrived(store)
        assert store.link.away == ""
    assert new.turn
    assert again.turn
    await assert_exactly_once(server, new.acknowledged, head=new.turn.id)
    old.acknowledged.turns |= again.acknowledged.turns
    await assert_exactly_once(server, old.acknowledged, head=again.turn.id)


async def test_a_turn_of_a_dead_writer_ends_without_the_server_too(
    server: Neo4jServer, proxy: Proxy, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Where the server is away on purpose, how long that is waited out is not the question.
    monkeypatch.setattr(timeouts, "NEO4J_REACH_S_MAX", 1.0)
    async with opened(url, tmp_path) as store:
        session = await new_session(store)
        await arrived(store)
    with writing(url, tmp_path, session.id) as writer:
        writer.ask("speak")
        writer.ask("start")
        writer.ask("call")
        writer.kill()
    proxy.refuse()
    async with opened(url, tmp_path) as store:
        await store.sessions.claim(session.id)
        _, left = writer.acknowledged.turns
        turn = await store.turns.get(left)
        assert turn
        assert turn.status is TurnStatus.INTERRUPTED
        assert turn.assistant == f"step of {writer.acknowledged.turns[left].calls[0]}"
        speaker = Speaker(store, session, last=turn)
        await speaker.speak()
        await proxy.accept()
        await arrived(store)
    status = "MATCH (t:ConversationTurn {id: $id}) RETURN t.status AS status"
    assert neo4j.query(server, status, id=left) == [{"status": "interrupted"}]
    writer.acknowledged.turns |= speaker.acknowledged.turns
    assert speaker.turn
    await assert_exactly_once(server, writer.acknowledged, head=speaker.turn.id)


async def test_what_waits_at_the_end_of_a_process_is_carried_by_the_next(
    server: Neo4jServer, proxy: Proxy, url: str, tmp_path: Path
) -> None:
    async with opened(url, tmp_path) as store:
        speaker = Speaker(store, await new_session(store))
        await store.sessions.claim(speaker.session.id)
        await speaker.start()
        proxy.refuse()
        proxy.cut()
        await speaker.call()
        await speaker.end()
        await until(lambda: bool(store.link.away), AWAY_S_MAX)
    await proxy.accept()
    async with opened(url, tmp_path) as store:
        assert (await store.drain(timeout_s=AWAY_S_MAX)).waiting == 0
    assert speaker.turn
    await assert_exactly_once(server, speaker.acknowledged, head=speaker.turn.id)
