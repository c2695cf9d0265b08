"""Summaries about the same subject, and those of the session's newest turns that are no longer sent
completely."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from functools import partial

from ragforge.domain.context import Recalled
from ragforge.domain.search import HitKind
from ragforge.domain.summaries import Summary, SummaryMethod
from ragforge.memory.recall.explain import because, scores_of
from ragforge.memory.recall.fit import Fit
from ragforge.memory.recall.request import Around
from ragforge.memory.recall.results import RankedHit
from ragforge.memory.recall.search import Recall
from ragforge.memory.recall.source import SHOWN_MAX, Above, ContextSource, Finding, Lookup, Section
from ragforge.memory.sentences import cut_sentence, sentences

SECTION = Section("Relevant Past Context (summaries)", share=0.4, place=3)
NEWEST = Section("Recent Level 1 Summaries (not yet in level 2)", share=0.35, place=4)
STATEMENT_CHARS_MAX = 300
"""The sentences of a summary that fit."""


async def _look(lookup: Lookup) -> Finding:
    recall, around = lookup.recall, lookup.request.around
    newest, answer = await asyncio.gather(
        lookup.attempt(partial(_newest, recall, around), list[Summary]()), lookup.hits()
    )
    standing = [each for each in answer.found if not each.hit.abandoned]
    # Those of level 1 stand for turns, which are shown themselves.
    hits = {each.hit.id: each for each in standing if each.hit.kind is HitKind.SUMMARY and each.hit.level > 1}

    async def items(above: Above) -> list[Recalled]:
        fit = await lookup.fit()
        wanted = list(hits)[:SHOWN_MAX]
        found = await lookup.attempt(partial(recall.store.summaries.get, wanted), list[Summary]())
        elsewhere = {each.id for each in newest} | _told(above, around)
        # One made by rules has sentences of turns, whose valid parts the turns' own lines say.
        written = [each for each in found if each.method is SummaryMethod.MODEL]
        others = [each for each in written if each.id not in elsewhere]
        order = _by_relevance(newest, answer.found)
        said = await _statements(fit, [*others, *order], whole=lookup.resumes)
        return [
            *(_item(each, SECTION, hits[each.id], said[each.id]) for each in others if each.id in said),
            *(_item(each, NEWEST, hits.get(each.id), said[each.id]) for each in order if each.id in said),
        ]

    covered = [turn for each in newest for turn in each.covers]
    return Finding(items, [*(each.hit.turn_id for each in hits.values()), *covered])


async def _statements(fit: Fit, summaries: Sequence[Summary], *, whole: bool) -> dict[str, str]:
    """Return what fits the message in each, by id. whole: for those that do not fit, use their beginning."""
    split = [sentences(each.text) or [each.text] for each in summaries]
    fitness = iter(await fit.measure([sentence for each in split for sentence in each]))
    said: dict[str, str] = {}
    for summary, texts in zip(summaries, split, strict=True):
        fitting = sorted(((next(fitness), text) for text in texts), key=lambda each: -each[0].score)
        chosen = [text for one, text in fitting if one.fits][:2]
        if chosen:
            said[summary.id] = cut_sentence(
                " ".join(text for text in texts if text in chosen), STATEMENT_CHARS_MAX
            )
        elif whole:
            said[summary.id] = cut_sentence(" ".join(texts), STATEMENT_CHARS_MAX)
    return said


SOURCE = ContextSource((SECTION, NEWEST), order=5, look=_look)


async def _newest(recall: Recall, around: Around) -> list[Summary]:
    """Return the session's newest turns outside the raw messages without a level 2 summary."""
    store = recall.store
    summaries = await store.summaries.of_session(around.session_id, level=1, uncovered=True)
    outside = [each for each in summaries if not set(each.covers) <= set(around.turns)][-SHOWN_MAX:]
    abandoned = await store.turns.abandoned([turn for each in outside for turn in each.covers])
    return [each for each in reversed(outside) if not abandoned.intersection(each.covers)]


def _by_relevance(newest: Sequence[Summary], found: Sequence[RankedHit]) -> list[Summary]:
    """Return those first that were found themselves, or whose turns were."""
    order = [key for each in found for key in (each.hit.id, each.hit.turn_id)]
    places = {key: at for at, key in reversed(list(enumerate(order)))}
    return sorted(
        newest, key=lambda each: min(places.get(key, len(order)) for key in (each.id, *each.covers))
    )


def _told(above: Above, around: Around) -> set[str]:
    """Return the summaries whose turns are all in the raw messages."""
    over = [each for turn in around.turns for each in above.get(turn, ())]
    counts = Counter(each.id for each in over)
    return {each.id for each in over if counts[each.id] >= each.turn_count}


def _item(summary: Summary, section: Section, found: RankedHit | None, text: str) -> Recalled:
    turn_id = found.hit.turn_id if found else summary.covers[-1] if summary.level == 1 else ""
    return Recalled(
        section.heading,
        HitKind.SUMMARY,
        summary.id,
        text,
        0,
        because(found) if found else "from earlier in this session",
        summary.at,
        summary.session_id,
        turn_id,
        scores_of(found) if found else {},
    )
