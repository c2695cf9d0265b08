"""A stream that ends when its reader leaves, and that detects silence."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import suppress
from typing import Generic, TypeVar

from msgspec import Struct

from ragforge.domain import timeouts

Item = TypeVar("Item")

QUEUE_ITEMS_MAX = 64
"""How far the source may be ahead of its reader."""


class StreamSilent(Exception):
    """The source gave nothing for `idle_timeout_s` while its reader waited."""

    def __init__(self, idle_timeout_s: float) -> None:
        super().__init__(f"nothing came for {idle_timeout_s:g} s")
        self.idle_timeout_s = idle_timeout_s


class _Next(Struct, Generic[Item], frozen=True):
    item: Item


class _End(Struct, frozen=True):
    error: BaseException | None


async def pump(source: AsyncIterator[Item], *, idle_timeout_s: float) -> AsyncGenerator[Item, None]:
    """Yield the items of `source`, read by a separate task that is cancelled when the reader leaves.

    Libraries that stream over HTTP close their connection when the reading task is cancelled, but not
    always when their generator is merely closed or dropped; hence the task. Wrap it in `aclosing`.
    Raises what the source raises, and StreamSilent. A slow reader is not silence: time only counts
    while the reader waits. The wait for the first item counts too.
    """
    queue: asyncio.Queue[_Next[Item] | _End] = asyncio.Queue(QUEUE_ITEMS_MAX)
    task = asyncio.create_task(_read(source, queue), name="pump")
    try:
        while True:
            try:
                async with asyncio.timeout(idle_timeout_s):
                    entry = await queue.get()
            except TimeoutError as error:
                raise StreamSilent(idle_timeout_s) from error
            if isinstance(entry, _Next):
                yield entry.item
            elif entry.error is not None:
                raise entry.error
            else:
                return
    finally:
        task.cancel()
        await asyncio.wait({task}, timeout=timeouts.STREAM_END_S_MAX)


async def _read(source: AsyncIterator[Item], queue: asyncio.Queue[_Next[Item] | _End]) -> None:
    """Put all items of the source, then its end, into the queue."""
    error: BaseException | None = None
    try:
        async for item in source:
            try:
                await queue.put(_Next(item))
            except asyncio.CancelledError:
                await _cancel_within(source)
                raise
    except asyncio.CancelledError as cancelled:
        if _is_cancelling():
            raise
        error = cancelled  # the source cancelled itself: its reader must not wait for more
    except Exception as failure:  # handed to the reader, who raises it
        error = failure
    await queue.put(_End(error))


def _is_cancelling() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _cancel_within(source: AsyncIterator[Item]) -> None:
    """Let the cancellation take effect inside the source, which was suspended at its `yield`.

    Buffered items may come first; the first wait for the network then ends it.
    """
    task = asyncio.current_task()
    if task is not None:
        task.cancel()
    with suppress(asyncio.CancelledError, Exception):
        async for _ in source:
            pass
