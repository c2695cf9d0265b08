"""Every acknowledged word reaches the graph exactly once, whatever its server refuses meanwhile."""

from pathlib import Path

import pytest

from ragforge.domain.errors import StoreUnavailable
from ragforge.domain.ids import new_id
from ragforge.store.neo4j.address import Address
from ragforge.store.neo4j.connection import Graph
from ragforge.store.neo4j.errors import LoginRefused
from tests.contract.builders import new_session, said
from tests.faults.graph import Speaker, arrived, assert_exactly_once, opened, replaced, url_of
from tests.processes import until
from tests.servers import neo4j
from tests.servers.neo4j import OwnServer
from tests.servers.proxy import Proxy

AWAY_S_MAX = 120.0
FIRST, SECOND = "the first password", "the second password"


@pytest.fixture
def server(own_neo4j: OwnServer) -> OwnServer:
    return own_neo4j


@pytest.fixture
def user(server: OwnServer) -> str:
    """One whose password is FIRST."""
    name = f"u{new_id().replace('-', '')}"
    administer(server, f"CREATE USER {name} SET PASSWORD $password CHANGE NOT REQUIRED", password=FIRST)
    return name


def administer(server: OwnServer, statement: str, **parameters: str) -> None:
    neo4j.query(server, statement, database="system", **parameters)


async def test_a_wrong_password_is_refused_and_not_shown(server: OwnServer) -> None:
    for password, told in (("wrong horse", "refuses the user 'neo4j'"), ("", "needs a user and a password")):
        graph = Graph(Address.from_url(server.url, password))
        with pytest.raises(LoginRefused, match=told) as refused:
            await graph.connect()
        assert "wrong horse" not in str(refused.value)
        await graph.close()


async def test_a_wrong_password_is_told_and_loses_nothing(
    server: OwnServer, proxy: Proxy, user: str, tmp_path: Path
) -> None:
    right = url_of(server, port=proxy.port, user=user, password=FIRST)
    async with opened(right, tmp_path) as store:
        speaker = Speaker(store, await new_session(store))
        await store.sessions.claim(speaker.session.id)
        await speaker.start()
        proxy.refuse()
        proxy.cut()
        await speaker.call()
        await speaker.end()
    await proxy.accept()
    with pytest.raises(LoginRefused, match=f"refuses the user '{user}'") as refused:
        async with opened(url_of(server, port=proxy.port, user=user, password="wrong one"), tmp_path):
            pass
    assert "ragforge db connect" in str(refused.value)
    assert "wrong one" not in str(refused.value)
    async with opened(right, tmp_path) as store:
        await arrived(store)
    assert speaker.turn
    await assert_exactly_once(server, speaker.acknowledged, head=speaker.turn.id)


async def test_a_password_that_is_changed_during_a_turn_is_told_and_loses_nothing(
    server: OwnServer, proxy: Proxy, user: str, tmp_path: Path
) -> None:
    async with opened(url_of(server, port=proxy.port, user=user, password=FIRST), tmp_path) as store:
        speaker = Speaker(store, await new_session(store))
        await store.sessions.claim(speaker.session.id)
        await speaker.start()
        change = f"ALTER USER {user} SET PASSWORD $password CHANGE NOT REQUIRED"
        administer(server, change, password=SECOND)
        proxy.cut()
        await speaker.call()
        await until(lambda: "refuses the user" in store.link.away, AWAY_S_MAX)
        assert FIRST not in store.link.away
        await speaker.end()
        assert store.link.waiting > 0
    # Not a try too many: then the server would listen to nobody of that name for a while.
    async with opened(url_of(server, port=proxy.port, user=user, password=SECOND), tmp_path) as store:
        await arrived(store)
    assert speaker.turn
    await assert_exactly_once(server, speaker.acknowledged, head=speaker.turn.id)


async def test_a_password_that_expires_during_a_turn_is_told_and_loses_nothing(
    server: OwnServer, proxy: Proxy, user: str, tmp_path: Path
) -> None:
    first = url_of(server, port=proxy.port, user=user, password=FIRST)
    async with opened(first, tmp_path) as store:
        speaker = Speaker(store, await new_session(store))
        await store.sessions.claim(speaker.session.id)
        await speaker.start()
        administer(server, f"ALTER USER {user} SET PASSWORD CHANGE REQUIRED")
        proxy.cut()
        await speaker.call()
        await until(lambda: "new password" in store.link.away, AWAY_S_MAX)
        await speaker.end()
        assert store.link.waiting > 0
    with pytest.raises(LoginRefused, match="ALTER CURRENT USER SET PASSWORD") as refused:
        async with opened(first, tmp_path):
            pass
    assert refused.value.expired
    own = neo4j.Neo4jServer(server.version, server.url, FIRST, user)
    change = "ALTER CURRENT USER SET PASSWORD FROM $old TO $new"
    neo4j.query(own, change, database="system", old=FIRST, new=SECOND)
    async with opened(url_of(server, port=proxy.port, user=user, password=SECOND), tmp_path) as store:
        await arrived(store)
    assert speaker.turn
    await assert_exactly_once(server, speaker.acknowledged, head=speaker.turn.id)


async def test_what_waits_goes_to_no_other_database_behind_the_same_address(
    server: OwnServer, proxy: Proxy, tmp_path: Path
) -> None:
    url = url_of(server, port=proxy.port)
    async with opened(url, tmp_path) as store:
        speaker = Speaker(store, await new_session(store))
        await store.sessions.claim(speaker.session.id)
        await arrived(store)
        (database,) = neo4j.query(server, "MATCH (d:RagforgeDatabase) RETURN d.id AS id")
        with replaced(server, database["id"]):
            # Nobody was away: the next server answers on the connection of the one before.
            await speaker.start()
            await until(lambda: "different database" in store.link.away, AWAY_S_MAX)
            await speaker.call()
            assert store.link.waiting > 0
            async with opened(url, tmp_path) as other:
                assert other.link.waiting == 0
            found = neo4j.query(
                server, "MATCH (t:ConversationTurn {sessionId: $id}) RETURN t.id", id=speaker.session.id
            )
            assert found == []
        await speaker.end()
        await arrived(store)
    async with opened(url, tmp_path) as store:
        assert store.link.waiting == 0
    assert speaker.turn
    await assert_exactly_once(server, speaker.acknowledged, head=speaker.turn.id)


@pytest.mark.long
async def test_a_read_only_server_is_read_and_gets_all_when_it_may_be_written(
    server: OwnServer, tmp_path: Path
) -> None:
    url = url_of(server)
    settings = server.home / "conf" / "neo4j.conf"
    writable = settings.read_text()
    async with opened(url, tmp_path) as store:
        session = await new_session(store)
        async with opened(url, tmp_path / "another machine") as other:
            elsewhere = await said(other, await new_session(other))
        await store.sessions.claim(session.id)
        speaker = Speaker(store, session)
        await speaker.speak()
        await speaker.start()
        await arrived(store)
        # Properly: what a kill leaves to be recovered cannot be written then.
        neo4j.end(server)
        await speaker.call()
        neo4j.start_again(server, settings=["server.databases.default_to_read_only=true"])
        await until(lambda: "is read-only" in store.link.away, AWAY_S_MAX)
        await speaker.end()
        assert store.link.waiting > 0
        # Nothing of the other session is kept here.
        turn = await store.turns.get(elsewhere.id)
        assert turn
        assert turn.assistant == "Done."
        assert speaker.turn
        assert [turn.id for turn in await store.turns.path(speaker.turn.id)] == list(
            speaker.acknowledged.turns
        )
    async with opened(url, tmp_path / "another machine") as store:
        with pytest.raises(StoreUnavailable, match="is read-only"):
            await store.sessions.claim(session.id)
        # Nothing is kept there.
        assert await store.turns.get(elsewhere.id) == turn
    neo4j.kill(server)
    settings.write_text(writable)
    neo4j.start_again(server)
    async with opened(url, tmp_path) as store:
        await arrived(store)
    assert speaker.turn
    await assert_exactly_once(server, speaker.acknowledged, head=speaker.turn.id)
