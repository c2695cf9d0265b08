"""The state and the results of a search: hits in one order, and the score of each source."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

from ragforge.domain import timeouts
from ragforge.domain.errors import ModelError, UsageError
from ragforge.domain.memories import Memory, MemoryFilter
from ragforge.domain.search import Candidate, Hit, HitKind, Query
from ragforge.domain.vectors import Vector
from ragforge.embedders.base import Embedder
from ragforge.store.base import Store

if TYPE_CHECKING:  # a search from the command line shows no window
    from ragforge.memory.window import Cuts


class HitSource(StrEnum):
    """A source of scores."""

    WORDS = "words"
    MEANING = "meaning"
    GRAPH = "graph"
    METADATA = "metadata"


class Why(Struct, frozen=True):
    """The score of one source for a hit."""

    source: HitSource
    rank: int
    """From 1, within that source."""
    score: float
    """The source's own score."""
    share: float
    """Its share of the score that decides the order."""


class RankedHit(Struct, frozen=True):
    """A hit with its position in the order. `hit.score` is the sum of the shares in `why`."""

    hit: Hit
    why: tuple[Why, ...] = ()


class SearchResults(Struct, frozen=True):
    """What was found, best first."""

    found: tuple[RankedHit, ...]
    limited: str = ""
    """Why not every source was queried, for a user; empty if all were."""
    took_ms: float = 0.0

    @property
    def hits(self) -> list[Hit]:
        """The hits only."""
        return [each.hit for each in self.found]


Key = tuple[str, HitKind]
"""The key of a candidate. The id comes first: it decides ties."""


def key_of(found: Candidate | Hit) -> Key:
    """Return the key of the candidate."""
    return found.id, found.kind


QUESTIONS_MAX = 64
"""How many vectors of questions are cached."""


class Questions:
    """The newest questions of one embedder, as the tasks that make their vectors.

    Each vector is computed once per text, and waited for no longer than a user would wait.
    """

    def __init__(self) -> None:
        self._asked: dict[str, asyncio.Task[Vector]] = {}

    def begin(self, embedder: Embedder, text: str) -> "asyncio.Task[Vector]":
        """Return the task that makes the vector, started now unless it was before."""
        task = self._asked.pop(text, None)
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = asyncio.create_task(embedder.embed_query(text))
        self._asked[text] = task
        while len(self._asked) > QUESTIONS_MAX:
            self._asked.pop(next(iter(self._asked))).cancel()
        return task

    async def vector(self, embedder: Embedder, text: str) -> "tuple[Vector | None, str]":
        """Return the vector, or None and the reason for a user.

        A vector that a remote embedder returns too late is kept for the next time, and its connection stays
        open.
        """
        if embedder.remote:
            # The deadline is for the network; a library and a key are loaded once.
            with suppress(TimeoutError, ModelError, UsageError):  # which the question itself will report
                async with asyncio.timeout(timeouts.EMBEDDER_LOADING_S_MAX):
                    await embedder.prepare()
        task = self.begin(embedder, text)
        late = timeouts.QUERY_EMBEDDING_S_MAX if embedder.remote else None
        await asyncio.wait([task], timeout=late)
        if not task.done():
            return None, (
                f"{embedder.name} did not answer within {timeouts.QUERY_EMBEDDING_S_MAX * 1000:.0f} ms, so "
                "only words were searched."
            )
        try:
            return task.result(), ""
        except (ModelError, UsageError) as error:
            return None, f"Searched by words only: {error}"

    async def close(self) -> None:
        """Cancel open requests."""
        tasks = list(self._asked.values())
        self._asked.clear()
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError, ModelError, UsageError):
                await task


class Kept(Struct, frozen=True):
    """An answer, and the state of the data for which it is valid."""

    state: object
    answer: SearchResults


class KeptList(Struct, frozen=True):
    """A list of memories, and the state of the memories for which it is valid."""

    state: object
    memories: tuple[Memory, ...]
    read_s: float
    """When, by `time.monotonic`."""


class KnownConcepts(Struct, frozen=True):
    """Memories and vectors by id that were loaded in advance, and the state of the memories for which they
    are valid."""

    state: object
    person: str
    model: str
    memories: Mapping[str, Memory]
    vectors: Mapping[str, Vector]
    read_s: float
    """When, by `time.monotonic`."""


async def _nothing(_store: Store, _project_id: str) -> None:
    """Nothing is forgotten."""


class Recall(Struct, frozen=True):
    """The state of searches, including caches. There is one while the store is open."""

    store: Store
    embedder: Embedder | None = None
    """None if meaning is not compared."""
    fusion: Literal["convex", "rrf"] = "convex"
    cache: dict[Query, Kept] = field(default_factory=dict[Query, Kept])
    lists: dict[MemoryFilter, KeptList] = field(default_factory=dict[MemoryFilter, KeptList])
    """Lists of memories; see `memory_lists.py`."""
    concepts: dict[str, KnownConcepts] = field(default_factory=dict[str, KnownConcepts])
    """By project; see `concepts.py`."""
    questions: Questions = field(default_factory=Questions)
    forgotten: Callable[[Store, str], Awaitable["Cuts | None"]] = _nothing
    """Return what is forgotten in the project of this id. Raises StoreError."""
