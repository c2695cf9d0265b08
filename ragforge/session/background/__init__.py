"""The work that goes on beside the conversation: summaries, memories, embeddings.

The queue is the data: what lacks a summary or a vector is what is still to do. So nothing of it is kept
elsewhere, and a crash, a quit or an outage loses nothing.
"""

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from ragforge.domain import timeouts

if TYPE_CHECKING:  # a workspace holds its background work
    from ragforge.session.background.work import Work
    from ragforge.session.state import Session


class Progress(Struct, frozen=True):
    """How it stands, for the status line and `/context`."""

    turns: int = 0
    """Turns that still wait for their summary, as far as was looked."""
    vectors: int = 0
    """What still waits for its vector, as far as was looked."""
    note: str = ""
    """Why it waits or goes on without a model, for a person; empty when all is well."""
    payments: int = 0
    """How often something was paid in this run: what it has cost is another sum after each."""


class Timing(Struct, frozen=True):
    """How long things wait."""

    start_s: float = 1.0
    """What is left from before begins so long after opening, which it shall not slow down."""
    gather_s: float = 0.3
    """What is done for many at once waits so long for more."""
    pause_s_first: float = 2.0
    """After a failure; it doubles with each further one."""
    pause_s_max: float = 300.0
    final_s: float = 600.0
    """After a failure that no waiting cures, such as a wrong key."""
    patience_s: float = 60.0
    """So long an outage may last before turns of earlier runs are summarised without the model."""
    call_s_max: float = 180.0
    """A call of the model that takes longer has failed."""
    lease_s: float = 60.0
    """A turn that another process began to summarise is left to it for so long."""


class Background:
    """The one owner of background tasks. It never delays a turn and never raises into one."""

    def __init__(self, timing: Timing | None = None) -> None:
        self._timing = timing or Timing()
        self._work: Work | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._closed = False

    @property
    def progress(self) -> Progress:
        """How it stands now."""
        return self._work.progress if self._work else Progress()

    def start(self, session: "Session") -> None:
        """Begin with what is left from before; harmless when called for each session that opens."""
        if work := self._begin():
            work.opened(session)

    def turn_begins(self, session: "Session") -> None:
        """The person's message goes to the model now: a server that answers one at a time is theirs."""
        if work := self._begin():
            work.turn_begins(session, asyncio.current_task())

    def turn_ended(self, session: "Session", turn_id: str) -> None:
        """There is a turn to summarise."""
        if work := self._begin():
            work.turn_ended(session, turn_id)

    def wake(self) -> None:
        """Something was written that needs a vector."""
        if self._work:
            self._work.written()

    async def finish(self, *, timeout_s: float) -> None:
        """Wait for the work on this run's turns, for at most so long; the rest is done by a next start."""
        if self._work:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout_s):
                    await self._work.own_done.wait()
            with suppress(TimeoutError):
                async with asyncio.timeout(min(timeout_s, timeouts.HEADLESS_BACKUP_S_MAX)):
                    await self._work.backed_up.wait()

    async def close(self) -> None:
        """Stop; what was begun is not lost, because what is stored says what is still to do."""
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
        """The work, under way; None after the end."""
        if self._work is None and not self._closed:
            # The work knows sessions, and their workspace knows this: imported once all are there.
            from ragforge.session.background.work import Work

            self._work = Work(self._timing)
            self._tasks = [asyncio.create_task(lane.run(), name=lane.name) for lane in self._work.lanes]
        return self._work
