"""What pytest is told of the Neo4j servers: they start when a collected test needs one, and end with the run.

A test says which it needs by a parameter: `KINDS` of the contract tests, or the fixture `neo4j_server`.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.servers import neo4j
from tests.servers.neo4j import Neo4jServer, OwnServer
from tests.servers.shared import Servers, Starting
from tests.servers.sources import Missing, jars_of

REQUIRED = "RAGFORGE_TEST_REQUIRE_NEO4J"

STARTING = pytest.StashKey[Starting]()
SERVERS = pytest.StashKey[Servers]()
FOLDER = "neo4j_servers_folder"


def pytest_configure(config: pytest.Config) -> None:
    handed: dict[str, Any] | None = getattr(config, "workerinput", None)
    if handed is None:
        config.stash[STARTING] = Starting(os.environ)
    folder = Path(handed[FOLDER]) if handed else config.stash[STARTING].folder
    config.stash[SERVERS] = Servers(folder, required=os.environ.get(REQUIRED, "") not in ("", "0"))


def pytest_unconfigure(config: pytest.Config) -> None:
    if STARTING in config.stash:
        config.stash[STARTING].close()


def pytest_report_header(config: pytest.Config) -> list[str]:
    starting = config.stash.get(STARTING, None)
    if starting is None:
        return []
    return ["stores: sqlite", *(f"        {kind} {starting.source_of(kind)}" for kind in neo4j.VERSIONS)]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Before xdist tells the run's own process, which starts them."""
    if session.config.option.collectonly:
        return
    session.config.stash[SERVERS].want(kind for kind in neo4j.VERSIONS if _needed(kind, session.items))
    if STARTING in session.config.stash:
        session.config.stash[STARTING].start_wanted()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    node.workerinput[FOLDER] = str(node.config.stash[STARTING].folder)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any) -> None:
    node.config.stash[STARTING].start_wanted()


@pytest.fixture(scope="session")
def neo4j_servers(request: pytest.FixtureRequest) -> Servers:
    """The servers that this run shares."""
    return request.config.stash[SERVERS]


@pytest.fixture(params=tuple(neo4j.VERSIONS))
def neo4j_server(request: pytest.FixtureRequest, neo4j_servers: Servers) -> Iterator[Neo4jServer]:
    """A server of each kind, shared with other tests: look at a project of your own only."""
    with neo4j_servers.among_others(request.param) as server:
        yield server


@pytest.fixture(scope="module")
def own_neo4j(
    neo4j_servers: Servers, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., OwnServer]]:
    """Starts a server that is this file's alone and may be killed: `own_neo4j("neo4j-5", password=...)`.

    It takes what `neo4j.start` takes after the home. All end with the file.
    """
    started: list[OwnServer] = []

    def start(kind: str, **options: Any) -> OwnServer:
        version = neo4j.VERSIONS[kind]
        source = jars_of(version, os.environ)
        if isinstance(source, Missing):
            neo4j_servers.lack(f"{kind}: {source.why}")
        started.append(neo4j.start(version, tmp_path_factory.mktemp(kind), **options))
        return started[-1]

    yield start
    for server in started:
        neo4j.kill(server)


def _needed(kind: str, items: list[pytest.Item]) -> bool:
    functions = (item for item in items if isinstance(item, pytest.Function))
    return any(kind in item.callspec.params.values() for item in functions if hasattr(item, "callspec"))
