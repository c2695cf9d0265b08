"""The vectors of questions: made once for each text, and waited for no longer than a user would."""

import asyncio
from contextlib import suppress

from ragforge.domain import timeouts
from ragforge.domain.errors import ModelError, UsageError
from ragforge.domain.vectors import Vector
from ragforge.embedders.base import Embedder

QUESTIONS_MAX = 64


class Questions:
    """The newest questions of one embedder, as the tasks that make their vectors."""

    def __init__(self) -> None:
        self._asked: dict[str, asyncio.Task[Vector]] = {}

    def begin(self, embedder: Embedder, text: str) -> "asyncio.Task[Vector]":
        """The task that makes the vector, begun now unless it was before."""
        task = self._asked.pop(text, None)
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = asyncio.create_task(embedder.embed_query(text))
        self._asked[text] = task
        while len(self._asked) > QUESTIONS_MAX:
            self._asked.pop(next(iter(self._asked))).cancel()
        return task

    async def vector(self, embedder: Embedder, text: str) -> "tuple[Vector | None, str]":
        """The vector, or None and the reason, for a user.

        What comes too late from a remote embedder is kept for when the same is asked again, and its
        connection stays open for the next question.
        """
        if embedder.remote:
            # The deadline is the network's; a library and a key are loaded once.
            with suppress(TimeoutError, ModelError, UsageError):  # which the question itself will tell
                async with asyncio.timeout(timeouts.EMBEDDER_LOADING_S_MAX):
                    await embedder.prepare()
        task = self.begin(embedder, text)
        late = timeouts.QUERY_EMBEDDING_S_MAX if embedder.remote else None
        await asyncio.wait([task], timeout=late)
        if not task.done():
            return None, (
                f"{embedder.name} did not answer within {timeouts.QUERY_EMBEDDING_S_MAX * 1000:.0f} ms: "
                "found by words alone, not by meaning."
            )
        try:
            return task.result(), ""
        except (ModelError, UsageError) as error:
            return None, f"Found by words alone, not by meaning: {error}"

    async def close(self) -> None:
        """End what is still asked."""
        tasks = list(self._asked.values())
        self._asked.clear()
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError, ModelError, UsageError):
                await task
