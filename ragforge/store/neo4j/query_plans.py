"""Let the server plan queries that were interrupted before they were planned, one at a time.

A server drops a plan together with its query. A busy one, which has just started, would restart the plans of
the largest queries with every request and never finish them.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from contextvars import Context
from typing import Any

from msgspec import Struct, field

from ragforge.domain.errors import StoreError

log = logging.getLogger(__name__)

QUERIES_MAX = 50
"""Further ones are ignored."""


class _CutOff(Struct, frozen=True):
    parameters: Mapping[str, Any]
    planned: asyncio.Event = field(default_factory=asyncio.Event)


class QueryPlans:
    """Interrupted queries, until the server has planned them."""

    def __init__(self, plan: Callable[[str, Mapping[str, Any]], Awaitable[object]]) -> None:
        """plan: lets the server plan a query, with a longer deadline than its readers'."""
        self._plan = plan
        self._queries: dict[str, _CutOff] = {}
        self._task: asyncio.Task[bool] | None = None

    @property
    def waiting(self) -> int:
        """The number that are still to be planned."""
        return len(self._queries)

    def add(self, query: str, parameters: Mapping[str, Any]) -> None:
        """Plan an interrupted query, in the background."""
        if query in self._queries or len(self._queries) >= QUERIES_MAX:
            return
        self._queries[query] = _CutOff(parameters)
        if self._task is None or self._task.done():
            # In a context of its own: the deadline of the interrupted reader must not apply to it.
            self._task = asyncio.create_task(self._run(), name="ragforge-planning", context=Context())

    async def wait_for(self, query: str, *, timeout_s: float) -> None:
        """Wait until the query is planned, if it is queued: sending it meanwhile would only delay that."""
        if cut_off := self._queries.get(query):
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await cut_off.planned.wait()

    async def finish(self, *, timeout_s: float) -> bool:
        """Wait for at most this long. Return whether there was anything to plan and all of it is planned."""
        if not self._queries or self._task is None:
            return False
        done, _ = await asyncio.wait({self._task}, timeout=timeout_s)
        return any(not task.cancelled() and task.result() for task in done)

    async def close(self) -> None:
        """Give up what is not planned yet."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> bool:
        try:
            while self._queries:
                query, cut_off = next(iter(self._queries.items()))
                await self._plan(query, cut_off.parameters)
                del self._queries[query]
                cut_off.planned.set()
            return True
        except StoreError as error:
            log.info("The server did not plan an interrupted query: %s", error)
            return False
        finally:
            for cut_off in self._queries.values():
                cut_off.planned.set()
            self._queries.clear()
