"""Build the context block for a message from every source at once, without a model."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from ragforge.domain.context import ContextBlock, Recalled
from ragforge.domain.metrics import QUERY_SECONDS, TALLY
from ragforge.domain.search import HitKind
from ragforge.memory.block import compose
from ragforge.memory.forgotten import NOTHING, Forgotten
from ragforge.memory.recall.others import owned_by_others, without_others
from ragforge.memory.recall.request import RecallRequest
from ragforge.memory.recall.search import Recall
from ragforge.memory.recall.source import (
    FOUND_BY,
    LISTED_BY,
    OWNERS_SHARE,
    READ_BY,
    Above,
    ContextSource,
    Finding,
    Lookup,
    Section,
    find_sources,
    nothing,
    sections_of,
)

QUERY_CHARS_MAX = 2_000
"""A long message says at its beginning and its end what it is about."""


async def gather(recall: Recall, request: RecallRequest, *, forgotten: Forgotten = NOTHING) -> ContextBlock:
    """Return the block for the message. Never raises: `limited` says what failed or came too late.

    forgotten: is removed from it.
    """
    began = time.perf_counter()
    block, limited = ContextBlock(), list[str]()
    if request.tokens_max > 0 and request.text.strip():
        lookup = Lookup(recall, replace(request, text=_query(request.text)), forgotten)
        try:
            block = await _block(lookup)
            limited = lookup.limited
            if block.items:
                # Missing vectors do not matter if there was nothing to find.
                limited.append((await lookup.hits()).limited)
        finally:
            await lookup.close()
    took_s = time.perf_counter() - began
    TALLY.observe(QUERY_SECONDS, took_s, "block")
    return replace(block, took_ms=took_s * 1000, limited=" ".join(filter(None, dict.fromkeys(limited))))


def _query(text: str) -> str:
    if len(text) <= QUERY_CHARS_MAX:
        return text
    return f"{text[: QUERY_CHARS_MAX * 3 // 4]}\n{text[-QUERY_CHARS_MAX // 4 :]}"


async def _block(lookup: Lookup) -> ContextBlock:
    """Query everything at the same time; each source may fail separately."""
    sources = find_sources()
    findings = await asyncio.gather(*(_look(lookup, source) for source in sources))
    turns = [*lookup.request.around.turns, *(turn for finding in findings for turn in finding.turns)]
    lookup.let_take(READ_BY)
    covering = partial(lookup.recall.store.summaries.covering, list(dict.fromkeys(turns)))
    over_turns: Above | None = await lookup.attempt(covering, None)
    clean, forgotten = lookup.request.clean, lookup.forgotten
    above = {turn: [forgotten.summary(each) for each in over] for turn, over in (over_turns or {}).items()}
    found = await asyncio.gather(*(_items(lookup, finding, above) for finding in findings))
    listed = [each for items in found for each in items]
    if over_turns is None:
        # What a summary covers is unknown: it may repeat what the request contains.
        listed = [each for each in listed if each.kind is not HitKind.SUMMARY]
    person = lookup.request.around.person
    work = partial(owned_by_others, lookup.recall.store, listed, person)
    owned = await lookup.attempt(work, None, share=max(1.0, lookup.passed + OWNERS_SHARE))
    if owned is None:
        # A turn may contain somebody else's statements; a memory names its owner.
        listed, owned = [each for each in listed if each.kind is HitKind.MEMORY], []
    items = [
        replace(left, text=clean(left.text))
        for each in listed
        if (mine := without_others(each, owned)) and (left := forgotten.recalled(mine))
    ]
    is_asked = not (await lookup.fit()).is_empty
    return await asyncio.to_thread(  # it compares every line with every other
        compose,
        items,
        shares=_shares(sections_of(sources), items, lookup.request.tokens_max, is_asked=is_asked),
        tokens_max=lookup.request.tokens_max,
        excludes=_excludes(above),
        counted={
            section.heading: finding.unread
            for source, finding in zip(sources, findings, strict=True)
            for section in source.sections
            if section.counts
        },
    )


def _shares(
    sections: Sequence[Section], items: Sequence[Recalled], tokens_max: int, *, is_asked: bool
) -> dict[str, float]:
    """Return how much of the block each section may use, given its contents. is_asked: whether the message
    asks something."""
    there = {item.section for item in items}

    def share(section: Section) -> float:
        limits = [section.tokens_max]
        if there <= {section.heading}:
            limits += [section.tokens_alone, None if is_asked else section.tokens_unasked]
        limit = min((each for each in limits if each is not None), default=None)
        return section.share if limit is None else min(1.0, limit / tokens_max)

    return {section.heading: share(section) for section in sections}


async def _look(lookup: Lookup, source: ContextSource) -> Finding:
    # A little more than what it asks for: if one thing is late, it may still find another.
    return await lookup.attempt(partial(source.look, lookup), Finding(nothing), share=FOUND_BY)


async def _items(lookup: Lookup, finding: Finding, above: Above) -> Sequence[Recalled]:
    none: Sequence[Recalled] = ()
    return await lookup.attempt(partial(finding.items, above), none, share=LISTED_BY)


def _excludes(above: Above) -> Mapping[str, set[str]]:
    """Return which items say the same: a turn and its own summary, and summaries that cover each other."""
    excludes: dict[str, set[str]] = {}
    for turn, summaries in above.items():
        ids = {each.id for each in summaries}
        for summary in summaries:
            excludes.setdefault(summary.id, set()).update(ids - {summary.id})
            if summary.level == 1:
                excludes.setdefault(turn, set()).add(summary.id)
                excludes[summary.id].add(turn)
    return excludes
