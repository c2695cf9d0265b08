"""The way of a turn's events: a receiver that is slow, or gone, stops no turn."""

import asyncio
from collections.abc import AsyncIterator

from ragforge.agent.parts import EVENTS_WAITING_MAX, Events
from ragforge.domain.events import AgentEvent, Notice, ToolOutput


async def test_a_tool_that_writes_much_does_not_fail_and_leaves_room_for_what_must_arrive() -> None:
    events = Events()
    for _ in range(2 * EVENTS_WAITING_MAX):
        events.offer(ToolOutput("call", "line\n"))
    async with asyncio.timeout(10):
        await events.send(Notice("must arrive"))
        await events.end()
        seen = [event async for event in _all(events)]
    assert seen[-1] == Notice("must arrive")
    assert seen[0] == ToolOutput("call", "line\n")


async def test_nobody_waits_for_a_receiver_that_went() -> None:
    events = Events()
    for _ in range(EVENTS_WAITING_MAX):
        await events.send(Notice("seen by nobody"))
    waiting = asyncio.create_task(events.send(Notice("one more")))
    await asyncio.sleep(0)
    assert not waiting.done()
    events.leave()
    async with asyncio.timeout(10):
        await waiting
        await events.end()


async def _all(events: Events) -> AsyncIterator[AgentEvent]:
    while (event := await events.next()) is not None:
        yield event
