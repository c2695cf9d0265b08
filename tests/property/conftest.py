from collections.abc import Iterator

import pytest

from tests.patience import RECALL, patience
from tests.servers.shared import Servers


@pytest.fixture(autouse=True)
def _what_is_recalled_has_time() -> Iterator[None]:
    """A busy machine leaves out what is late, and an example would not be the same when it is tried again."""
    with patience(RECALL):
        yield


# One version is enough: what these laws ask is decided above the stores.
@pytest.fixture(params=["neo4j-5"])
def graph(request: pytest.FixtureRequest, neo4j_servers: Servers) -> Iterator[dict[str, str]]:
    """The environment that names a server which others use too."""
    with neo4j_servers.among_others(request.param) as server:
        yield {"RAGFORGE_STORE": server.url, "RAGFORGE_STORE_PASSWORD": server.password}
