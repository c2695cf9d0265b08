"""Standing instructions and preferences, whatever the message is about."""

import asyncio
import re
from collections.abc import Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain.context import Recalled
from ragforge.domain.memories import Memory, MemoryFilter, MemorySource, MemoryType, WishKind
from ragforge.domain.search import HitKind
from ragforge.domain.words import day_words
from ragforge.memory.constraints import binds, condition_of, is_requirement
from ragforge.memory.recall.fit import Fitness
from ragforge.memory.recall.memory_lists import find_memories
from ragforge.memory.recall.request import Around, InjectLimits
from ragforge.memory.recall.search import Recall
from ragforge.memory.recall.source import Above, ContextSource, Finding, Lookup, Section
from ragforge.memory.recall.sources.memories import is_carried, may_be_injected
from ragforge.memory.terms import about, says

LISTED_MAX = 100
"""How many are read, the most important first."""

MARKED_MAX = 20
"""For how many later statements about them are read: more have no room."""
SURE_MIN = 0.8
"""Below this confidence, a possible wish must fit the message like everything else."""

MET_SHARE = 0.5
"""The share of the words of a rule's condition with which a message meets it."""

_SAID_MARK = re.compile(r"(\((?:perhaps )?replaced [^:()]*): (.*)\)$")
"""Including what replaces the line."""

SECTION = Section(
    "Standing Instructions and Preferences",
    share=0.3,
    place=0,
    tokens_max=300,
    tokens_alone=150,
    tokens_unasked=120,  # with the frame of the block 200
    counts=True,
)


class Standing(Struct, frozen=True):
    """A standing instruction, with what determines its place."""

    memory: Memory
    binds: bool
    holds: bool
    """Whether it applies to this message: the condition that it names is met, or it names none."""
    fitness: Fitness


async def _look(lookup: Lookup) -> Finding:
    request = lookup.request
    work = partial(standing, lookup.recall, request.around, request.limits)
    read = await lookup.attempt(work, Read())

    async def items(above: Above) -> list[Recalled]:
        fit = await lookup.fit()
        fits = dict(
            zip(read.memories, await fit.measure([each.content for each in read.memories]), strict=True)
        )
        # A value that may be no wish can have changed since.
        doubtful = [each for each, one in fits.items() if one.fits and not _is_for_all_work(each)]
        holding = await lookup.holding(doubtful, above) if doubtful else ()
        for each, left in zip(doubtful, holding, strict=True):
            if not left:
                del fits[each]
        memories, fitness = list(fits), list(fits.values())
        conditions = [condition_of(each.content) for each in memories]
        met = await fit.measure(conditions)
        holds = [one.fits or _is_met(text, fit.terms) for text, one in zip(conditions, met, strict=True)]
        items = await asyncio.to_thread(_items, memories, fitness, holds)
        by_id = {each.id: each for each in memories}
        marked = await lookup.marked([by_id[each.id] for each in items[:MARKED_MAX]])
        return [*_with_marks(items[:MARKED_MAX], marked), *items[MARKED_MAX:]]

    return Finding(items, unread=read.unread)


SOURCE = ContextSource((SECTION,), order=1, look=_look)


class Read(Struct, frozen=True):
    """Return the valid preferences that are not in the request already, newest first.

    unread: how many more there are, less important than these.
    """

    memories: Sequence[Memory] = ()
    unread: int = 0


async def standing(recall: Recall, around: Around, limits: InjectLimits) -> Read:
    """Return the most important preferences, and the number of the others. Raises StoreError."""
    found = await find_memories(
        recall,
        MemoryFilter(
            project_id=around.project_id,
            session_id=around.session_id,
            person=around.person,
            types=(MemoryType.PREFERENCE,),
            limit=LISTED_MAX,
        ),
    )
    here = [each for each in found if may_be_injected(each, around, limits) and not is_carried(each, around)]
    unread = await _count(recall, around) - len(found) if len(found) == LISTED_MAX else 0
    return Read(sorted(here, key=lambda each: each.updated_at, reverse=True), max(0, unread))


async def _count(recall: Recall, around: Around) -> int:
    """Return how many preferences are valid in the project, at most WISHES_COUNTED_MAX."""
    counts = await recall.store.memories.count_wishes(project_id=around.project_id, person=around.person)
    return sum(counts[kind].number for kind in (WishKind.PREFERENCE, WishKind.CONSTRAINT) if kind in counts)


def _items(memories: Sequence[Memory], fitness: Sequence[Fitness], holds: Sequence[bool]) -> list[Recalled]:
    """Return what binds here first, then what fits, then what binds elsewhere; requirements and uncertain
    wishes only if they fit.

    holds: whether the message meets the condition that a rule names; a rule without one always applies.
    """
    known = [
        Standing(each, binds(each.content), here, one)
        for each, one, here in zip(memories, fitness, holds, strict=True)
    ]
    wanted = [each for each in known if each.fitness.fits or _is_for_all_work(each.memory)]
    order = sorted(wanted, key=lambda each: (_tier(each), -each.fitness.score))
    return [_item(each) for each in order]


def _with_marks(items: Sequence[Recalled], marked: Sequence[str]) -> list[Recalled]:
    """Return the valid part of the items, with their marks. A mark does not repeat another item.

    marked: the valid part of each, with its mark; empty if there is none.
    """
    held = [
        (item, text, text.removeprefix(item.text)) for item, text in zip(items, marked, strict=True) if text
    ]

    def told(item: Recalled, text: str, mark: str) -> str:
        found = _SAID_MARK.search(mark)
        others = (other.text for other, *_ in held if other.id != item.id)
        is_told = found and any(says(found[2], each) or says(each, found[2]) for each in others)
        return _SAID_MARK.sub(r"\1)", text) if is_told else text

    return [replace(item, text=told(item, text, mark)) for item, text, mark in held]


def _tier(each: Standing) -> int:
    """Return its sort key, lower first. A rule for something else precedes what fits no better, because the
    message may lead to that something in the same turn."""
    if each.binds and each.holds:
        return 0
    return 1 if each.fitness.fits else 2 if each.binds else 3


def _is_for_all_work(memory: Memory) -> bool:
    """Whether it applies whatever the message is about."""
    if memory.source is MemorySource.USER:
        return True
    return memory.confidence >= SURE_MIN and not is_requirement(memory.content)


def _is_met(condition: str, message: frozenset[str]) -> bool:
    """Whether the message is about the condition, by half of its words; true without one."""
    wanted = about(condition)
    return not wanted or len(wanted & message) >= MET_SHARE * len(wanted)


def _item(each: Standing) -> Recalled:
    memory = each.memory
    rule = "you made this a rule" if each.binds else "you prefer this, said"
    return Recalled(
        SECTION.heading,
        HitKind.MEMORY,
        memory.id,
        memory.content,
        0,
        f"{rule} on {day_words(memory.created_at)}",
        memory.updated_at,
        memory.session_id,
        memory.turns[-1] if memory.turns else "",
        {"words": each.fitness.words, "meaning": each.fitness.meaning, "score": memory.importance},
    )
