"""Waiting for what a test needs to have happened, never for a time."""

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import Any

from textual.pilot import Pilot


async def until(
    pilot: Pilot[Any], condition: Callable[[], object], *, timeout_s: float = 10.0, what: str = ""
) -> None:
    """Returns once `condition()` is true, having let the app work; fails the test when it stays false."""
    deadline_s = monotonic() + timeout_s
    while True:
        await pilot.pause()
        if condition():
            return
        if monotonic() > deadline_s:
            raise AssertionError(f"after {timeout_s} s still not so: {what or condition}")
        await asyncio.sleep(0.01)
