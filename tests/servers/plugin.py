"""What pytest is told of the Neo4j servers: they start when a collected test needs one, and end with the run.

A test says which it needs by a parameter: `KINDS` of the contract tests, or the fixture `neo4j_server`.
"""

import os
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadFileScheduling  # pyright: ignore[reportMissingTypeStubs]

from tests.servers import neo4j
from tests.servers.neo4j import Neo4jServer, OwnServer
from tests.servers.order import mixed, rotated
from tests.servers.prepared import start_prepared
from tests.servers.proxy import Proxy
from tests.servers.shared import Servers, Starting
from tests.servers.sources import Missing, jars_of

REQUIRED = "RAGFORGE_TEST_REQUIRE_NEO4J"

STARTING = pytest.StashKey[Starting]()
SERVERS = pytest.StashKey[Servers]()
FOLDER = "neo4j_servers_folder"
OWN_KIND = "neo4j-5"
OWN_PASSWORD = "of the administrator"
OWN_FILES = {f"tests/faults/test_neo4j_{name}.py" for name in ("killed", "met", "server")}
"""Those that ask for `own_neo4j`."""
LATE_FILES = {
    f"tests/unit/test_{name}.py" for name in ("tasks", "tests_again", "tools_search", "understanding")
}
"""Those that take longest of the last by name: while they ended, the other processes had nothing to do."""
SCHEMA_FILE = "tests/neo4j/test_schema.py"
"""Its tests make and drop all indexes, for which a server takes seconds in which it does little."""


def pytest_configure(config: pytest.Config) -> None:
    handed: dict[str, Any] | None = getattr(config, "workerinput", None)
    if handed is None:
        config.stash[STARTING] = Starting(os.environ)
    folder = Path(handed[FOLDER]) if handed else config.stash[STARTING].folder
    config.stash[SERVERS] = Servers(folder, required=os.environ.get(REQUIRED, "") not in ("", "0"))
    config.addinivalue_line("markers", "emptied: the store holds nothing else, and nobody else uses it")
    config.addinivalue_line("markers", "remakes: makes indexes, so that a server loses its plans; comes last")


def pytest_unconfigure(config: pytest.Config) -> None:
    if STARTING in config.stash:
        config.stash[STARTING].close()


def pytest_report_header(config: pytest.Config) -> list[str]:
    starting = config.stash.get(STARTING, None)
    if starting is None:
        return []
    return ["stores: sqlite", *(f"        {kind} {starting.source_of(kind)}" for kind in neo4j.VERSIONS)]


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Each of several processes reads the tests from another place on."""
    report = yield
    handed: dict[str, Any] | None = getattr(collector.config, "workerinput", None)
    if handed and isinstance(collector, pytest.Directory) and report.passed:
        worker = int(handed["workerid"].removeprefix("gw"))
        report.result = rotated(report.result, worker=worker, workers=handed["workercount"])
    return report


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Those that need a server are spread among the others; long files come first, as those are that start
    one of their own; those that make it plan anew, which costs it more than all else, come last.
    """
    files: dict[Path, list[pytest.Item]] = {}
    for item in sorted(items, key=lambda item: (_makes_plan_anew(item), item.path)):
        files.setdefault(item.path, []).append(item)

    def place(file: Path) -> tuple[bool, bool, Path]:
        is_long = _starts_own(files[file]) or files[file][0].location[0] in LATE_FILES
        return any(map(_makes_plan_anew, files[file])), not is_long, file

    spread = mixed(sorted(files, key=place), lambda file: _need_server(files[file]))
    items[:] = [item for file in spread for item in files[file]]


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


# One kind is enough where the two differ in nothing that is asked.
@pytest.fixture(params=["neo4j-5"])
def server(request: pytest.FixtureRequest, neo4j_servers: Servers) -> Iterator[Neo4jServer]:
    """A server shared with other tests: look at a project of your own only."""
    with neo4j_servers.among_others(request.param) as found:
        yield found


@pytest.fixture
async def proxy(server: Neo4jServer) -> AsyncIterator[Proxy]:
    """What stands before the server, and may cut it off."""
    async with Proxy(server.port) as found:
        yield found


@pytest.fixture(scope="session")
def _own_neo4j(neo4j_servers: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnServer]:
    version = neo4j.VERSIONS[OWN_KIND]
    source = jars_of(version, os.environ)
    if isinstance(source, Missing):
        neo4j_servers.lack(f"{OWN_KIND}: {source.why}")
    start = start_prepared if source.cached else neo4j.start
    server = start(version, tmp_path_factory.mktemp(OWN_KIND), password=OWN_PASSWORD)
    yield server
    neo4j.kill(server)


@pytest.fixture
def own_neo4j(_own_neo4j: OwnServer) -> Iterator[OwnServer]:
    """A server with users that may be killed and stopped; it runs at the start of each test.

    The files that ask for it share it, so they run in one process, one after another (`SharingAServer`).
    """
    if _own_neo4j.leash.ended:
        neo4j.start_again(_own_neo4j)
    yield _own_neo4j
    neo4j.go_on(_own_neo4j)


class SharingAServer(LoadFileScheduling):
    """Files are split by server alone, where each test has it for itself for long, and those that share a
    server that may be killed go to one process.
    """

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        if file == SCHEMA_FILE:
            return next((f"{file} {kind}" for kind in neo4j.VERSIONS if f"[{kind}" in nodeid), file)
        return "own server" if file in OWN_FILES else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> SharingAServer | None:
    return SharingAServer(config, log) if config.option.dist == "loadfile" else None


def _needed(kind: str, items: list[pytest.Item]) -> bool:
    functions = (item for item in items if isinstance(item, pytest.Function))
    return any(kind in item.callspec.params.values() for item in functions if hasattr(item, "callspec"))


def _need_server(items: list[pytest.Item]) -> bool:
    return _starts_own(items) or any(_needed(kind, items) for kind in neo4j.VERSIONS)


def _starts_own(items: list[pytest.Item]) -> bool:
    own = any("own_neo4j" in getattr(item, "fixturenames", ()) for item in items)
    assert own == (items[0].location[0] in OWN_FILES), f"OWN_FILES and {items[0].location[0]} disagree"
    return own


def _makes_plan_anew(item: pytest.Item) -> bool:
    return item.get_closest_marker("remakes") is not None
