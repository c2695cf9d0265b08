"""Which memories and summaries can be stored, and how two memories of one id are merged: in every store."""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from ragforge.domain.errors import UsageError
from ragforge.domain.memories import (
    MEMORY_CHARS_MAX,
    PERSONAL,
    STRENGTHS,
    ConceptFilter,
    ConceptMemories,
    Memory,
    MemorySource,
    Strength,
    memory_id,
    normalised,
)
from ragforge.domain.summaries import Summary
from ragforge.domain.vectors import Vector

TOLD = ("type", "topic", "content")
"""Fields that are searched and embedded: a change makes the vector outdated."""
BY_KIND = ("type", "confidence")
"""The fields by which a project's or person's memories are looked up."""
TOPIC = "topic"
"""The field by which a concept's memories are looked up."""
CHANGED = ("type", "importance", "confidence", "topic", "updated_at", "owner", "strength", "applies_to")
"""The fields that `Memories.change` replaces."""


def check_memory(memory: Memory) -> None:
    """Raise UsageError for a memory that cannot be stored."""
    if not normalised(memory.content):
        raise UsageError("A memory needs a text: a sentence to remember.")
    if (chars := len(memory.content)) > MEMORY_CHARS_MAX:
        raise UsageError(
            f"A memory can have at most {MEMORY_CHARS_MAX:,} characters, and this one has {chars:,}. "
            "Keep it to a sentence or two."
        )
    for name, value in (("importance", memory.importance), ("confidence", memory.confidence)):
        # Also false for NaN.
        if not 0 <= value <= 1:
            raise UsageError(f"The {name} of a memory must be between 0 and 1, not {value}.")
    expected = memory_id(
        memory.content, scope=memory.scope, project_id=memory.project_id, session_id=memory.session_id
    )
    # A memory that belongs, or belonged, to somebody keeps its id when it gets another owner.
    if memory.id != expected and not (memory.owner or memory.type in PERSONAL):
        raise UsageError(f"The id of memory {memory.id} does not match its text, whose id is {expected}.")


def merged(first: Memory, again: Memory) -> Memory:
    """Merge the second into the first: its evidence, the higher weight, the newer date.

    If the user said either, it is the user's. A forgotten one stays forgotten unless the user says it again.
    """
    return replace(
        first,
        importance=max(first.importance, again.importance),
        confidence=max(first.confidence, again.confidence),
        created_at=min(first.created_at, again.created_at),
        valid_from=again.valid_from if _began_earlier(first, again) else first.valid_from,
        updated_at=max(first.updated_at, again.updated_at),
        source=again.source if again.source is MemorySource.USER else first.source,
        origin=again.origin if _is_users_now(first, again) else first.origin or again.origin,
        turns=tuple(dict.fromkeys((*first.turns, *again.turns))),
        strength=max(first.strength, again.strength, key=STRENGTHS.index),
        applies_to=tuple(dict.fromkeys((*first.applies_to, *again.applies_to))),
        said=max(first.said, again.said),
        forgotten_at=None if restores(again, first) else first.forgotten_at,
    )


def _is_users_now(first: Memory, again: Memory) -> bool:
    """Whether the user says with a command what was only found before."""
    return again.source is MemorySource.USER and first.source is not MemorySource.USER


def _began_earlier(first: Memory, again: Memory) -> bool:
    """Whether what is saved later was said before the first, which has been valid since it was said."""
    return again.created_at < first.created_at and first.valid_from in (None, first.created_at)


def was_forgotten_since(memory: Memory) -> bool:
    """Whether it was forgotten after it was last saved."""
    return memory.forgotten_at is not None and memory.forgotten_at >= memory.updated_at


def restores(again: Memory, first: Memory | None) -> bool:
    """Whether saving a memory again restores it: the user has said it again.

    Of what the background saves, only what needs the user's own words, in a turn after it was forgotten.
    """
    if again.forgotten_at is not None:
        return False
    if again.source is not MemorySource.BACKGROUND:
        return again.source is MemorySource.USER
    is_theirs = again.type in PERSONAL or again.strength is not Strength.NONE
    forgotten_at = first.forgotten_at if first else None
    return is_theirs and forgotten_at is not None and again.updated_at > forgotten_at


def changed(found: Memory, memory: Memory) -> Memory:
    """Return the first with the changeable fields of the second."""
    return replace(found, **{name: getattr(memory, name) for name in CHANGED})


def concept_weights(memories: Iterable[Memory], wanted: ConceptFilter) -> dict[str, float]:
    """Return the weight of each requested topic of the project; a repeated memory counts once."""
    weights: dict[str, float] = {}
    for memory in {each.id: each for each in memories}.values():
        is_named = not wanted.topics or memory.topic in wanted.topics
        if memory.topic and is_named and memory.project_id == wanted.project_id:
            weights[memory.topic] = weights.get(memory.topic, 0.0) + memory.weight
    heaviest = sorted(weights, key=lambda topic: (-weights[topic], topic))[: max(0, wanted.limit)]
    return {topic: weights[topic] for topic in heaviest}


def concepts_of(
    memories: Iterable[Memory], weights: Mapping[str, float], vectors: Mapping[str, Vector], *, each: int
) -> list[ConceptMemories]:
    """Return the topics with these weights, heaviest first, with the first `each` of their memories."""
    found: dict[str, list[Memory]] = {topic: [] for topic in weights}
    for memory in memories:
        if len(found[memory.topic]) < each:
            found[memory.topic].append(memory)
    return [
        ConceptMemories(
            topic,
            weights[topic],
            tuple(those),
            {one.id: vectors[one.id] for one in those if one.id in vectors},
        )
        for topic, those in sorted(found.items(), key=lambda item: (-weights[item[0]], item[0]))
        if those
    ]


def check_summary(summary: Summary) -> None:
    """Raise UsageError if the summary cannot be kept."""
    if summary.level < 1:
        raise UsageError(f"Summary {summary.id} has level {summary.level}; the lowest is 1.")
    if not summary.covers:
        raise UsageError(f"Summary {summary.id} covers nothing; it must cover at least one turn.")
