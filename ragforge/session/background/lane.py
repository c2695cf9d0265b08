"""A task that processes pending work, then waits until it is woken."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from ragforge.domain.errors import RagforgeError
from ragforge.domain.schedule import Timing

log = logging.getLogger(__name__)

Step = Callable[[], Awaitable[float | None]]
"""Does some of the work; returns in how many seconds to do more: 0 for at once, None for when woken."""


class Lane:
    """Runs its step for ever. Errors are reported in `note`, and retried with growing delays."""

    def __init__(
        self, name: str, step: Step, timing: Timing, *, delay_s: float = 0.0, gather_s: float = 0.0
    ) -> None:
        self.name = name
        self.note = ""
        """The last error, for a user; empty while all goes well."""
        self._step = step
        self._timing = timing
        self._delay_s = delay_s
        self._gather_s = gather_s
        """How long it waits for more work, once it was woken."""
        self._woken = asyncio.Event()
        self._due = asyncio.Event()
        self._free = asyncio.Event()
        self._free.set()

    def hold(self) -> None:
        """Start no step until `release`; a running one continues."""
        self._free.clear()

    def release(self) -> None:
        """Continue."""
        self._free.set()

    def hurry(self) -> None:
        """Start now, without the delay."""
        self._due.set()

    def wake(self) -> None:
        """Wake it, because there is work."""
        self._woken.set()

    async def run(self) -> None:
        """Work until cancelled."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._delay_s):
                await self._due.wait()
        failures = 0
        while True:
            await self._free.wait()
            self._woken.clear()
            try:
                again_s = await self._step()
                failures, self.note = 0, ""
            except Exception as error:
                # The edge of a background job: nobody else would report it, and the next attempt may succeed.
                if not isinstance(error, RagforgeError):
                    log.exception("%s failed", self.name)
                log.warning("%s waits: %s", self.name, error)
                failures, self.note = failures + 1, f"{self.name} waits. {error}"
                again_s = self._timing.pause_s(failures)
            if again_s == 0:
                await asyncio.sleep(0)  # others run between any two steps
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(again_s):
                    await self._woken.wait()
                    await asyncio.sleep(self._gather_s)
