"""A stand-in and a session for whole turns."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ragforge.session.state import Session
from tests.flow.running import environ, opened
from tests.standins.gemini import GeminiStandIn


@pytest.fixture
async def gemini() -> AsyncIterator[GeminiStandIn]:
    async with GeminiStandIn() as server:
        yield server


@pytest.fixture
async def session(tmp_path: Path, gemini: GeminiStandIn) -> AsyncIterator[Session]:
    async with opened(tmp_path, environ(tmp_path, gemini)) as session:
        yield session
