"""A graph on a server of each kind, rows in it that are a test's own, and machines that share one."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from ragforge.store.base import Store
from ragforge.store.neo4j.connection import Graph
from tests.faults.graph import opened, url_of
from tests.neo4j.graph_rows import Rows, connected
from tests.patience import SERVER, patience
from tests.servers.neo4j import Neo4jServer
from tests.servers.proxy import Proxy


@pytest.fixture(autouse=True)
def _patience() -> Iterator[None]:
    with patience(SERVER):
        yield


@pytest.fixture
async def graph(neo4j_server: Neo4jServer) -> AsyncIterator[Graph]:
    """A connection to a server that other tests use too."""
    async with connected(neo4j_server) as found:
        yield found


@pytest.fixture
async def rows(graph: Graph) -> AsyncIterator[Rows]:
    """A project with a session, which goes with the test."""
    found = Rows(graph)
    await found.begin()
    yield found
    await found.remove()


@pytest.fixture
async def there(server: Neo4jServer, tmp_path: Path) -> AsyncIterator[Store]:
    """The store of a machine that reaches the server."""
    async with opened(url_of(server), tmp_path / "there") as store:
        yield store


@pytest.fixture
async def far(server: Neo4jServer, proxy: Proxy, tmp_path: Path) -> AsyncIterator[Store]:
    """The store of a machine that may be cut off."""
    async with opened(url_of(server, port=proxy.port), tmp_path / "far") as store:
        yield store
