"""A server for tests does what faults ask of it, and does not outlive what started it."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from ragforge.domain.errors import StoreUnavailable
from tests.processes import running_with, until
from tests.servers import jars, neo4j, shared, sources
from tests.servers.leash import on_leash
from tests.servers.shared import Servers, Starting
from tests.servers.sources import Docker, Source, Started

PASSWORD = "for these tests"


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
    await until(lambda: not running_with(marker))


def test_a_leash_tells_when_its_command_ended(tmp_path: Path) -> None:
    leash = on_leash([sys.executable, "-c", "print('said'); raise SystemExit(3)"], log=tmp_path / "log")
    assert leash.wait(30)
    assert (leash.ended, leash.holder.returncode) == (True, 3)
    assert (tmp_path / "log").read_text() == "said\n"


@pytest.mark.each_server
def test_a_shared_server_is_of_the_kind_it_stands_for(neo4j_server: neo4j.Neo4jServer) -> None:
    assert neo4j.version_of(neo4j_server) == neo4j_server.version


def test_the_tests_are_told_why_the_schema_could_not_be_built(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: Source, home: Path) -> Started:
        raise StoreUnavailable("no room for an index")

    def found(kind: str, environ: Mapping[str, str]) -> Source:
        return Docker(kind)

    monkeypatch.setattr(sources, "begin", refuse)
    monkeypatch.setattr(sources, "source_of", found)
    monkeypatch.setattr(shared, "WAIT_S_MAX", 60)
    starting = Starting({})
    try:
        waiting = Servers(starting.folder, required=False)
        waiting.want(["neo4j-5"])
        starting.start_wanted()
        with pytest.raises(pytest.fail.Exception, match="neo4j-5: no room for an index"):
            waiting.get("neo4j-5")
    finally:
        starting.close()


def test_classes_are_kept_for_one_java_and_one_folder_of_jars(tmp_path: Path) -> None:
    kept = {
        jars.archive(version, tmp_path / folder, java)
        for version in neo4j.VERSIONS.values()
        for folder in ("here", "there")
        for java in ("17.0.1", "17.0.2")
    }
    assert len(kept) == 8
    assert jars.archive("5.26.30", tmp_path, "17.0.1") == jars.archive("5.26.30", tmp_path, "17.0.1")
