"""The figures of the dashboard: what you want, what it is about, the sessions, and how well memory does."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain.memories import (
    INTENTS,
    STRENGTHS,
    Memory,
    MemoryFilter,
    MemorySort,
    MemoryType,
    WishOrder,
    wish_kind,
)
from ragforge.domain.metrics import CACHE_REQUESTS, CONSTRAINT_HITS, HINT_ANSWERS, HINTS
from ragforge.domain.usage import Purpose, sum_costs
from ragforge.session.machine import Library
from ragforge.session.metrics import all_counts
from ragforge.store.base_conversations import SessionRow

WISHES_MAX = 200
"""Of so many wishes that bind, and so many others, the newest ones are sorted."""
CONCEPT_MEMORIES_MAX = 200
"""Concepts are those of so many memories, the most used first."""
DECISIONS_MAX = 200
"""Decisions are told of so many, the newest first."""


class Concept(Struct, frozen=True):
    """A topic. uses: how often its memories were put in front of a model or opened."""

    topic: str
    memories: int
    uses: int


class SessionFigures(Struct, frozen=True):
    """A session. cost_usd: None where a price is unknown."""

    row: SessionRow
    decided: tuple[str, ...]
    cost_usd: float | None


class Figure(Struct, frozen=True):
    """A share, how many of how many, and how they are counted."""

    name: str
    part: int
    whole: int
    counted: str

    @property
    def share(self) -> float | None:
        """From 0 to 1; None where there is nothing to count yet."""
        return self.part / self.whole if self.whole else None


class Dashboard(Struct, frozen=True):
    """All of it. The costs are in US dollars; None where a price is unknown."""

    wanted: tuple[Memory, ...]
    concepts: tuple[Concept, ...]
    sessions: tuple[SessionFigures, ...]
    figures: tuple[Figure, ...]
    memory_cost_usd: float | None
    chat_cost_usd: float | None


async def read_dashboard(library: Library, *, order: WishOrder, limit: int) -> Dashboard:
    """Read the figures of the project, at most `limit` wishes, concepts and sessions.

    However many memories there are, it reads a bounded number. Raises StoreError.
    """
    spent = await library.store.usage.by_model(project_id=library.project.id)
    return Dashboard(
        wanted=await _wanted(library, order, limit),
        concepts=await _concepts(library, limit),
        sessions=await _sessions(library, limit),
        figures=await _figures(library),
        memory_cost_usd=sum_costs(row.cost_usd for row in spent if row.purpose is not Purpose.CHAT),
        chat_cost_usd=sum_costs(row.cost_usd for row in spent if row.purpose is Purpose.CHAT),
    )


def _fitting(library: Library, limit: int) -> MemoryFilter:
    return MemoryFilter(library.project.id, person=library.person.id, sort=MemorySort.RECENT, limit=limit)


async def _wanted(library: Library, order: WishOrder, limit: int) -> tuple[Memory, ...]:
    here, find = _fitting(library, WISHES_MAX), library.store.memories.find
    found = await find(replace(here, binding=True))
    found += await find(replace(here, types=(MemoryType.PREFERENCE, *sorted(INTENTS))))
    wishes = [each for each in {each.id: each for each in found}.values() if wish_kind(each)]
    return tuple(sorted(wishes, key=_KEYS[order])[:limit])


_KEYS: Mapping[WishOrder, Callable[[Memory], Any]] = {
    WishOrder.TEXT: lambda wish: wish.content.casefold(),
    WishOrder.KIND: lambda wish: str(wish_kind(wish)),
    WishOrder.STRENGTH: lambda wish: -STRENGTHS.index(wish.strength),
    WishOrder.TOPIC: lambda wish: (not wish.topic, wish.topic.casefold()),
    WishOrder.CONFIDENCE: lambda wish: -wish.confidence,
    WishOrder.SAID: lambda wish: -wish.said,
    WishOrder.HELD: lambda wish: -wish.held,
    WishOrder.BROKEN: lambda wish: -wish.broken,
    WishOrder.USED: lambda wish: -(wish.accessed_at.timestamp() if wish.accessed_at else 0),
}


async def _concepts(library: Library, limit: int) -> tuple[Concept, ...]:
    used = replace(_fitting(library, CONCEPT_MEMORIES_MAX), sort=MemorySort.USED)
    memories, uses = Counter[str](), Counter[str]()
    for each in await library.store.memories.find(used):
        if each.topic:
            memories[each.topic] += 1
            uses[each.topic] += each.access_count
    ranked = sorted(memories, key=lambda topic: (-uses[topic], -memories[topic], topic))
    return tuple(Concept(topic, memories[topic], uses[topic]) for topic in ranked[:limit])


async def _sessions(library: Library, limit: int) -> tuple[SessionFigures, ...]:
    rows = await library.store.sessions.recent(project_id=library.project.id, limit=limit)
    here = replace(_fitting(library, DECISIONS_MAX), types=(MemoryType.DECISION,))
    decisions = await library.store.memories.find(here)
    figures: list[SessionFigures] = []
    for row in rows:
        spent = await library.store.usage.by_model(session_id=row.session.id)
        decided = tuple(each.content for each in decisions if each.session_id == row.session.id)
        figures.append(SessionFigures(row, decided, sum_costs(each.cost_usd for each in spent)))
    return tuple(figures)


async def _figures(library: Library) -> tuple[Figure, ...]:
    counts = await all_counts(library.local)

    def total(name: str, label: str = "") -> int:
        return round(
            sum(value for (of, labels, _), value in counts.items() if of == name and label in ("", *labels))
        )

    hits = total(CONSTRAINT_HITS.name)
    return (
        Figure(
            "hints taken",
            total(HINT_ANSWERS.name, "apply"),
            total(HINTS.name),
            "hints that you applied, of those offered",
        ),
        Figure(
            "cache hits",
            total(CACHE_REQUESTS.name, "hit"),
            total(CACHE_REQUESTS.name),
            "look-ups of preferences, rules and important memories that were cached, of all",
        ),
        Figure(
            "constraints held",
            total(CONSTRAINT_HITS.name, "declined") + total(CONSTRAINT_HITS.name, "refused"),
            hits,
            "calls against your rules that were declined or refused, of all such calls, once for each rule",
        ),
    )
