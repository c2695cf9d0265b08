"""Turns about the same subject, each by the statement that fits the message."""

import asyncio
from collections.abc import Mapping, Sequence

from ragforge.domain.context import Recalled
from ragforge.domain.search import HitKind
from ragforge.memory.recall.explain import because, scores_of
from ragforge.memory.recall.fit import Fitness
from ragforge.memory.recall.passages import TurnPassages, statement
from ragforge.memory.recall.results import RankedHit
from ragforge.memory.recall.source import FLOOR, Above, ContextSource, Finding, FoundTurns, Lookup, Section

DOUBTFUL_MORE = 0.15
"""The additional score needed if no statement of the turn fits, in a language of which the embedder
only compares pieces of words; for a message that it understands nothing else is shown."""
TURNS_MAX = 8

SECTION = Section("Relevant Past Context (turns)", share=0.6, place=2)


async def _look(lookup: Lookup) -> Finding:
    hits = await lookup.turns()

    async def items(above: Above) -> list[Recalled]:
        found = await lookup.passages(above)
        return await asyncio.to_thread(_items, found, hits)

    return Finding(items, list(hits))


SOURCE = ContextSource((SECTION,), order=3, look=_look)


def _items(found: FoundTurns, hits: Mapping[str, RankedHit]) -> list[Recalled]:
    """Return a line per turn; after a marked one the turn that replaced it, after a question its answer."""
    by_id = {each.turn.id: each for each in found.turns}
    replies = {each.turn.parent: each for each in found.turns if each.replies}
    items: dict[str, Recalled] = {}
    candidates = [one for one in found.turns if one.turn.id in hits and (one.fits or not found.is_sure)]
    for each, score in ranked(candidates, hits):
        said = statement(each, found.valid)
        reply = replies.get(each.turn.id) if said.text.endswith("?") else None
        newer = by_id.get(said.replaced_by)
        # A turn that only likely replaced something must fit the message itself.
        if newer and not (newer.fits or (said.by and said.by.is_sure)):
            newer = None
        # The question is shown with its answer.
        text = (reply and said.text.rpartition(" -> ")[0]) or (said.beside_it() if newer else said.text)
        items.setdefault(each.turn.id, _item(each, hits.get(each.turn.id), text, score))
        for new in filter(None, (newer, reply)):
            if new.turn.id not in items:
                text = statement(new, found.valid).text
                items[new.turn.id] = _item(new, hits.get(new.turn.id), text, score)
    return [item for item in items.values() if item.text]


def ranked(turns: Sequence[TurnPassages], hits: Mapping[str, RankedHit]) -> list[tuple[TurnPassages, float]]:
    """Return the turns to show, best first, each with its score from 0 to 1: half by the search, half by its
    best statement. None if no statement of any of them fits the message."""
    if not any(each.fits for each in turns):
        return []
    found = max(hits[each.turn.id].hit.score for each in turns) or 1.0
    said = max(each.fitness.score for each in turns) or 1.0

    def score(each: TurnPassages, fitness: Fitness) -> float:
        return (hits[each.turn.id].hit.score / found + fitness.score / said) / 2

    top = max(score(each, each.told) for each in turns)
    chosen = [
        (each, score(each, each.fitness))
        for each in turns
        if score(each, each.fitness) >= (FLOOR if each.fits else FLOOR + DOUBTFUL_MORE) * top
    ]
    return sorted(chosen, key=lambda each: -each[1])[:TURNS_MAX]


def _item(passages: TurnPassages, found: RankedHit | None, text: str, score: float) -> Recalled:
    turn = passages.turn
    return Recalled(
        SECTION.heading,
        HitKind.TURN,
        turn.id,
        text,
        0,
        because(found) if found else "says what is valid now",
        turn.started_at,
        turn.session_id,
        turn.id,
        {**(scores_of(found) if found else {}), "fit": passages.fitness.score, "score": score},
    )
