"""A state machine that talks in one session of its own, whose background work is done before it goes on."""

import asyncio
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from hypothesis import note
from hypothesis.stateful import RuleBasedStateMachine

from ragforge.session.state import Session
from tests.flow.beside import beside, done
from tests.flow.running import environ, say
from tests.standins.gemini import GeminiStandIn, Text

T = TypeVar("T")


class ConversingMachine(RuleBasedStateMachine):
    """Without a model for the background. more: of the environment, such as another store."""

    def __init__(self, **more: str) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.folder = TemporaryDirectory()
        self.stack = AsyncExitStack()
        self.gemini, self.session = self.run(self._open(more))

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    async def _open(self, more: dict[str, str]) -> tuple[GeminiStandIn, Session]:
        folder = Path(self.folder.name).resolve()
        gemini = await self.stack.enter_async_context(GeminiStandIn())
        env = environ(folder, gemini, RAGFORGE_MEMORY_MODEL="local", **more)
        return gemini, await self.stack.enter_async_context(beside(folder, env))

    def teardown(self) -> None:
        try:
            self.run(self.stack.aclose())
        finally:
            self.loop.close()
            self.folder.cleanup()

    def tell(self, words: str) -> None:
        """Send the words, and wait until all that a turn is owed is done."""
        note(words)
        self.gemini.script(Text("Noted."))
        self.run(self._told(words))

    async def _told(self, words: str) -> None:
        await say(self.session, words)
        await done(self.session)
