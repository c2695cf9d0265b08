"""A source: one kind of content of the block. Each has a file in `sources/`."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from time import monotonic
from typing import TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain import timeouts
from ragforge.domain.context import Recalled
from ragforge.domain.discovery import discover
from ragforge.domain.errors import RagforgeError
from ragforge.domain.memories import Memory
from ragforge.domain.messages import text_of
from ragforge.domain.search import HitKind, Query
from ragforge.domain.summaries import Summary
from ragforge.domain.turns import Turn
from ragforge.memory.forgotten import NOTHING, Forgotten
from ragforge.memory.material import answer_of
from ragforge.memory.recall.fit import Fit
from ragforge.memory.recall.passages import TurnPassages, passages_of
from ragforge.memory.recall.replacements import (
    Link,
    ReplacedStatement,
    changed_turns,
    replaced_statements,
    replacing_turns,
)
from ragforge.memory.recall.request import RecallRequest
from ragforge.memory.recall.results import RankedHit, SearchResults
from ragforge.memory.recall.resumption import Resumption, left_off, resumes
from ragforge.memory.recall.search import Recall, search
from ragforge.memory.recall.validity import Validity
from ragforge.memory.short_answers import is_short
from ragforge.store.deadline import answered_by

log = logging.getLogger(__name__)
T = TypeVar("T")

FOUND_MAX = 40
COMPARED_MAX = 16
"""How many turns are read and compared with the message."""
FLOOR = 0.6
"""The share of the best score of what was said; a turn or a memory below it is not shown."""
SHOWN_MAX = 12
"""How many turns, and how many summaries, are considered for the block."""

# The share of the time for the block by which each step must end, so that delays cost only their own items.
WORDS_FROM = 0.35
"""If a search by meaning has not ended by then, one by words alone starts in parallel."""
VECTORS_BY = 0.6
SEARCHED_BY = 0.75
CHOSEN_BY = 0.8
FOUND_BY = 0.85
READ_BY = 1.0
LISTED_BY = 5.0
"""What was read in time becomes lines, which may take longer on a busy machine or for the first block of a
process: a source that is later than this has failed."""
OWNERS_SHARE = 0.15
"""The time for finding whose the lines are, however late it is."""
HERE_SHARE = 0.1
"""How much earlier a server must have answered; after that, data on this machine is used instead."""

Above: TypeAlias = Mapping[str, Sequence[Summary]]
"""By turn, the summaries that cover it, of every level."""


class Section(Struct, frozen=True):
    """A section of the block."""

    heading: str
    share: float
    """The maximum share of the block's tokens. The shares add up to more than 1: what one section does not
    need is available to another."""
    place: int
    """Sections are in the block in this order."""
    tokens_max: int | None = None
    """Used instead of the share, if it is set."""
    tokens_alone: int | None = None
    """The same if the block contains nothing else."""
    tokens_unasked: int | None = None
    """The same if, in addition, the message asks for nothing: a greeting, thanks."""
    counts: bool = False
    """Whether its last line says how many had no room."""


class Finding(Struct, frozen=True):
    """What a source found for a message."""

    items: Callable[[Above], Awaitable[Sequence[Recalled]]]
    """What to include in the block, within each section the most relevant first."""
    turns: Sequence[str] = ()
    """The turns that it is about: `items` receives the summaries above these."""
    unread: int = 0
    """How many more there are than were read, for a section that counts."""


class FoundTurns(Struct, frozen=True):
    """The turns that were found, as statements, and which of these are valid."""

    turns: Sequence[TurnPassages]
    """The turns that were found, and those that replace something in them."""
    valid: Validity
    is_sure: bool = True
    """Whether what does not fit the message is useless for it."""


class Lookup:
    """A message, as passed to every source."""

    def __init__(self, recall: Recall, request: RecallRequest, forgotten: Forgotten = NOTHING) -> None:
        self.recall = recall
        self.request = request
        self.forgotten = forgotten
        """What is removed from all results."""
        self.resumes = resumes(request.text)
        """Whether the message continues where the user left off."""
        self.query = Query(
            request.text,
            project_id=request.around.project_id,
            person=request.around.person,
            until=request.until,
            kinds=(HitKind.TURN, HitKind.TOOL_CALL, HitKind.SUMMARY),
            limit=FOUND_MAX,
        )
        self.limited: list[str] = []
        """Why not everything could be searched, for the user."""
        self._began_s = monotonic()
        self._time_s = timeouts.GATHER_S_MAX * request.injecting.slowdown
        self._share = SEARCHED_BY
        self._before = asyncio.create_task(self._left_off(), name="where the user left off")
        work = self.attempt(partial(self._searched, self.recall), None)
        self._search = asyncio.create_task(work, name="search for the context block")
        self._words = asyncio.create_task(self._by_words(), name="search by words for the context block")
        self._passages: asyncio.Task[FoundTurns] | None = None
        self._fit: Fit | None = None

    def let_take(self, share: float) -> None:
        """Let later queries take until this share of the time is over."""
        self._share = share

    @property
    def passed(self) -> float:
        """The share of the time that is over."""
        return (monotonic() - self._began_s) / self._time_s

    def end_s(self, share: float) -> float:
        """Return when this share of the time is over, by `time.monotonic`."""
        return self._began_s + share * self._time_s

    async def left_off(self) -> Resumption:
        """Return where the user left off; nothing unless the message asks for it."""
        await asyncio.wait([self._before])
        return self._before.result()

    async def fit(self) -> Fit:
        """Return what to compare with the message, including where the user left off if the message continues
        that."""
        before = await self.left_off()
        if self._fit is None:
            self._fit = Fit("\n".join(filter(None, (self.request.text, before.query))))
        return self._fit

    async def hits(self) -> SearchResults:
        """Return the results of one search for turns, tool calls and summaries, made once for all sources."""
        await asyncio.wait([self._search])
        found = self._search.result()
        if found is None:
            await asyncio.wait([self._words])
            found = self._words.result()
        return found

    async def turns(self) -> dict[str, RankedHit]:
        """Return the turns outside the raw messages, with the first hit in each: its words, a call, or its
        own summary."""
        first: dict[str, RankedHit] = {}
        for each in (await self.hits()).found:
            hit = each.hit
            is_own = hit.kind is not HitKind.SUMMARY or hit.level == 1
            if is_own and not hit.abandoned and hit.turn_id and hit.turn_id not in self.request.around.turns:
                first.setdefault(hit.turn_id, each)
        return dict(list(first.items())[:COMPARED_MAX])

    async def passages(self, above: Above) -> FoundTurns:
        """Return the statements of these turns, and which are valid; read once for all sources."""
        if self._passages is None:
            self._passages = asyncio.create_task(self._read(above), name="turns for the context block")
        await asyncio.wait([self._passages])
        return self._passages.result()

    async def _read(self, above: Above) -> FoundTurns:
        found = (await self.hits()).found
        called: dict[str, list[str]] = {}
        for each in found:
            if each.hit.kind is HitKind.TOOL_CALL:
                called.setdefault(each.hit.turn_id, []).append(f"{each.hit.tool}: {each.hit.text}")
        fit, ids, store = await self.fit(), list(await self.turns()), self.recall.store
        replacing, known = await asyncio.gather(
            self.attempt(partial(replacing_turns, store, ids), list[Link]()),
            self.attempt(partial(replaced_statements, store, ids), list[ReplacedStatement]()),
        )
        ids = list(dict.fromkeys([*ids, *(link.new for link in replacing)]))
        read = await self.without_forgotten(await self.attempt(partial(store.turns.read, ids), list[Turn]()))
        before = await self._answered(read)
        turns = await passages_of(fit, read, above=above, found=called, before=before)
        valid = await asyncio.to_thread(Validity, [each.turn for each in turns], known, replacing)
        return FoundTurns(turns, valid, is_sure=fit.is_known)

    async def _answered(self, turns: Sequence[Turn]) -> dict[str, str]:
        """Return what the assistant had said before each turn that is too short to be understood alone."""
        known = {turn.id: turn for turn in turns}
        asked = {turn.id: turn.parent for turn in turns if turn.parent and is_short(text_of(turn.user))}
        wanted = sorted(set(asked.values()) - known.keys())
        if wanted:
            read = await self.attempt(partial(self.recall.store.turns.read, wanted), list[Turn]())
            known |= {turn.id: turn for turn in await self.without_forgotten(read)}
        return {turn: answer_of(known[parent]) for turn, parent in asked.items() if parent in known}

    async def holding(self, memories: Sequence[Memory], above: Above) -> list[str]:
        """Return the valid part of each memory; empty if there is none."""
        past = await self.passages(above)
        there = {each.turn.id for each in past.turns}
        on = [id for id in dict.fromkeys(turn for each in memories for turn in each.turns) if id not in there]
        more, links = await self.attempt(partial(self._with_replacing, on), (list[Turn](), list[Link]()))

        def hold() -> list[str]:
            valid = past.valid.with_turns(more, links)
            return [valid.holding(each) for each in memories]

        return await asyncio.to_thread(hold)

    async def marked(self, memories: Sequence[Memory]) -> list[str]:
        """Return the part of each memory that is valid by what later turns are known to replace in its turns;
        empty if there is none. It reads these turns only."""
        store, on = self.recall.store, list(dict.fromkeys(turn for each in memories for turn in each.turns))
        none = (list[str](), list[Link]())
        changed, links = await self.attempt(partial(changed_turns, store, on), none) if on else none
        if not changed:
            return [each.content for each in memories]
        read = await self.attempt(partial(store.turns.read, changed), list[Turn]())
        turns = await self.without_forgotten(read)

        def hold() -> list[str]:
            valid = Validity(turns, links=links)
            return [valid.holding(each) for each in memories]

        return await asyncio.to_thread(hold)

    async def _with_replacing(self, ids: Sequence[str]) -> tuple[list[Turn], list[Link]]:
        """Return the turns of these ids and those that replace something in them, and which do."""
        store = self.recall.store
        links = await replacing_turns(store, ids)
        wanted = dict.fromkeys([*ids, *(link.new for link in links)])
        return await self.without_forgotten(await store.turns.read(list(wanted))), links

    async def without_forgotten(self, turns: Sequence[Turn]) -> list[Turn]:
        """Return the turns without what is forgotten."""
        if not self.forgotten:
            return list(turns)
        return await asyncio.to_thread(lambda: list(map(self.forgotten.turn, turns)))

    async def _left_off(self) -> Resumption:
        none = Resumption()
        work = partial(left_off, self.recall.store, self.request.around)
        return await self.attempt(work, none) if self.resumes else none

    async def _searched(self, recall: Recall) -> SearchResults:
        before = (await self.left_off()).query
        return await search(recall, replace(self.query, text=before) if before else self.query)

    async def _by_words(self) -> SearchResults:
        """Return the results by words only, for when vectors are late, as in the first search of a
        process."""
        await asyncio.wait([self._search], timeout=max(0.0, self.end_s(WORDS_FROM) - monotonic()))
        none = SearchResults(())
        if self._search.done():
            return none
        without_vectors = replace(self.recall, embedder=None, cache={})
        return await self.attempt(partial(self._searched, without_vectors), none, share=SEARCHED_BY)

    async def attempt(
        self, work: Callable[[], Awaitable[T]], otherwise: T, *, share: float | None = None
    ) -> T:
        """Return the result of the work; if it fails or is late, return the stand-in, and say why in
        `limited`.

        share: of the time for the block, by which it must end; by default that of the step.
        """
        end_s = self.end_s(self._share if share is None else share)
        with answered_by(end_s - HERE_SHARE * self._time_s) as reading:
            try:
                async with asyncio.timeout(max(0.0, end_s - monotonic())):
                    result = await work()
                if reading.was_late:
                    self._tell_late()
                return result
            except TimeoutError:
                self._tell_late()
            except RagforgeError as error:
                if reading.is_over:
                    self._tell_late()
                else:
                    self.limited.append(f"Not everything could be searched: {error}")
            except Exception as error:
                log.exception("Recalling failed unexpectedly")
                self.limited.append(f"Not everything could be searched: {type(error).__name__}: {error}")
        return otherwise

    def _tell_late(self) -> None:
        ms = self._time_s * 1000
        self.limited.append(f"Not everything could be searched within {ms:.0f} ms.")

    async def close(self) -> None:
        """Cancel open queries."""
        every = (self._before, self._search, self._words, self._passages)
        tasks = [task for task in every if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


class ContextSource(Struct, frozen=True):
    """One kind of content of the block."""

    sections: tuple[Section, ...]
    order: int
    """If sources have equally relevant items, the one with the lower number is served first."""
    look: Callable[[Lookup], Awaitable[Finding]]
    """Query the stores, in parallel with all other sources. If one fails or is late, only its items are
    missing; one that queries several things guards each of them by `Lookup.attempt`."""


async def nothing(_: Above) -> Sequence[Recalled]:
    """Return no items."""
    return ()


def find_sources() -> list[ContextSource]:
    """Return all sources, in order."""
    found = discover("ragforge.memory.recall.sources", "SOURCE", ContextSource)
    return sorted(found.values(), key=lambda source: source.order)


def sections_of(sources: Iterable[ContextSource]) -> list[Section]:
    """Return all sections, in the order of the block."""
    return sorted((each for source in sources for each in source.sections), key=lambda each: each.place)
