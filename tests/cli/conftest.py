"""The program against the stand-ins, which run in the test's own loop."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.cli.running import Program
from tests.flow.running import MODEL
from tests.standins.gemini import GeminiStandIn
from tests.standins.openai import OpenAIStandIn


@pytest.fixture
async def gemini() -> AsyncIterator[GeminiStandIn]:
    async with GeminiStandIn() as server:
        yield server


@pytest.fixture
async def openai() -> AsyncIterator[OpenAIStandIn]:
    async with OpenAIStandIn() as server:
        yield server


@pytest.fixture
def program(tmp_path: Path, gemini: GeminiStandIn) -> Program:
    """Talks to the Gemini stand-in."""
    return Program(tmp_path, MODEL, {"GEMINI_API_KEY": gemini.key, "GOOGLE_GEMINI_BASE_URL": gemini.url})


@pytest.fixture
def quick(tmp_path: Path, openai: OpenAIStandIn) -> Program:
    """Talks to the other stand-in, whose client is loaded in half the time."""
    program = Program(tmp_path, "stand-in:test-model")
    program.configure(f'[endpoints.stand-in]\nbase_url = "{openai.base_url}"\n')
    return program


@pytest.fixture
def alone(tmp_path: Path) -> Program:
    """Has no model."""
    return Program(tmp_path)
