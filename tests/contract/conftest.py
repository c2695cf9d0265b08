"""Every test here takes a store of each kind. A new kind is one more branch in `address`.

A test looks at a project of its own only, for a server is shared with others at that moment, and holds what
they left. One that has to see all that is stored is marked as `emptied`: then nobody else is there, and
others wait for it. One that changes indexes is marked as `remakes`.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from ragforge.store.base import Store
from ragforge.store.open import open_store
from tests.new_stores import make_store
from tests.patience import SERVER, patience
from tests.servers import neo4j
from tests.servers.shared import Servers

KINDS = ("sqlite", *neo4j.VERSIONS)

Opener = Callable[[], Awaitable[Store]]


@pytest.fixture(autouse=True)
def _patience() -> Iterator[None]:
    with patience(SERVER):
        yield


@pytest.fixture(params=KINDS)
def address(request: pytest.FixtureRequest, tmp_path: Path, neo4j_servers: Servers) -> Iterator[str]:
    """The URL of a store."""
    match request.param:
        case "sqlite":
            make_store(tmp_path / "store/ragforge.db")
            yield f"sqlite://{tmp_path}/store/ragforge.db"
        case kind if kind in neo4j.VERSIONS:
            with _way_in(request.node, neo4j_servers)(kind) as server:
                yield server.url
        case kind:
            raise AssertionError(f"no way to open a {kind} store")


def _way_in(
    item: pytest.Item, servers: Servers
) -> Callable[[str], AbstractContextManager[neo4j.Neo4jServer]]:
    if item.get_closest_marker("remakes"):
        return servers.remade
    return servers.emptied if item.get_closest_marker("emptied") else servers.among_others


@pytest.fixture
async def opener(address: str, tmp_path: Path) -> AsyncIterator[Opener]:
    """Opens one and the same store again and again, as other processes would; closes them all."""
    opened: list[Store] = []

    async def again() -> Store:
        opened.append(await open_store(address, machine_dir=tmp_path))
        return opened[-1]

    yield again
    for store in opened:
        await store.close()


@pytest.fixture
async def store(opener: Opener) -> Store:
    """A store."""
    return await opener()


@pytest.fixture
async def source(tmp_path: Path) -> AsyncIterator[Store]:
    """An empty store on this machine, to load from."""
    store = await open_store(f"sqlite://{tmp_path}/source.db", machine_dir=tmp_path / "source")
    yield store
    await store.close()
