"""A source: a kind of thing that can be put before a message. Each has a file in `sources/`."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeAlias, TypeVar

from msgspec import Struct

from ragforge.domain import timeouts
from ragforge.domain.context import Recalled
from ragforge.domain.discovery import discover
from ragforge.domain.errors import RagforgeError
from ragforge.domain.search import HitKind, Query
from ragforge.domain.summaries import Summary
from ragforge.memory.recall.request import RecallRequest
from ragforge.memory.recall.results import SearchResults
from ragforge.memory.recall.search import Recall, search

log = logging.getLogger(__name__)
T = TypeVar("T")

FOUND_MAX = 40
SHOWN_MAX = 12
"""So many turns, and so many summaries, are considered for the block."""

Above: TypeAlias = Mapping[str, Sequence[Summary]]
"""By turn, the summaries that stand for it, of every level."""


class Section(Struct, frozen=True):
    """A part of the block."""

    heading: str
    share: float
    """Of the block's tokens at most. The shares add up to more than all of it: what one section has no use
    for another may have."""
    place: int
    """Sections stand in the block by this number."""


class Finding(Struct, frozen=True):
    """What a source found for a message."""

    items: Callable[[Above], Awaitable[Sequence[Recalled]]]
    """What may stand in the block, within each section the most relevant first."""
    turns: Sequence[str] = ()
    """The turns that it speaks of: `items` is told the summaries above these."""


class Lookup:
    """One message, as every source is asked about it."""

    def __init__(self, recall: Recall, request: RecallRequest) -> None:
        self.recall = recall
        self.request = request
        self.query = Query(
            request.text,
            project_id=request.around.project_id,
            until=request.until,
            kinds=(HitKind.TURN, HitKind.TOOL_CALL, HitKind.SUMMARY),
            limit=FOUND_MAX,
        )
        self.limited: list[str] = []
        """Why not everything could be searched, for the user."""
        work = self.attempt(partial(search, recall, self.query), SearchResults(()))
        self._search = asyncio.create_task(work, name="search for the context block")

    async def hits(self) -> SearchResults:
        """What one search for turns, tool calls and summaries finds, made once for all sources."""
        await asyncio.wait([self._search])
        return self._search.result()

    async def attempt(
        self, work: Callable[[], Awaitable[T]], otherwise: T, *, seconds: float | None = None
    ) -> T:
        """The result of the work; where it fails or is late, the stand-in, and `limited` says why.

        seconds: `timeouts.GATHER_S_MAX` unless another limit is given.
        """
        seconds = timeouts.GATHER_S_MAX if seconds is None else seconds
        try:
            async with asyncio.timeout(seconds):
                return await work()
        except TimeoutError:
            self.limited.append(f"Not everything was searched: it took longer than {seconds:.0f} s.")
        except RagforgeError as error:
            self.limited.append(f"Not everything could be searched: {error}")
        except Exception as error:
            log.exception("Recalling failed unexpectedly")
            self.limited.append(f"Not everything could be searched: {type(error).__name__}: {error}")
        return otherwise

    async def close(self) -> None:
        """End what is still asked."""
        self._search.cancel()
        await asyncio.wait([self._search])


class ContextSource(Struct, frozen=True):
    """A kind of thing that can be put before a message."""

    sections: tuple[Section, ...]
    order: int
    """Where sources have something equally relevant, the one with the lower number is served first."""
    look: Callable[[Lookup], Awaitable[Finding]]
    """Asks the stores, beside all other sources. One that fails or is late costs the block its items and no
    more; one that asks for several things guards each of them by `Lookup.attempt`."""


async def nothing(_: Above) -> Sequence[Recalled]:
    """No items."""
    return ()


def find_sources() -> list[ContextSource]:
    """All there are, by their order."""
    found = discover("ragforge.memory.recall.sources", "SOURCE", ContextSource)
    return sorted(found.values(), key=lambda source: source.order)


def shares_of(sources: Iterable[ContextSource]) -> dict[str, float]:
    """The share of each section by its heading, as the sections stand in the block."""
    sections = [section for source in sources for section in source.sections]
    return {each.heading: each.share for each in sorted(sections, key=lambda each: each.place)}
