"""Work that is followed line by line as it goes on, to its outcome."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from typing import Any

from ragforge.commands.base import Outcome, Tell


async def followed(
    work: Callable[[Callable[[str], None]], Coroutine[Any, Any, Outcome]], *, stopped: str
) -> AsyncGenerator[str | Outcome, None]:
    """What the work tells, a line at a time, then its outcome; or `stopped`, where it was cancelled.

    Nobody listening any more ends it. Raises what it raises.
    """
    lines: asyncio.Queue[str | None] = asyncio.Queue()
    task = asyncio.create_task(work(lines.put_nowait))
    task.add_done_callback(lambda _: lines.put_nowait(None))
    try:
        while (line := await lines.get()) is not None:
            yield line
        yield Tell(stopped) if task.cancelled() else task.result()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
