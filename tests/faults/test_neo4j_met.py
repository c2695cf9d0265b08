"""What a user meets of a server: a password that is asked for, rows of a database that is gone, a delay."""

import asyncio
import os
import pty
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from ragforge.store.neo4j import Neo4jStore
from tests.cli.running import Program
from tests.contract.builders import new_session
from tests.faults.graph import Speaker, arrived, assert_exactly_once, opened, replaced, url_of
from tests.processes import until
from tests.servers import neo4j
from tests.servers.neo4j import OwnServer
from tests.servers.plugin import OWN_PASSWORD as PASSWORD
from tests.servers.proxy import Proxy
from tests.terminal.screen import CTRL_D, ENTER, Desk

AWAY_S_MAX = 240.0


@pytest.fixture
def server(own_neo4j: OwnServer) -> OwnServer:
    return own_neo4j


async def test_what_waits_for_a_database_that_is_gone_is_told_and_goes_into_the_one_in_its_place(
    server: OwnServer, proxy: Proxy, tmp_path: Path
) -> None:
    url = url_of(server, port=proxy.port)
    speaker = await _waits_for_one_that_goes(url, server, proxy, tmp_path)
    assert speaker.turn
    (database,) = neo4j.query(server, "MATCH (d:RagforgeDatabase) RETURN d.id AS id")
    with replaced(server, database["id"]):
        forget = "MATCH (n {sessionId: $id}) DETACH DELETE n"
        neo4j.query(server, forget, id=speaker.session.id)
        async with opened(url, tmp_path) as store:
            assert isinstance(store, Neo4jStore)
            assert store.link.waiting == 0
            assert store.link.stranded > 0
            assert [each.database_id for each in store.stranded] == [database["id"]]
            assert store.stranded[0].titles == (speaker.session.title,)
            # What had arrived there comes too: the rest stands on it.
            waited = store.link.stranded
            assert await store.take_stranded() > waited
            assert store.link.stranded == 0
            await arrived(store)
        await assert_exactly_once(server, speaker.acknowledged, head=speaker.turn.id)
        async with opened(url, tmp_path) as store:
            assert (store.link.waiting, store.link.stranded) == (0, 0)
            turn = await store.turns.get(speaker.turn.id)
            assert turn
            assert turn.assistant == f"answer of {turn.id}"
        neo4j.query(server, forget, id=speaker.session.id)


async def test_what_waits_for_a_database_that_is_gone_can_be_discarded(
    server: OwnServer, proxy: Proxy, tmp_path: Path
) -> None:
    url = url_of(server, port=proxy.port)
    speaker = await _waits_for_one_that_goes(url, server, proxy, tmp_path)
    (database,) = neo4j.query(server, "MATCH (d:RagforgeDatabase) RETURN d.id AS id")
    with replaced(server, database["id"]):
        async with opened(url, tmp_path) as store:
            assert isinstance(store, Neo4jStore)
            assert store.link.stranded > 0
            await store.discard_stranded()
            assert store.link.stranded == 0
        async with opened(url, tmp_path) as store:
            assert (store.link.waiting, store.link.stranded) == (0, 0)
    assert speaker.turn
    found = neo4j.query(server, "MATCH (t:ConversationTurn {id: $id}) RETURN t.id", id=speaker.turn.id)
    assert found == []


async def _waits_for_one_that_goes(url: str, server: OwnServer, proxy: Proxy, folder: Path) -> Speaker:
    """A turn has arrived, another one waits, and nobody is there any more."""
    async with opened(url, folder) as store:
        speaker = Speaker(store, await new_session(store, title="of the one that goes"))
        claim = await store.sessions.claim(speaker.session.id)
        await speaker.speak()
        await arrived(store)
        proxy.refuse()
        proxy.cut()
        await speaker.speak()
        assert store.link.waiting > 0
        await claim.release()
    await proxy.accept()
    return speaker


@pytest.mark.skipif(sys.platform != "linux", reason="that a process is suspended stands in /proc")
async def test_a_suspended_process_that_holds_up_what_waits_is_named(
    server: OwnServer, tmp_path: Path
) -> None:
    async with opened(url_of(server), tmp_path) as store:
        speaker = Speaker(store, await new_session(store))
        await store.sessions.claim(speaker.session.id)
        await arrived(store)
        (outbox,) = tmp_path.glob("outbox/*.db")
        with subprocess.Popen(
            [sys.executable, "-c", HOLDS, outbox.with_suffix(".carry.lock")], stdout=subprocess.PIPE
        ) as holder:
            assert holder.stdout
            assert holder.stdout.readline() == b"held\n"
            holder.send_signal(signal.SIGSTOP)
            await speaker.speak()
            await until(lambda: f"process {holder.pid}" in store.link.held, AWAY_S_MAX)
            assert "suspended" in store.link.held
            assert store.link.waiting > 0
            holder.kill()
        await arrived(store)
        assert store.link.held == ""
    assert speaker.turn
    await assert_exactly_once(server, speaker.acknowledged, head=speaker.turn.id)


HOLDS = """
import fcntl, os, sys, time
from ragforge.files.locks import sign
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(file, fcntl.LOCK_EX)
sign(file)
print("held", flush=True)
time.sleep(3600)
"""


async def test_a_password_that_is_missing_is_asked_for_in_a_terminal_and_nowhere_else(
    server: OwnServer, tmp_path: Path
) -> None:
    url = f"bolt://neo4j@127.0.0.1:{server.port}"
    program = Program(tmp_path, env={"RAGFORGE_STORE": url})
    ran = await program.run("db", "status")
    assert (ran.code, ran.out) == (4, "")
    assert "needs a user and a password" in ran.err
    assert "ragforge db connect" in ran.err
    assert "set by the variable RAGFORGE_STORE" in ran.err
    main, other = pty.openpty()
    process = await program.start("db", "status", stdin=other, stderr=other)
    os.close(other)
    await _asked(main)
    os.write(main, b"a wrong one\n")
    shown = await _asked(main)
    assert "refuses the user" in shown
    os.write(main, f"{PASSWORD}\n".encode())
    async with asyncio.timeout(AWAY_S_MAX):
        out, _ = await process.communicate()
    os.close(main)
    assert process.returncode == 0
    assert b"Neo4j 5" in out
    assert PASSWORD not in out.decode() + shown
    assert not [
        file for file in tmp_path.rglob("*") if file.is_file() and PASSWORD.encode() in file.read_bytes()
    ]
    main, other = pty.openpty()
    process = await program.start("db", "connect", url, stdin=other, stdout=other, stderr=other)
    os.close(other)
    # The URL names the user: a password that was typed to the question for one would be shown.
    assert "User [" not in await _asked(main)
    process.kill()
    await process.wait()
    os.close(main)


async def _asked(terminal: int) -> str:
    """What is shown until a password is asked for."""
    seen = ""
    async with asyncio.timeout(AWAY_S_MAX):
        while "(not shown)" not in seen:
            seen += (await asyncio.to_thread(os.read, terminal, 65536)).decode()
    # Who sees the question types: it would be shown, and thrown away with what stood there before.
    assert not termios.tcgetattr(terminal)[3] & termios.ECHO
    return seen


def test_the_interface_asks_for_a_password_that_is_missing(server: OwnServer, tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    try:
        screen = desk.start("--store", f"bolt://neo4j@127.0.0.1:{server.port}", "--model", "local")
        screen.wait_for("Give the password", timeout_s=AWAY_S_MAX)
        screen.press(ENTER)
        screen.wait_for("not saved")
        screen.press(PASSWORD.encode())
        screen.wait_for("•" * len(PASSWORD))
        screen.press(ENTER)
        screen.wait_for("Type a message", timeout_s=AWAY_S_MAX)
        assert PASSWORD not in screen.text
        screen.press(CTRL_D)
        assert screen.ended() == 0
    finally:
        desk.close()
