"""A machine of its own for tests of the whole app."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot

from tests.patience import RECALL, patience
from tests.standins.gemini import GeminiStandIn
from tests.tui.chat_app import Lab
from tests.tui.drawing import draw_less
from tests.tui.styles import read_once
from tests.tui.waiting import look_sooner, until_still

draw_less()
read_once()
look_sooner()


@pytest.fixture(autouse=True)
def _all_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures are the same wherever they are taken."""
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("NO_COLOR", raising=False)


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
def lab(tmp_path: Path, gemini: GeminiStandIn, monkeypatch: pytest.MonkeyPatch) -> Lab:
    lab = Lab(tmp_path, gemini, monkeypatch)
    lab.set_environ()
    return lab


@pytest.fixture
def snap_compare(snap_compare: Callable[..., bool]) -> Callable[..., bool]:
    """The plugin's, which takes the picture once nothing moves any more."""

    def compare(
        app: App[Any],
        *,
        terminal_size: tuple[int, int],
        run_before: Callable[[Pilot[Any]], Awaitable[None]] | None = None,
    ) -> bool:
        async def before(pilot: Pilot[Any]) -> None:
            if run_before is not None:
                await run_before(pilot)
            await until_still(pilot)

        return snap_compare(app, terminal_size=terminal_size, run_before=before)

    return compare
