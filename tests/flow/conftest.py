"""A stand-in and a session for whole turns; the folders of machines between which histories go."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from ragforge.session.state import Session
from ragforge.store.blobs import SqliteBlobs
from tests.flow.running import environ, opened
from tests.flow.transferring import MakePlace, Place
from tests.patience import RECALL, patience
from tests.standins.gemini import GeminiStandIn


@pytest.fixture(autouse=True)
def _what_is_recalled_has_time() -> Iterator[None]:
    """A busy machine may take longer than a user is kept waiting, and answers without what is late."""
    with patience(RECALL):
        yield


@pytest.fixture
async def gemini() -> AsyncIterator[GeminiStandIn]:
    async with GeminiStandIn() as server:
        yield server


@pytest.fixture
async def session(tmp_path: Path, gemini: GeminiStandIn) -> AsyncIterator[Session]:
    async with opened(tmp_path, environ(tmp_path, gemini)) as session:
        yield session


@pytest.fixture
async def make_place(tmp_path: Path) -> AsyncIterator[MakePlace]:
    places: list[Place] = []

    def make(name: str) -> Place:
        (tmp_path / name).mkdir()
        places.append(Place(tmp_path / name, [], SqliteBlobs(tmp_path / name / "blobs.db")))
        return places[-1]

    yield make
    for place in places:
        for store in place.opened:
            await store.close()
        await place.blobs.close()


@pytest.fixture
def place(make_place: MakePlace) -> Place:
    return make_place("here")
