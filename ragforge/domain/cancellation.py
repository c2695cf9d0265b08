"""Work that must finish when its caller is cancelled."""

import asyncio
from collections.abc import Callable, Coroutine
from threading import Event
from typing import Any, TypeVar

from ragforge.domain import timeouts

Value = TypeVar("Value")


async def in_thread(work: Callable[[Event], Value]) -> Value:
    """Run `work` in a thread and return its result. It is given an event that is set to end it early.

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


async def undisturbed(work: Coroutine[Any, Any, Value], *, cancel_after: bool = False) -> Value:
    """Return the result, even if the task is cancelled meanwhile: what must be stored is stored first.

    cancel_after: raise the cancellation afterwards, at the next await. Without it the cancellation is
    dropped.
    """
    inner = asyncio.ensure_future(work)
    task = asyncio.current_task()
    cancelled = False
    while not inner.done():
        try:
            await asyncio.wait({inner})
        except asyncio.CancelledError:
            cancelled = True
            if task is not None:
                task.uncancel()
    if cancelled and cancel_after and task is not None:
        task.cancel()
    return inner.result()
