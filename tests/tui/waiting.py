"""Waiting for what a test needs to have happened, never for a time."""

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import Any

from rich.segment import Segment
from textual import _wait
from textual.app import App
from textual.pilot import Pilot
from textual.worker import Worker


def look_sooner() -> None:
    """Let a pilot look every 10 ms, and not every 20, whether the app is idle: after each key, twice."""
    _wait.SLEEP_GRANULARITY /= 2
    _wait.SLEEP_IDLE /= 2


async def until(
    pilot: Pilot[Any], condition: Callable[[], object], *, timeout_s: float = 180.0, what: str = ""
) -> None:
    """Returns once `condition()` is true, having let the app work; fails the test when it stays false.

    It is asked of whole screens only: one that was pushed and has none of its parts yet would be found empty,
    and what a test sets on it would be overwritten as it is mounted. To let all of a screen work costs much
    more than to ask, so that comes when it seems to be true, and then it counts.
    """
    deadline_s = monotonic() + timeout_s
    while True:
        if _seems(pilot.app, condition):
            await pilot.pause()
            if is_whole(pilot.app) and condition():
                return
        if monotonic() > deadline_s:
            raise AssertionError(f"after {timeout_s} s still not so: {what or condition}")
        await asyncio.sleep(0.02)


def _seems(app: App[Any], condition: Callable[[], object]) -> bool:
    """Whether it is so in the middle of whatever the app does now, or cannot be said."""
    try:
        return is_whole(app) and bool(condition())
    except Exception:
        return True


def is_whole(app: App[Any]) -> bool:
    """Whether the screen on top has its parts; also where there is none any more."""
    return not app.screen_stack or app.screen.is_mounted


async def until_still(pilot: Pilot[Any], *, looks: int = 5, timeout_s: float = 180.0) -> None:
    """Returns once the screen stays as it is: nothing moves any more, and no worker is left that draws.

    looks: how often in a row it has to be the same.
    """
    seen: list[list[list[Segment]]] = []
    deadline_s = monotonic() + timeout_s
    while len(seen) < looks or any(each != seen[0] for each in seen):
        await pilot.pause(0.02)
        drawing = [worker.name for worker in pilot.app.workers if _draws(worker)]
        if monotonic() > deadline_s:
            raise AssertionError(f"after {timeout_s} s it still moves: {drawing or seen[-2:]}")
        if drawing:
            seen = []
            continue
        strips = pilot.app.screen._compositor.render_strips()
        seen = [*seen[1 - looks :], [list(strip) for strip in strips]]


def _draws(worker: Worker[Any]) -> bool:
    """Whether it works: the one of a command is there as long as the screen that it has opened."""
    return worker.group != "command" and not worker.is_finished


async def send_line(pilot: Pilot[Any], text: str) -> None:
    """Types a line into the focused prompt and presses Enter as a user would: not at once."""
    await pilot.press(*text)
    await press_enter(pilot)


async def press_enter(pilot: Pilot[Any]) -> None:
    """Presses Enter once it would not be taken for the end of a paste, and waits until it was dealt with."""
    prompt = pilot.app.focused
    await until(pilot, lambda: getattr(prompt, "settled", True), what="typing settles")
    await pilot.press("enter")
    await until(pilot, lambda: getattr(prompt, "settled", True), what="Enter is dealt with")
