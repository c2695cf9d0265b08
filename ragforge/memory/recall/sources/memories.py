"""Memories for a message: important, recent and near ones.

No model is called: the first two depend on known properties, the last on meaning and words.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial

from msgspec import Struct, field
from msgspec.structs import replace

from ragforge.domain.blas import load_numpy
from ragforge.domain.context import Recalled
from ragforge.domain.ids import now
from ragforge.domain.language.lexicon import also_said
from ragforge.domain.memories import Memory, MemoryFilter, MemoryScope, MemorySource, MemoryType
from ragforge.domain.search import HitKind, Query
from ragforge.domain.vectors import Nearby, Owner, OwnerKind, Vector
from ragforge.memory.periods import has_run_out, with_due_day
from ragforge.memory.recall.concepts import known_concepts, memories_by_id
from ragforge.memory.recall.explain import matched_words, memory_reason
from ragforge.memory.recall.fit import Fitness
from ragforge.memory.recall.memory_lists import find_memories
from ragforge.memory.recall.request import Around, Injecting, InjectLimits
from ragforge.memory.recall.search import Recall
from ragforge.memory.recall.source import (
    CHOSEN_BY,
    FLOOR,
    VECTORS_BY,
    Above,
    ContextSource,
    Finding,
    Lookup,
    Section,
)
from ragforge.store.base_memory import get_recent_since

IMPORTANT_FROM = 0.8
IMPORTANT_WORDS_MIN = 0.3
NEAREST_MAX = 20
LISTED_MAX = 50
"""How many important ones, and how many new ones, are read."""

SECTION = Section("Memories", share=0.5, place=5)


async def _look(lookup: Lookup) -> Finding:
    recall, request = lookup.recall, lookup.request
    around, limits, none = request.around, request.limits, list[ChosenMemory]()
    matters, new, by_meaning = await asyncio.gather(
        lookup.attempt(partial(important, recall, around), none),
        lookup.attempt(partial(recent, recall, around, limits), none),
        lookup.attempt(partial(nearest, recall, around, request.text), None, share=VECTORS_BY),
    )
    near, without = by_meaning or (none, "")
    if without or by_meaning is None:
        near = await lookup.attempt(partial(by_words, recall, lookup.query), none)
        lookup.limited += filter(None, [without])
    candidates = [*matters, *new, *near]
    choice = partial(choose, candidates=candidates, around=around, limits=limits, state=request.injecting)
    chosen = await lookup.attempt(partial(choice, recall), None, share=CHOSEN_BY)
    if chosen is None:
        chosen = await choice(replace(recall, embedder=None))

    async def items(above: Above) -> list[Recalled]:
        fit = await lookup.fit()
        fitness = await fit.measure([each.memory.content for each in chosen])
        fitting = [(each, one) for each, one in zip(chosen, fitness, strict=True) if _fits(each, one)]
        said = (await lookup.passages(above)).turns
        every = [*(one.score for _, one in fitting), *(each.told.score for each in said)]
        least = FLOOR * max(every, default=0.0)
        best = sorted((each for each in fitting if each[1].score >= least), key=lambda each: -each[1].score)
        holding = await lookup.holding([each.memory for each, _ in best], above)
        return [_item(each, one, text) for (each, one), text in zip(best, holding, strict=True) if text]

    return Finding(items)


def _fits(chosen: "ChosenMemory", fitness: Fitness) -> bool:
    """Whether it fits the message. The bar is lower than for a turn, because a memory was worth keeping."""
    matters = chosen.memory.importance >= IMPORTANT_FROM
    return fitness.fits or (matters and fitness.words >= IMPORTANT_WORDS_MIN)


SOURCE = ContextSource((SECTION,), order=4, look=_look)


class ChosenMemory(Struct, frozen=True):
    """A memory that may be added to the block, and why."""

    memory: Memory
    reasons: tuple[str, ...]
    score: float
    """From 0 to 1: half its importance, half its similarity."""
    scores: Mapping[str, float] = field(default_factory=dict[str, float])
    vector: Vector | None = None


async def important(recall: Recall, around: Around) -> list[ChosenMemory]:
    """Return who the user and the project are, and what is most important."""
    scope = MemoryFilter(
        project_id=around.project_id,
        session_id=around.session_id,
        person=around.person,
        limit=LISTED_MAX,
    )
    who, what = await asyncio.gather(
        find_memories(recall, replace(scope, types=(MemoryType.IDENTITY,))),
        find_memories(recall, replace(scope, importance_min=IMPORTANT_FROM)),
    )
    chosen = [_chosen(memory, "identity") for memory in who]
    return chosen + [_chosen(memory, f"important ({memory.importance:.2f})") for memory in what]


async def recent(recall: Recall, around: Around, limits: InjectLimits) -> list[ChosenMemory]:
    """Return what was learned in the last hours."""
    if limits.recent_hours <= 0:
        return []
    found = await get_recent_since(
        recall.store.memories,
        timedelta(hours=limits.recent_hours),
        LISTED_MAX,
        around.session_id if limits.session_scope else None,
        project_id=around.project_id,
        person=around.person,
    )
    return [_chosen(memory, "recent") for memory in found]


async def nearest(recall: Recall, around: Around, text: str) -> tuple[list[ChosenMemory], str]:
    """Return the nearest by meaning, and for a user why there are none, if meaning could not be compared."""
    if recall.embedder is None:
        return [], ""
    vector, limited = await recall.questions.vector(recall.embedder, text)
    if vector is None:
        return [], limited
    near = await recall.store.vectors.nearest(
        Nearby(
            vector,
            recall.embedder.name,
            project_id=around.project_id,
            kinds=(OwnerKind.MEMORY,),
            limit=NEAREST_MAX,
        )
    )
    meaning = {each.owner.id: each.score for each in near}
    found = await memories_by_id(recall, list(meaning), project_id=around.project_id, person=around.person)
    return [
        _chosen(memory, f"near in meaning ({meaning[memory.id]:.2f})", meaning=meaning[memory.id])
        for memory in found
    ], ""


async def by_words(recall: Recall, query: Query) -> list[ChosenMemory]:
    """Return those that contain the words of the query, if meaning cannot be compared."""
    wanted = replace(query, also=also_said(query.text), kinds=(HitKind.MEMORY,), limit=NEAREST_MAX)
    hits = await recall.store.search.words(wanted)
    found = {hit.id: hit for hit in hits}
    memories = await recall.store.memories.get(list(found))
    return [_chosen(memory, matched_words(found[memory.id])) for memory in memories]


async def choose(
    recall: Recall,
    candidates: Sequence[ChosenMemory],
    around: Around,
    limits: InjectLimits,
    state: Injecting,
) -> list[ChosenMemory]:
    """Return the memories for the message, the most relevant first.

    Leaves out what must not be injected, what the request contains already, and all except the newest of near
    duplicates.
    """
    fitting = [
        each
        for each in _merged(candidates)
        if each.memory.type is not MemoryType.PREFERENCE and may_be_injected(each.memory, around, limits)
    ]
    fitting = await _with_vectors(recall, fitting, around, state)
    carried = [each for each in fitting if is_carried(each.memory, around)]
    free = sorted(
        (each for each in fitting if not is_carried(each.memory, around)),
        key=lambda each: (-each.score, each.memory.id),
    )
    # In a thread: the first time NumPy is imported there.
    return await asyncio.to_thread(_without_doubles, free, carried, limits)


def may_be_injected(memory: Memory, around: Around, limits: InjectLimits) -> bool:
    """Whether it is valid here and now: not forgotten, replaced, abandoned or somebody else's."""
    if memory.forgotten_at is not None or memory.replaced or memory.abandoned or has_run_out(memory, now()):
        return False
    if memory.owner not in ("", around.person):
        return False
    if limits.session_scope or memory.scope is MemoryScope.SESSION:
        return memory.session_id == around.session_id
    return memory.scope is MemoryScope.GLOBAL or memory.project_id == around.project_id


def is_carried(memory: Memory, around: Around) -> bool:
    """Whether the request says it already: by all the turns that it is based on, or in a tool's result.

    A memory that the user added with a command is in no turn's words.
    """
    by_turns = memory.turns and memory.source is not MemorySource.USER
    if by_turns and all(turn in around.turns for turn in memory.turns):
        return True
    return any(memory.id.startswith(part) for part in around.shown)


def _chosen(memory: Memory, reason: str, *, meaning: float | None = None) -> ChosenMemory:
    scores = {"metadata": memory.importance}
    if meaning is not None:
        scores["meaning"] = meaning
    return ChosenMemory(memory, (reason,), _score(memory.importance, meaning), scores)


def _score(importance: float, meaning: float | None) -> float:
    """meaning: (1 + cosine) / 2; an opposite direction counts as 0."""
    cosine = max(0.0, 2 * meaning - 1) if meaning is not None else 0.0
    return (importance + cosine) / 2


def _merged(candidates: Sequence[ChosenMemory]) -> list[ChosenMemory]:
    """Return each memory once, with all reasons."""
    merged: dict[str, ChosenMemory] = {}
    for each in candidates:
        known = merged.get(each.memory.id)
        if known is None:
            merged[each.memory.id] = each
            continue
        reasons = tuple(dict.fromkeys((*known.reasons, *each.reasons)))
        scores = {**known.scores, **each.scores}
        score = _score(each.memory.importance, scores.get("meaning"))
        merged[each.memory.id] = replace(known, reasons=reasons, scores=scores, score=score)
    return list(merged.values())


async def _with_vectors(
    recall: Recall, chosen: Sequence[ChosenMemory], around: Around, state: Injecting
) -> list[ChosenMemory]:
    """Return them with their vectors, as far as they have any."""
    if recall.embedder is None or not chosen:
        return list(chosen)
    if state.model != recall.embedder.name:
        state.model, state.vectors = recall.embedder.name, {}
    unknown = [each.memory.id for each in chosen if each.memory.id not in state.vectors]
    if unknown and (
        known := await known_concepts(recall, project_id=around.project_id, person=around.person)
    ):
        state.vectors |= {id: known.vectors[id] for id in unknown if id in known.vectors}
        unknown = [id for id in unknown if id not in state.vectors]
    if unknown:
        owners = [Owner(OwnerKind.MEMORY, memory_id) for memory_id in unknown]
        for embedding in await recall.store.vectors.get(owners):
            if embedding.model == state.model:
                state.vectors[embedding.owner.id] = embedding.vector
    with_vectors = [replace(each, vector=state.vectors.get(each.memory.id)) for each in chosen]
    for memory_id in list(state.vectors)[: -len(chosen) - NEAREST_MAX]:
        del state.vectors[memory_id]
    return with_vectors


def _without_doubles(
    free: Sequence[ChosenMemory], carried: Sequence[ChosenMemory], limits: InjectLimits
) -> list[ChosenMemory]:
    """Return the first `injected_max`; of two that are too near, the newer one at the better position."""
    near = _nearness([*free, *carried], limits.threshold)
    chosen: list[int] = []
    for at, candidate in enumerate(free):
        compared = [*range(len(free), len(free) + len(carried)), *chosen][-limits.buffer_max :]
        doubles = [other for other in compared if limits.buffer_max and (at, other) in near]
        if any(not _newer(candidate, [*free, *carried][other]) for other in doubles):
            continue
        replaced = [other for other in doubles if other < len(free)]
        if replaced:
            chosen[chosen.index(replaced[0])] = at
            chosen = [other for other in chosen if other not in replaced[1:]]
        elif len(chosen) < limits.injected_max:
            chosen.append(at)
    return [free[at] for at in chosen[: limits.injected_max]]


def _newer(one: ChosenMemory, other: ChosenMemory) -> bool:
    return (one.memory.updated_at, one.memory.id) > (other.memory.updated_at, other.memory.id)


def _nearness(chosen: Sequence[ChosenMemory], threshold: float) -> set[tuple[int, int]]:
    """Return the pairs of positions, both ways, whose cosine is above the threshold."""
    having = [at for at, each in enumerate(chosen) if each.vector is not None]
    if len(having) < 2:
        return set()
    load_numpy()  # 0.13 s, which a run without vectors does not pay
    import numpy as np

    # Vectors of different lengths are never compared: a model may have been changed meanwhile.
    by_length: dict[int, list[int]] = {}
    for at in having:
        by_length.setdefault(len(chosen[at].vector or ()), []).append(at)
    pairs: set[tuple[int, int]] = set()
    for length, places in by_length.items():
        joined = b"".join([chosen[at].vector or b"" for at in places])
        rows = np.frombuffer(joined, dtype=np.float32).reshape(-1, length)
        rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        above = np.argwhere(np.triu(rows @ rows.T > threshold, 1))
        for one, other in above.tolist():
            pairs |= {(places[one], places[other]), (places[other], places[one])}
    return pairs


def _item(chosen: ChosenMemory, fitness: Fitness, text: str) -> Recalled:
    memory = chosen.memory
    return Recalled(
        SECTION.heading,
        HitKind.MEMORY,
        memory.id,
        f"[{memory.type}] {with_due_day(memory, text, now())}",
        0,
        memory_reason(memory),
        memory.updated_at,
        memory.session_id,
        memory.turns[-1] if memory.turns else "",
        {**chosen.scores, "words": fitness.words, "fit": fitness.score, "score": chosen.score},
    )
