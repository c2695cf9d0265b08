"""What matters now for a message, from every source at once: the context block, without any model."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from ragforge.domain import timeouts
from ragforge.domain.context import ContextBlock, Recalled, Section
from ragforge.domain.errors import RagforgeError
from ragforge.domain.search import HitKind, Query
from ragforge.domain.summaries import Summary
from ragforge.memory import inject, recall
from ragforge.memory.block import compose
from ragforge.memory.inject import Around, ChosenMemory, Injecting, InjectLimits
from ragforge.memory.material import answer_of
from ragforge.memory.recall import HitSource, RankedHit, Recall, SearchResults

log = logging.getLogger(__name__)
T = TypeVar("T")

FOUND_MAX = 40
SHOWN_MAX = 12
"""So many turns, and so many summaries, are considered for the block."""
ANSWER_CHARS_MAX = 400
"""Of the answer of a turn that was found and has no summary yet."""
QUERY_CHARS_MAX = 2_000
"""Of a long message its beginning and its end say what it is about."""


class RecallRequest(Struct, frozen=True):
    """What to recall, and how much."""

    text: str
    """The person's message."""
    around: Around
    tokens_max: int
    limits: InjectLimits
    injecting: Injecting
    until: datetime | None = None
    """When the message was sent: it is not looked for itself."""
    clean: Callable[[str], str] = lambda text: text
    """Takes secrets out of what is shown."""


class _Gathered(Struct):
    """What came in time, and why not all of it did."""

    answer: SearchResults = field(default_factory=lambda: SearchResults(()))
    memories: list[ChosenMemory] = field(default_factory=list[ChosenMemory])
    level_1: list[Summary] = field(default_factory=list[Summary])
    limited: list[str] = field(default_factory=list[str])


class _Items(Struct, frozen=True):
    """What may stand in the block, and for each id what must not stand beside it."""

    items: tuple[Recalled, ...] = ()
    excludes: dict[str, set[str]] = field(default_factory=dict[str, set[str]])


async def gather(recall: Recall, wanted: RecallRequest) -> ContextBlock:
    """The block for the message. It never raises: what failed or came too late is said in `limited`."""
    began = time.perf_counter()
    block = ContextBlock()
    limited: list[str] = []
    if wanted.tokens_max > 0 and wanted.text.strip():
        found = await _all(recall, replace(wanted, text=_query(wanted.text)))
        limited = found.limited
        those = await _tried(partial(_items, recall, wanted, found), limited, _Items())
        clean = [replace(item, text=wanted.clean(item.text)) for item in those.items]
        block = compose(clean, tokens_max=wanted.tokens_max, excludes=those.excludes)
        if block.items and found.answer.limited not in limited:
            # That vectors are still missing says nothing where there was nothing to find.
            limited.append(found.answer.limited)
    took_ms = (time.perf_counter() - began) * 1000
    return replace(block, took_ms=took_ms, limited=" ".join(filter(None, dict.fromkeys(limited))))


def _query(text: str) -> str:
    if len(text) <= QUERY_CHARS_MAX:
        return text
    return f"{text[: QUERY_CHARS_MAX * 3 // 4]}\n{text[-QUERY_CHARS_MAX // 4 :]}"


async def _all(recalled: Recall, wanted: RecallRequest) -> _Gathered:
    """Everything at the same time; each source may fail on its own."""
    around, limited = wanted.around, list[str]()
    query = Query(
        wanted.text,
        project_id=around.project_id,
        until=wanted.until,
        kinds=(HitKind.TURN, HitKind.TOOL_CALL, HitKind.SUMMARY),
        limit=FOUND_MAX,
    )
    none: list[ChosenMemory] = []
    answer, matters, new, (near, without), level_1 = await asyncio.gather(
        _tried(partial(recall.search, recalled, query), limited, SearchResults(())),
        _tried(partial(inject.important, recalled, around), limited, none),
        _tried(partial(inject.recent, recalled, around, wanted.limits), limited, none),
        _tried(partial(inject.nearest, recalled, around, wanted.text), limited, (none, "")),
        _tried(partial(_level_1, recalled, around), limited, list[Summary]()),
    )
    if without:
        near = await _tried(partial(inject.by_words, recalled, query), limited, none)
        limited.append(without)
    return _Gathered(answer, [*matters, *new, *near], level_1, limited)


async def _tried(work: Callable[[], Awaitable[T]], limited: list[str], otherwise: T) -> T:
    """What the work comes to; without it, what stands in, and the reason is noted."""
    try:
        async with asyncio.timeout(timeouts.GATHER_S_MAX):
            return await work()
    except TimeoutError:
        limited.append(f"Not everything was searched: it took longer than {timeouts.GATHER_S_MAX:.0f} s.")
    except RagforgeError as error:
        limited.append(f"Not everything could be searched: {error}")
    except Exception as error:
        log.exception("Recalling failed unexpectedly")
        limited.append(f"Not everything could be searched: {type(error).__name__}: {error}")
    return otherwise


async def _level_1(recalled: Recall, around: Around) -> list[Summary]:
    """The session's newest turns, outside the raw messages, that no level 2 summary stands for yet."""
    store = recalled.store
    summaries = await store.summaries.of_session(around.session_id, level=1, uncovered=True)
    outside = [each for each in summaries if not set(each.covers) <= set(around.turns)][-SHOWN_MAX:]
    left = await store.turns.left([turn for each in outside for turn in each.covers])
    return [each for each in reversed(outside) if not left.intersection(each.covers)]


async def _items(recalled: Recall, wanted: RecallRequest, found: _Gathered) -> _Items:
    """All that may stand in the block, and what must not stand beside what."""
    around = wanted.around
    hits = [each for each in found.answer.found if not each.hit.left]
    turns = _turns(hits, around)
    summary_hits = {each.hit.id: each for each in hits if each.hit.kind is HitKind.SUMMARY}
    asked = [*around.turns, *(each.hit.turn_id for each in (*turns, *summary_hits.values()))]
    asked += [turn for each in found.level_1 for turn in each.covers]
    above, summaries, memories = await asyncio.gather(
        recalled.store.summaries.covering(list(dict.fromkeys(asked))),
        recalled.store.summaries.get(list(summary_hits)[:SHOWN_MAX]),
        inject.choose(recalled, found.memories, around, wanted.limits, wanted.injecting),
    )
    told = await _came_to(recalled, turns, above)
    raw = _told(above, around)
    newest = {each.id for each in found.level_1}
    others = [each for each in summaries if each.id not in newest and each.id not in raw]
    items = (
        *(_memory_item(each) for each in memories),
        *(_turn_item(each, told.get(each.hit.turn_id, "")) for each in turns),
        *(_summary_item(each, Section.SUMMARIES, summary_hits[each.id]) for each in others),
        *(_summary_item(each, Section.LEVEL_1, summary_hits.get(each.id)) for each in _relevant(found)),
    )
    return _Items(items, _excludes(above))


def _relevant(found: _Gathered) -> list[Summary]:
    """The newest turns' summaries: those that were found themselves, or whose turns were, come first."""
    order = [key for each in found.answer.found for key in (each.hit.id, each.hit.turn_id)]
    places = {key: at for at, key in reversed(list(enumerate(order)))}
    return sorted(
        found.level_1,
        key=lambda each: min(places.get(key, len(order)) for key in (each.id, *each.covers)),
    )


def _told(above: dict[str, list[Summary]], around: Around) -> set[str]:
    """The summaries of which all turns stand in the raw messages."""
    counts: dict[str, int] = {}
    for turn in around.turns:
        for each in above.get(turn, ()):
            counts[each.id] = counts.get(each.id, 0) + 1
    summaries = {each.id: each for ids in above.values() for each in ids}
    return {each for each, count in counts.items() if count >= summaries[each].turn_count}


def _excludes(above: dict[str, list[Summary]]) -> dict[str, set[str]]:
    """What says the same: a turn and its own summary, and summaries one above the other."""
    excludes: dict[str, set[str]] = {}
    for turn, summaries in above.items():
        ids = {each.id for each in summaries}
        for summary in summaries:
            excludes.setdefault(summary.id, set()).update(ids - {summary.id})
            if summary.level == 1:
                excludes.setdefault(turn, set()).add(summary.id)
                excludes[summary.id].add(turn)
    return excludes


def _turns(hits: Sequence[RankedHit], around: Around) -> list[RankedHit]:
    """The turns outside the raw messages, each once, by whatever of it was found first."""
    first: dict[str, RankedHit] = {}
    for each in hits:
        if each.hit.kind in (HitKind.TURN, HitKind.TOOL_CALL) and each.hit.turn_id not in around.turns:
            first.setdefault(each.hit.turn_id, each)
    return list(first.values())[:SHOWN_MAX]


async def _came_to(
    recalled: Recall, turns: Sequence[RankedHit], above: dict[str, list[Summary]]
) -> dict[str, str]:
    """What each turn came to: its own summary, else the beginning of its answer.

    What was found of a turn is often its question, and a question alone tells nobody what was decided.
    """
    wanted = [each.hit.turn_id for each in turns if each.hit.kind is HitKind.TURN]
    own = {
        turn: each.text for turn in wanted for each in above.get(turn, ()) if each.level == 1 and each.text
    }
    stored = await asyncio.gather(*(recalled.store.turns.get(turn) for turn in wanted if turn not in own))
    return own | {turn.id: answer_of(turn)[:ANSWER_CHARS_MAX] for turn in stored if turn is not None}


def _turn_item(found: RankedHit, came_to: str) -> Recalled:
    hit = found.hit
    text = f"{hit.tool}: {hit.text}" if hit.kind is HitKind.TOOL_CALL and hit.tool else hit.text
    if came_to:
        text = came_to if _said_in(text, came_to) else f"{text} -> {came_to}"
    return Recalled(
        Section.TURNS,
        hit.kind,
        hit.id,
        text,
        0,
        _reason(found),
        hit.at,
        hit.session_id,
        hit.turn_id,
        _scores(found),
    )


def _said_in(excerpt: str, text: str) -> bool:
    """Whether the text holds the excerpt, wherever that was cut."""
    return " ".join(excerpt.strip("… ").split()) in " ".join(text.split())


def _summary_item(summary: Summary, section: Section, found: RankedHit | None) -> Recalled:
    demands = f" Demanded: {'; '.join(summary.constraints)}" if summary.constraints else ""
    turn_id = found.hit.turn_id if found else summary.covers[-1] if summary.level == 1 else ""
    return Recalled(
        section,
        HitKind.SUMMARY,
        summary.id,
        summary.text + demands,
        0,
        _reason(found) if found else "newest of this session",
        summary.at,
        summary.session_id,
        turn_id,
        _scores(found) if found else {},
    )


def _memory_item(chosen: ChosenMemory) -> Recalled:
    memory = chosen.memory
    return Recalled(
        Section.MEMORIES,
        HitKind.MEMORY,
        memory.id,
        f"[{memory.type}] {memory.content}",
        0,
        ", ".join(chosen.reasons),
        memory.updated_at,
        memory.session_id,
        memory.turns[-1] if memory.turns else "",
        {**chosen.scores, "score": chosen.score},
    )


def _reason(found: RankedHit) -> str:
    """Why it was found: by which words, how near in meaning, through what."""
    reasons: list[str] = []
    for why in found.why:
        match why.source:
            case HitSource.WORDS:
                reasons.append(inject.matched_words(found.hit))
            case HitSource.MEANING:
                reasons.append(f"near in meaning ({why.score:.2f})")
            case HitSource.GRAPH:
                reasons.append("beside what was found")
            case HitSource.METADATA:
                reasons.append("what is known of it")
    return ", ".join(dict.fromkeys(reasons)) or inject.matched_words(found.hit)


def _scores(found: RankedHit) -> dict[str, float]:
    scores = {str(why.source): why.score for why in found.why}
    return {**scores, "score": found.hit.score}
