"""A graph on a server of each kind, and rows in it that are a test's own."""

from collections.abc import AsyncIterator

import pytest

from ragforge.store.neo4j.connection import Graph
from tests.neo4j.graph_rows import Rows, connected
from tests.servers.neo4j import Neo4jServer


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
