"""Attempts that run side by side: their owner, and their progress."""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from ragforge.domain.cancellation import in_thread, undisturbed
from ragforge.domain.errors import RagforgeError, UsageError
from ragforge.session.state import Session
from ragforge.versions.attempts.alternatives import Alternative, table
from ragforge.versions.attempts.run import Run
from ragforge.versions.copies.file_copies import Room

log = logging.getLogger(__name__)

HOW_TO_TAKE = (
    "/alternatives take K moves files and chat to one of them; the others are kept and can be taken later."
)

LINES_WAITING_MAX = 1000
"""Of progress; the oldest unread ones are dropped."""


class Group:
    """Attempts side by side, and the folder of their copies. Made by `start_alternatives`."""

    def __init__(self, session: Session, room: Room, runs: Sequence[Run]) -> None:
        self.runs = tuple(runs)
        self.results: tuple[Alternative, ...] = ()
        self._session, self._room = session, room
        self._lines: deque[str] = deque(maxlen=LINES_WAITING_MAX)
        self._news = asyncio.Event()
        self._has_begun = False
        self._task: asyncio.Task[None] | None = None

    @property
    def is_running(self) -> bool:
        """Whether any still runs, or copies are still being removed."""
        return self._task is not None and not self._task.done()

    async def begin(self, notes: Sequence[str]) -> None:
        """Start all; return when the turn of each is stored, or could not be."""
        for note in notes:
            self._tell(note)
        self._task = asyncio.create_task(self._work())
        self._task.add_done_callback(lambda _: self._news.set())
        for run in self.runs:
            await run.begun.wait()
        await self._put_head_back()

    async def stop(self, number: int) -> None:
        """Stop one; the others continue. Raises UsageError if no such attempt runs."""
        found = next((run for run in self.runs if run.number == number and not run.is_done), None)
        if found is None:
            going = ", ".join(str(run.number) for run in self.runs if not run.is_done)
            raise UsageError(f"Alternative {number} is not running. Running now: {going or 'none'}.")
        await found.stop()

    async def close(self) -> None:
        """Stop all that still run; return when their results are stored and their copies removed."""
        for run in self.runs:
            if not run.is_done:
                await run.stop()
        if self._task:
            await undisturbed(asyncio.wait({self._task}), cancel_after=True)

    async def lines(self) -> AsyncGenerator[str, None]:
        """Yield the progress, a line at a time; at the end the table, and how to take one."""
        async with aclosing(self.progress()) as progress:
            async for line in progress:
                yield line
        if self.results:
            for line in table(self.results):
                yield line
            yield HOW_TO_TAKE

    async def progress(self) -> AsyncGenerator[str, None]:
        """Yield the progress, a line at a time, until all have ended and the copies are removed."""
        while self._lines or self.is_running:
            while self._lines:
                yield self._lines.popleft()
            if self.is_running:
                self._news.clear()
                await self._news.wait()

    async def _work(self) -> None:
        try:
            done = await asyncio.gather(*(run.work(self._tell) for run in self.runs), return_exceptions=True)
            for run, result in zip(self.runs, done, strict=True):
                if isinstance(result, RagforgeError):
                    self._tell(f"{run.title}: {result}")
                elif isinstance(result, BaseException):
                    log.error("Alternative %s failed unexpectedly", run.number, exc_info=result)
                    self._tell(f"{run.title}: failed unexpectedly: {type(result).__name__}: {result}")
            self.results = tuple(run.result for run in self.runs if run.result)
            for result in self.results:
                self._session.live.spending.add(result.version.usage, result.version.cost_usd)
        finally:
            if not self._has_begun:
                await self._put_head_back()
            if not any(run.is_lost for run in self.runs):
                await in_thread(lambda _: self._room.remove())

    async def _put_head_back(self) -> None:
        """Put the session's head back: each turn moved it in the store to itself when it started."""
        session = self._session
        self._has_begun = True
        await session.workspace.store.sessions.set_head(session.id, session.live.record.head)

    def _tell(self, line: str) -> None:
        self._lines.append(line)
        self._news.set()
