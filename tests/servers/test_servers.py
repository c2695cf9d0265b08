"""A server for tests does what faults ask of it, and does not outlive what started it."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from neo4j.exceptions import AuthError, ClientError

from tests.processes import running_with, until
from tests.servers import neo4j
from tests.servers.leash import on_leash
from tests.servers.neo4j import OwnServer

PASSWORD = "for these tests"


@pytest.fixture(scope="module")
def server(own_neo4j: Callable[..., OwnServer]) -> OwnServer:
    return own_neo4j("neo4j-5", password=PASSWORD)


def test_what_was_written_is_there_after_a_kill_and_a_new_start(server: OwnServer) -> None:
    neo4j.query(server, "CREATE (:Kept {word: $word})", word="before")
    url, before = server.url, server.leash.pid
    neo4j.kill(server)
    assert neo4j.silence(server) is not None
    neo4j.start_again(server, settings=["server.databases.default_to_read_only=true"])
    assert (server.url, server.leash.pid == before) == (url, False)
    assert neo4j.query(server, "MATCH (k:Kept) RETURN k.word AS word") == [{"word": "before"}]
    with pytest.raises(ClientError, match="read"):
        neo4j.query(server, "CREATE (:Kept)")


def test_a_stopped_server_keeps_its_connections_and_goes_on(server: OwnServer) -> None:
    port = int(server.url.rpartition(":")[2])
    # A client's first words, which a running server answers within milliseconds.
    hello = bytes.fromhex("6060b017 00000405 00000000 00000000 00000000")
    neo4j.stop(server)
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=0.5) as connection:
            connection.sendall(hello)
            with pytest.raises(TimeoutError):
                connection.recv(4)
            neo4j.go_on(server)
            connection.settimeout(20)
            assert connection.recv(4)
    finally:
        neo4j.go_on(server)
    assert neo4j.query(server, "RETURN 1 AS one") == [{"one": 1}]


def test_a_wrong_password_is_refused(server: OwnServer) -> None:
    wrong = neo4j.Neo4jServer(server.version, server.url, "wrong")
    with pytest.raises(AuthError):
        neo4j.query(wrong, "RETURN 1")


def test_an_expired_password_lets_nobody_ask(server: OwnServer) -> None:
    change = "ALTER USER neo4j SET PASSWORD $password CHANGE REQUIRED"
    neo4j.query(server, change, database="system", password=PASSWORD + "!")
    expired = neo4j.Neo4jServer(server.version, server.url, PASSWORD + "!")
    with pytest.raises(neo4j.FAILURES) as refused:
        neo4j.query(expired, "RETURN 1")
    assert refused.value.code == "Neo.ClientError.Security.CredentialsExpired"
    assert neo4j.silence(expired) is None
    neo4j.end(server)
    assert server.leash.ended


async def test_a_command_dies_with_whoever_started_it_even_of_a_kill(tmp_path: Path) -> None:
    marker = f"left-behind-{tmp_path.name}-{os.getpid()}"
    # A process that ignores SIGTERM, and one that it started.
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    owner = (
        "import pathlib, sys, time; from tests.servers.leash import on_leash;"
        "leash = on_leash([sys.executable, '-c', sys.argv[1], sys.argv[2]], log=pathlib.Path(sys.argv[3]));"
        "print(leash.pid, flush=True); time.sleep(600)"
    )
    arguments = [sys.executable, "-c", owner, stubborn, marker, str(tmp_path / "log")]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip().isdigit()
        assert running_with(marker)
        os.kill(process.pid, signal.SIGKILL)
    await until(lambda: not running_with(marker), timeout_s=30)


def test_a_leash_tells_when_its_command_ended(tmp_path: Path) -> None:
    leash = on_leash([sys.executable, "-c", "print('said'); raise SystemExit(3)"], log=tmp_path / "log")
    assert leash.wait(30)
    assert (leash.ended, leash.holder.returncode) == (True, 3)
    assert (tmp_path / "log").read_text() == "said\n"


def test_a_shared_server_is_of_the_kind_it_stands_for(neo4j_server: neo4j.Neo4jServer) -> None:
    assert neo4j.version_of(neo4j_server) == neo4j_server.version
