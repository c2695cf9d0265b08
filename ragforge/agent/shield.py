"""Work that is done to its end although whoever waits for it is cancelled."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

Result = TypeVar("Result")


async def undisturbed(work: Coroutine[Any, Any, Result], *, cancel_after: bool = False) -> Result:
    """The result, also when the task is cancelled meanwhile: what must be kept is kept first.

    cancel_after: be cancelled then, at the next await. Without it the wish to cancel came too late and
    is dropped.
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
