"""Carries waiting rows to the graph, in the background, while the store is open."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from time import monotonic

from ragforge.domain import timeouts
from ragforge.domain.errors import StoreError
from ragforge.store.base import Link
from ragforge.store.deadline import note_if_late, seconds_left
from ragforge.store.neo4j.carry import carry, warm_up
from ragforge.store.neo4j.carry_lock import alone
from ragforge.store.neo4j.connection import Graph
from ragforge.store.neo4j.errors import LoginRefused, OutcomeUnknown, ReadsOnly, StatementRefused
from ragforge.store.neo4j.outbox import Cargo, Outbox, OutboxRow, Rows

log = logging.getLogger(__name__)


ROWS_MAX = 500
BYTES_MAX = 2_000_000
VECTOR_BYTES_MAX = 700_000
"""The size of one query's rows, so that a shared small server needs a fifth of the deadline for it."""

PATIENCE_MAX = 8
SHARE_MIN = 1 / 64

Reach = Callable[[], Awaitable[None]]
Fenced = Callable[[tuple[str, ...]], Awaitable[None]]


class Carrier:
    """Carries rows in the order in which they started to wait. `link` is the current state."""

    def __init__(self, graph: Graph, outbox: Outbox, *, reach: Reach, fenced: Fenced, away: str = "") -> None:
        """reach: checks that the server answers and is the right one; fenced: receives lost sessions."""
        self._graph = graph
        self._outbox = outbox
        self._reach = reach
        self._fenced = fenced
        self._away = away
        self._trouble: StoreError | None = None
        """The error of the last attempt, if it failed."""
        self._held = ""
        """The other process that prevents rows from being carried."""
        self._lock_path = outbox.path.with_suffix(".carry.lock")
        self._wanted = asyncio.Event()
        self._moved = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None
        self._patience = 1
        self._share = 1.0
        """The share of a batch that is sent at once: less if the server was too slow for the previous one."""
        self._warm = False
        """Whether the server has planned the queries that write rows."""
        self._in_vain_s = float("-inf")
        """When a server that did not come back was last waited for."""
        self._partial = 0
        self._missing = ""
        self.abandoned_stale = False
        """Whether all turns must be checked to know which are abandoned; see `abandonment.py`."""

    @property
    def link(self) -> Link:
        """What waits, and why the server cannot be reached if it cannot."""
        waiting = self._outbox.waiting
        held = self._held if waiting else ""
        return Link(waiting, self._away, held=held, partial=self._partial, missing=self._missing)

    @property
    def away(self) -> bool:
        """Whether the server did not answer the last attempt."""
        return bool(self._away) and not isinstance(self._trouble, ReadsOnly)

    def start(self) -> None:
        """Start to carry; first what an earlier process left behind."""
        self._wanted.set()
        self._task = asyncio.create_task(self._run(), name="ragforge-carrier")

    def nudge(self) -> None:
        """Note that there is something to carry."""
        self._wanted.set()

    def cool(self) -> None:
        """Warm the server up again: an index was created or dropped, and with that it forgets its plans."""
        self._warm = False
        self._wanted.set()

    def lost(self, reason: str) -> None:
        """Note that a reader could not reach the server: nobody needs to wait for it until it is back.

        Does nothing if the reader's deadline was shorter than an answering server may need.
        """
        self.note_partial(f"Only data on this machine was read, because the server did not answer. {reason}")
        if not self.away and not note_if_late():
            self._away, self._trouble = reason, None
            self._wanted.set()

    def note_partial(self, why: str) -> None:
        """Note that an answer is incomplete; a sentence says why."""
        self._partial += 1
        self._missing = why

    async def reached(self, timeout_s: float) -> bool:
        """Return whether the server answers. An unreachable one is tried again for this long, but hardly if
        that failed a moment ago: a command that asks several times waits once."""
        if monotonic() - self._in_vain_s < timeouts.NEO4J_REACH_S_MAX:
            timeout_s = min(timeout_s, timeouts.NEO4J_REACH_AGAIN_S_MAX)
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while self.away and not isinstance(self._trouble, LoginRefused):
                    self.nudge()
                    async with self._moved:
                        await self._moved.wait()
                    if self.away:
                        await asyncio.sleep(timeouts.NEO4J_CARRY_RETRY_S_FIRST)
        if self.away:
            self._in_vain_s = monotonic()
        return not self.away

    async def settle(self, timeout_s: float) -> bool:
        """Return whether all that waits now, except vectors, arrived in time."""
        if self._outbox.waiting == 0 and await self._outbox.count() == 0:
            return True
        target = await self._outbox.read(Rows.last_change)
        self.nudge()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds_left(timeout_s)):
                while (waits := await self._waits_since(target)) and not self._away:
                    async with self._moved:
                        await self._moved.wait()
                return not waits
        return False

    async def settle_vectors(self) -> bool:
        """Return whether the waiting vectors have arrived too."""
        if self._away or not await self._outbox.count():
            return not self._away
        return (await self.drain(timeouts.NEO4J_VECTORS_SETTLE_S_MAX)).waiting == 0

    async def drain(self, timeout_s: float) -> Link:
        """Carry all that waits, vectors too, for at most this long; an unreachable server is tried once."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds_left(timeout_s)):
                while await self._outbox.count() and not isinstance(self._trouble, LoginRefused):
                    was_away = self._away
                    self.nudge()
                    async with self._moved:
                        await self._moved.wait()
                    if was_away and self._away:
                        break
        return self.link

    async def close(self) -> None:
        """Stop carrying; what waits is kept."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None

    async def _waits_since(self, change: int) -> bool:
        """Return whether anything of this write or an earlier one waits, vectors aside."""
        oldest = await self._outbox.read(Rows.waits_since)
        return oldest is not None and oldest <= change

    async def _run(self) -> None:
        pause_s = timeouts.NEO4J_CARRY_RETRY_S_FIRST
        while True:
            if self._warm and not self._away:
                await self._wanted.wait()
            self._wanted.clear()
            try:
                if self._away:
                    await self._reach()
                    self._warm = False
                while await self._carry_next():
                    await self._tell()
                pause_s = timeouts.NEO4J_CARRY_RETRY_S_FIRST
            except StoreError as error:
                log.info("The server cannot be reached: %s", error)
                self._away, self._trouble = str(error), error
                self._patience = min(PATIENCE_MAX, self._patience * 2)
                await self._tell()
                if isinstance(error, OutcomeUnknown):
                    # Until the server has given up, it may still process what was sent.
                    await asyncio.sleep(timeouts.NEO4J_SERVER_GRACE_S)
                await (
                    asyncio.sleep(timeouts.NEO4J_LOGIN_RETRY_S)
                    if isinstance(error, LoginRefused)
                    else self._pause(pause_s)
                )
                pause_s = min(timeouts.NEO4J_CARRY_RETRY_S_MAX, pause_s * 2)
            except Exception:
                # A bug of ours must not end the carrying, because users rely on it.
                log.exception("Carrying failed unexpectedly")
                await self._pause(timeouts.NEO4J_CARRY_RETRY_S_MAX)
            await self._tell()

    async def _pause(self, pause_s: float) -> None:
        self._wanted.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(pause_s * random.uniform(0.5, 1)):
                await self._wanted.wait()

    async def _tell(self) -> None:
        async with self._moved:
            self._moved.notify_all()

    async def _warm_up(self) -> None:
        """Let the server plan the queries that write rows, unless it has."""
        while not self._warm:
            # First: if an index is created meanwhile, that is noticed.
            self._warm = True
            try:
                # A plan that was given up is lost: with the same time, a slow server would never finish.
                await warm_up(
                    self._graph,
                    database=self._outbox.database_id,
                    deadline_s=timeouts.NEO4J_WARM_UP_S_MAX * self._patience,
                )
            except BaseException:
                self._warm = False
                raise
            self._away, self._trouble = "", None

    async def _carry_next(self) -> bool:
        """Carry one batch; return whether there was one."""
        await self._warm_up()
        if not await self._outbox.count():
            return False
        async with alone(self._lock_path, held=self._hold):
            rows = await self._outbox.read(lambda rows: _next_batch(rows, self._share))
            if rows:
                await self._send(rows)
        return bool(rows)

    def _hold(self, words: str) -> None:
        self._held = words

    async def _send(self, rows: list[OutboxRow]) -> None:
        batch = await self._outbox.write(Rows.next_batch)
        try:
            deadline_s = (
                timeouts.NEO4J_BULK_S_MAX if rows[0].cargo is Cargo.VECTORS else timeouts.NEO4J_STEP_S_MAX
            )
            # Nobody waits for a retry, and a server that is only slow must finish at some point.
            arrived = await carry(
                self._graph,
                rows,
                batch=batch,
                deadline_s=deadline_s * self._patience,
                database=self._outbox.database_id,
            )
            self._patience, self._share = 1, min(1.0, 2 * self._share)
            self.abandoned_stale |= arrived.unsettled
        except OutcomeUnknown:
            self._share = max(SHARE_MIN, self._share / 2)
            raise
        except StatementRefused as error:
            await self._send_apart(rows, error)
            return
        there = [row for row in rows if row.session_id not in arrived.late]
        await self._outbox.write(lambda here: here.mark_carried(there))
        if arrived.fenced:
            await self._fenced(arrived.fenced)
        if arrived.late:
            # The clock was set back: do not repeat it at once, again and again.
            await asyncio.sleep(timeouts.NEO4J_CARRY_RETRY_S_FIRST)

    async def _send_apart(self, rows: list[OutboxRow], error: StatementRefused) -> None:
        """Halve the batch until the one row is found that the server rejects; it must not stop the others."""
        if len(rows) == 1:
            log.error("The server refused %s %s: %s", rows[0].label, rows[0].id, error)
            await self._outbox.write(lambda here: here.mark_refused(rows[0], str(error)))
            return
        middle = len(rows) // 2
        for half in (rows[:middle], rows[middle:]):
            await self._send(half)


def _next_batch(rows: Rows, share: float) -> list[OutboxRow]:
    for cargo in Cargo:
        bytes_max = VECTOR_BYTES_MAX if cargo is Cargo.VECTORS else BYTES_MAX
        found = rows.waiting(cargo, rows_max=int(ROWS_MAX * share), bytes_max=int(bytes_max * share))
        if found:
            return found
    return []
