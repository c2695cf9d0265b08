"""Background work beside the conversation: summaries, memories, embeddings.

The data is the queue: turns without a summary and texts without a vector are the pending work. So no queue is
stored, and a crash, a quit or an outage loses nothing.
"""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ragforge.domain import timeouts
from ragforge.domain.errors import StoreError
from ragforge.domain.schedule import Progress, Timing

if TYPE_CHECKING:  # a workspace holds its background work
    from ragforge.session.background.work import Work
    from ragforge.session.state import Session

log = logging.getLogger(__name__)


class Background:
    """The only owner of background tasks. It never delays a turn and never raises into one."""

    def __init__(self, timing: Timing | None = None) -> None:
        self._timing = timing or Timing()
        self._work: Work | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._closed = False

    @property
    def progress(self) -> Progress:
        """Its current state."""
        return self._work.progress if self._work else Progress()

    def start(self, session: "Session") -> None:
        """Start with pending work of earlier runs; may be called for each session that opens."""
        if work := self._begin():
            work.opened(session)

    def turn_begins(self, session: "Session") -> None:
        """The user's message goes to the model now: a server that handles one request at a time is theirs."""
        if work := self._begin():
            work.turn_begins(session, asyncio.current_task())

    def turn_ended(self, session: "Session", turn_id: str) -> None:
        """Queue a turn to summarise."""
        if work := self._begin():
            work.turn_ended(session, turn_id)

    async def turns_moved(self, session: "Session", turn_ids: Sequence[str]) -> None:
        """These turns were abandoned or redone, so the validity of memories that they replace changes."""
        if not turn_ids:
            return
        # An undo that touches no memory reads no words.
        from ragforge.memory.periods import renew_periods

        store = session.workspace.store
        try:
            memories = await store.memories.of_turns(turn_ids)
            await renew_periods(store, [memory.id for memory in memories])
        except StoreError as error:
            log.warning("When the memories of moved turns held is not renewed: %s", error)

    def wake(self) -> None:
        """Something was saved that needs a vector."""
        if self._work:
            self._work.written()

    def ask_again(self) -> None:
        """The user chose a model, or tries again: one that was left alone after failures is asked now."""
        if self._work:
            self._work.ask_again()

    async def understood(self, *, timeout_s: float) -> None:
        """Wait, for at most this long, until this run's turns have their summaries and all with them."""
        if self._work:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await self._work.own_done()

    async def finish(self, *, timeout_s: float) -> None:
        """Wait for the work on this run's turns, then for that of earlier runs, for at most this long each.

        The next start does the rest.
        """
        if self._work:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_s) as limit:
                    await self._work.own_done_first()
                    # With a limit of its own: a busy server needs most of the first one for this run's turn.
                    limit.reschedule(asyncio.get_running_loop().time() + timeout_s)
                    await self._work.earlier_done()
            with suppress(TimeoutError):
                async with asyncio.timeout(min(timeout_s, timeouts.HEADLESS_BACKUP_S_MAX)):
                    await self._work.backed_up.wait()

    async def end_calls(self, *, timeout_s: float) -> None:
        """Start no more model calls, and wait for those being paid for, for at most this long."""
        if self._work:
            await self._work.end_calls(timeout_s=timeout_s)

    async def close(self) -> None:
        """Stop. Nothing is lost, because the stored data is the queue."""
        self._closed = True
        work, self._work = self._work, None
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=timeouts.BACKGROUND_CLOSE_S_MAX)
        if work:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeouts.BACKGROUND_CLOSE_S_MAX):
                    await work.close()

    def _begin(self) -> "Work | None":
        """The running work; None after the end."""
        if self._work is None and not self._closed:
            # It imports sessions, whose workspace imports this module: imported once all exist.
            from ragforge.session.background.work import Work

            self._work = Work(self._timing)
            self._tasks = [asyncio.create_task(lane.run(), name=lane.name) for lane in self._work.lanes]
        return self._work
