"""Queries that nobody waited for, on a server that answers only when told to."""

import asyncio
from collections.abc import Mapping
from typing import Any

from ragforge.domain.errors import StoreUnavailable
from ragforge.store.neo4j.query_plans import QUERIES_MAX, QueryPlans

SOON_S, LONG_S = 0.01, 60.0


class SlowServer:
    """Plans a query once it is told to, or fails."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.go_on = asyncio.Event()
        self.failing = False

    async def plan(self, query: str, parameters: Mapping[str, Any]) -> None:
        del parameters
        self.asked.append(query)
        await self.go_on.wait()
        if self.failing:
            raise StoreUnavailable("It is away.")


async def test_one_query_is_planned_at_a_time_and_each_once() -> None:
    server = SlowServer()
    plans = QueryPlans(server.plan)
    for query in ("a", "b", "a"):
        plans.add(query, {})
    assert not await plans.finish(timeout_s=SOON_S)
    assert server.asked == ["a"]

    server.go_on.set()
    assert await plans.finish(timeout_s=LONG_S)
    assert server.asked == ["a", "b"]
    assert not await plans.finish(timeout_s=LONG_S), "nothing was left"


async def test_who_asks_for_what_is_being_planned_waits_but_not_for_ever() -> None:
    server = SlowServer()
    plans = QueryPlans(server.plan)
    plans.add("a", {})
    await plans.wait_for("a", timeout_s=SOON_S)
    waiting = asyncio.create_task(plans.wait_for("a", timeout_s=LONG_S))
    await plans.wait_for("b", timeout_s=LONG_S)
    assert not waiting.done()

    server.go_on.set()
    await waiting


async def test_a_server_that_fails_is_asked_for_no_more_and_keeps_nobody_waiting() -> None:
    server = SlowServer()
    server.failing = True
    plans = QueryPlans(server.plan)
    plans.add("a", {})
    plans.add("b", {})
    waiting = asyncio.create_task(plans.wait_for("b", timeout_s=LONG_S))
    finishing = asyncio.create_task(plans.finish(timeout_s=LONG_S))
    await asyncio.sleep(0)
    server.go_on.set()

    assert not await finishing
    await waiting
    assert server.asked == ["a"]


async def test_closing_gives_up_what_is_under_way() -> None:
    server = SlowServer()
    plans = QueryPlans(server.plan)
    for number in range(2 * QUERIES_MAX):
        plans.add(str(number), {})
    await asyncio.sleep(0)
    waiting = asyncio.create_task(plans.wait_for("0", timeout_s=LONG_S))
    await asyncio.sleep(0)
    await plans.close()
    await waiting
    assert server.asked == ["0"]
