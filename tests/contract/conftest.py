"""Every test here takes a store of each kind. A new kind is one more branch in `opener`."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from ragforge.store.base import Store
from ragforge.store.open import open_store

KINDS = ("sqlite",)

Opener = Callable[[], Awaitable[Store]]


@pytest.fixture(params=KINDS)
async def opener(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Opener]:
    """Opens one and the same store again and again, as other processes would; closes them all."""
    match request.param:
        case "sqlite":
            url = f"sqlite://{tmp_path}/store/ragforge.db"
        case kind:
            raise AssertionError(f"no way to open a {kind} store")
    opened: list[Store] = []

    async def again() -> Store:
        opened.append(await open_store(url, machine_dir=tmp_path))
        return opened[-1]

    yield again
    for store in opened:
        await store.close()


@pytest.fixture
async def store(opener: Opener) -> Store:
    """An empty store."""
    return await opener()
