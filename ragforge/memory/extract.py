"""Memories without a model: what the user states, found by rules.

What it finds should be right; that much is missed is the price. Only the user's own sentences count, and
of those neither questions, nor hypotheses, nor what somebody else is said to say.
"""

from collections.abc import Mapping

from ragforge.domain.language.base import AnyOf
from ragforge.domain.memories import (
    MEMORY_CHARS_MAX,
    Association,
    AssociationKind,
    Memory,
    MemoryScope,
    MemorySource,
    MemoryType,
)
from ragforge.memory.constraints import is_standing
from ragforge.memory.extractive import topics_of
from ragforge.memory.material import Material
from ragforge.memory.memories import new_memory
from ragforge.memory.replacement import field_of, has_changed_mind, replaced_by
from ragforge.memory.sentences import cut_words, with_dates
from ragforge.memory.statements import is_report, is_wondering, said_by

CONFIDENCE = 0.7
"""Of what a rule found."""
RULE_IMPORTANCE = 0.8
"""Of what is to hold always or never: it is recalled before every message."""


def _rule(type: MemoryType) -> AnyOf:
    return AnyOf(lambda language: language.memories.get(type, ()))


RULES: Mapping[MemoryType, AnyOf] = {
    type: _rule(type)
    for type in (
        MemoryType.IDENTITY,
        MemoryType.TODO,
        MemoryType.DECISION,
        MemoryType.GOAL,
        MemoryType.PREFERENCE,
        MemoryType.EVENT,
        MemoryType.OBSERVATION,
        MemoryType.FACT,
    )
}
"""In the order in which they are asked: the first that fits says the type."""
_FIRST_PERSON = AnyOf(lambda language: language.first_person)


def type_of(words: str) -> MemoryType | None:
    """What kind of memory the plain sentence makes; None where it makes none."""
    if is_report(words) or is_wondering(words):
        return None
    for type, rule in RULES.items():
        if rule.search(words):
            return type
    return MemoryType.PREFERENCE if is_standing(words) else None


def memories_in(material: Material) -> tuple[tuple[Memory, ...], tuple[Association, ...]]:
    """What the user states in the turn, and what of the near memories that replaces."""
    found: dict[str, Memory] = {}
    links: dict[tuple[str, str], Association] = {}
    said = said_by(material.person)
    changed_mind = any(has_changed_mind(words) for _, words in said)
    for sentence, words in said:
        if (type := type_of(words)) is None:
            continue
        memory = _memory(material, sentence, type, rule=is_standing(words))
        if memory.id in found:
            continue
        if type is MemoryType.DECISION:
            known = (*material.near, *found.values())
            if old := replaced_by(memory, words, known, changed_mind=changed_mind):
                turn = material.turn
                links[memory.id, old.id] = Association(
                    AssociationKind.UPDATES, memory.id, old.id, turn.started_at, turn.id
                )
        found[memory.id] = memory
    return tuple(found.values()), tuple(links.values())


def _memory(material: Material, sentence: str, type: MemoryType, *, rule: bool) -> Memory:
    turn = material.turn
    # Who somebody is holds everywhere; all else was said of this project.
    personal = type is MemoryType.IDENTITY and _FIRST_PERSON.search(sentence)
    topics = topics_of(sentence)
    return new_memory(
        cut_words(with_dates(sentence, turn.started_at), MEMORY_CHARS_MAX),
        type,
        project_id=material.project_id,
        at=turn.started_at,
        source=MemorySource.BACKGROUND,
        session_id=turn.session_id,
        scope=MemoryScope.GLOBAL if personal else MemoryScope.PROJECT,
        importance=RULE_IMPORTANCE if rule and type is MemoryType.PREFERENCE else None,
        confidence=CONFIDENCE,
        topic=field_of(sentence) or (topics[0] if topics else ""),
        turns=(turn.id,),
    )
