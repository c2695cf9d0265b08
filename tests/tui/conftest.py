"""A machine of its own for tests of the whole app."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.standins.gemini import GeminiStandIn
from tests.tui.chat_app import Lab


@pytest.fixture
async def gemini() -> AsyncIterator[GeminiStandIn]:
    async with GeminiStandIn() as server:
        yield server


@pytest.fixture
def lab(tmp_path: Path, gemini: GeminiStandIn, monkeypatch: pytest.MonkeyPatch) -> Lab:
    lab = Lab(tmp_path, gemini, monkeypatch)
    lab.set_environ()
    return lab
