"""Turns that speak of the same, each with what came of it."""

import asyncio
from collections.abc import Sequence

from ragforge.domain.context import Recalled
from ragforge.domain.search import HitKind
from ragforge.memory.material import answer_of
from ragforge.memory.recall.explain import because, scores_of
from ragforge.memory.recall.request import Around
from ragforge.memory.recall.results import RankedHit
from ragforge.memory.recall.search import Recall
from ragforge.memory.recall.source import SHOWN_MAX, Above, ContextSource, Finding, Lookup, Section

ANSWER_CHARS_MAX = 400
"""Of the answer of a turn that was found and has no summary yet."""

SECTION = Section("Relevant Past Context (turns)", share=0.4, place=1)


async def _look(lookup: Lookup) -> Finding:
    found = (await lookup.hits()).found
    turns = _turns([each for each in found if not each.hit.left], lookup.request.around)

    async def items(above: Above) -> list[Recalled]:
        told = await _came_to(lookup.recall, turns, above)
        return [_item(each, told.get(each.hit.turn_id, "")) for each in turns]

    return Finding(items, [each.hit.turn_id for each in turns])


SOURCE = ContextSource((SECTION,), order=2, look=_look)


def _turns(hits: Sequence[RankedHit], around: Around) -> list[RankedHit]:
    """The turns outside the raw messages, each once, by whatever of it was found first."""
    first: dict[str, RankedHit] = {}
    for each in hits:
        if each.hit.kind in (HitKind.TURN, HitKind.TOOL_CALL) and each.hit.turn_id not in around.turns:
            first.setdefault(each.hit.turn_id, each)
    return list(first.values())[:SHOWN_MAX]


async def _came_to(recall: Recall, turns: Sequence[RankedHit], above: Above) -> dict[str, str]:
    """What each turn came to: its own summary, else the beginning of its answer.

    What was found of a turn is often its question, and a question alone tells nobody what was decided.
    """
    wanted = [each.hit.turn_id for each in turns if each.hit.kind is HitKind.TURN]
    own = {
        turn: each.text for turn in wanted for each in above.get(turn, ()) if each.level == 1 and each.text
    }
    stored = await asyncio.gather(*(recall.store.turns.get(turn) for turn in wanted if turn not in own))
    return own | {turn.id: answer_of(turn)[:ANSWER_CHARS_MAX] for turn in stored if turn is not None}


def _item(found: RankedHit, came_to: str) -> Recalled:
    hit = found.hit
    text = f"{hit.tool}: {hit.text}" if hit.kind is HitKind.TOOL_CALL and hit.tool else hit.text
    if came_to:
        text = came_to if _said_in(text, came_to) else f"{text} -> {came_to}"
    return Recalled(
        SECTION.heading,
        hit.kind,
        hit.id,
        text,
        0,
        because(found),
        hit.at,
        hit.session_id,
        hit.turn_id,
        scores_of(found),
    )


def _said_in(excerpt: str, text: str) -> bool:
    """Whether the text holds the excerpt, wherever that was cut."""
    return " ".join(excerpt.strip("… ").split()) in " ".join(text.split())
