"""The pump, fed by generators made for it."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from ragforge.providers.pump import QUEUE_ITEMS_MAX, StreamSilent, pump


class Source:
    """Gives numbers, and records how it was left. After `ready` of them it waits."""

    def __init__(self, ready: int, *, error: Exception | None = None, endless: bool = False) -> None:
        self.given = 0
        self.cancelled_at_wait = False
        self._ready = ready
        self._error = error
        self._endless = endless

    async def numbers(self) -> AsyncGenerator[int, None]:
        while self.given < self._ready:
            self.given += 1
            yield self.given
        if self._error:
            raise self._error
        if self._endless:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.cancelled_at_wait = True
                raise


async def test_everything_arrives_in_order() -> None:
    assert [n async for n in pump(Source(500).numbers(), idle_timeout_s=60)] == list(range(1, 501))


async def test_the_error_of_the_source_comes_after_its_items() -> None:
    got: list[int] = []

    async def read() -> None:
        async for number in pump(Source(2, error=KeyError("x")).numbers(), idle_timeout_s=60):
            got.append(number)

    with pytest.raises(KeyError):
        await read()
    assert got == [1, 2]


async def test_leaving_cancels_a_source_that_waits() -> None:
    source = Source(1, endless=True)
    async with aclosing(pump(source.numbers(), idle_timeout_s=60)) as numbers:
        assert await anext(numbers) == 1
    assert source.cancelled_at_wait


async def test_leaving_cancels_a_source_that_was_ahead() -> None:
    # The queue is full then, and the source suspended at its yield, where cancelling does not reach it.
    source = Source(3 * QUEUE_ITEMS_MAX, endless=True)
    async with aclosing(pump(source.numbers(), idle_timeout_s=60)) as numbers:
        assert await anext(numbers) == 1
        while source.given < QUEUE_ITEMS_MAX:
            await asyncio.sleep(0)
        assert source.given < 3 * QUEUE_ITEMS_MAX
    assert source.cancelled_at_wait


async def test_silence_is_told_and_ends_the_source() -> None:
    source = Source(1, endless=True)
    numbers = pump(source.numbers(), idle_timeout_s=1)
    assert await anext(numbers) == 1
    with pytest.raises(StreamSilent):
        await anext(numbers)
    assert source.cancelled_at_wait


async def test_a_slow_reader_is_not_silence() -> None:
    got: list[int] = []
    async for number in pump(Source(3).numbers(), idle_timeout_s=0.5):
        await asyncio.sleep(0.6)
        got.append(number)
    assert got == [1, 2, 3]


async def test_a_source_that_cancels_itself_does_not_hang_its_reader() -> None:
    async def numbers() -> AsyncGenerator[int, None]:
        yield 1
        raise asyncio.CancelledError

    reader = pump(numbers(), idle_timeout_s=60)
    assert await anext(reader) == 1
    with pytest.raises(asyncio.CancelledError):
        await anext(reader)
