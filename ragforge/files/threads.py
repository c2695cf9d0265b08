"""Blocking work, off the event loop, with nothing left running when it is cancelled."""

import asyncio
from collections.abc import Callable
from threading import Event
from typing import TypeVar

from ragforge.domain import timeouts

Value = TypeVar("Value")


async def in_thread(work: Callable[[Event], Value]) -> Value:
    """What `work` returns. It is given an event that is set when it shall stop early.

    When cancelled, waits until the thread has ended: a file is then either written or not.
    """
    stop = Event()
    task = asyncio.ensure_future(asyncio.to_thread(work, stop))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait({task}, timeout=timeouts.THREAD_STOP_S_MAX)
        raise
