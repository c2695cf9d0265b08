"""Every test here takes a store of each kind. A new kind is one more branch in `address`."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from ragforge.store.base import Store
from ragforge.store.open import open_store
from tests.servers import neo4j
from tests.servers.shared import Servers

KINDS = ("sqlite", *neo4j.VERSIONS)

Opener = Callable[[], Awaitable[Store]]


@pytest.fixture(params=KINDS)
def address(request: pytest.FixtureRequest, tmp_path: Path, neo4j_servers: Servers) -> Iterator[str]:
    """The URL of an empty store."""
    match request.param:
        case "sqlite":
            yield f"sqlite://{tmp_path}/store/ragforge.db"
        case kind if kind in neo4j.VERSIONS:
            with neo4j_servers.emptied(kind) as server:
                yield server.url
        case kind:
            raise AssertionError(f"no way to open a {kind} store")


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
    """An empty store."""
    return await opener()
