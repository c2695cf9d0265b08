"""Compare what a turn says with what was said after it, for a turn that is summarised late.

Its memories are replaced as they would have been if they had been stored before the newer ones.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from ragforge.domain.memories import Association, AssociationKind, Memory, MemoryFilter, MemorySort
from ragforge.domain.messages import text_of
from ragforge.domain.turns import Turn
from ragforge.memory.derive.base import Home
from ragforge.memory.forgotten import read_forgotten
from ragforge.memory.likeness import content_words, share_of
from ragforge.memory.material import Understanding
from ragforge.memory.replacement import ended_by, fields_in, finished_by, replaced_by
from ragforge.memory.statements import is_report, is_wondering, plain, said_by
from ragforge.memory.terms import about

NEWER_MAX = 200
"""The maximum number of newer memories that those of a turn are compared with."""
SAID_SHARE = 0.5
"""The minimum share of a memory's words in a sentence of its turn that counts as its own."""


async def with_later(home: Home, turn: Turn, found: Understanding, *, speaker: str) -> Understanding:
    """Return the same with the links by which newer memories replace those of the turn, and without links by
    which these would replace newer ones. Raises StoreError."""
    if not found.memories:
        return found
    wanted = MemoryFilter(
        project_id=home.project_id,
        session_id=turn.session_id,
        person=speaker,
        since=turn.started_at,
        replaced=True,
        sort=MemorySort.RECENT,
        limit=NEWER_MAX,
    )
    own = {memory.id for memory in found.memories}
    newer = [each for each in await home.store.memories.find(wanted) if each.id not in own]
    related = [new for new in newer if any(_are_related(new, old) for old in found.memories)]
    if not related:
        return found
    turns = await home.store.turns.read(sorted({id for each in related for id in each.turns} - {turn.id}))
    forgotten = await read_forgotten(home.store, home.project_id)
    after = [each for each in turns if each.started_at > turn.started_at]
    later = await asyncio.to_thread(lambda: {each.id: forgotten.turn(each) for each in after})
    links = await asyncio.to_thread(lambda: list(_links(related, later, found.memories)))
    said_later = {each.id for each in related if not later.keys().isdisjoint(each.turns)}
    kept = [
        each
        for each in found.associations
        if each.kind is not AssociationKind.UPDATES or each.to_id not in said_later
    ]
    return replace(found, associations=(*kept, *links))


def _are_related(new: Memory, old: Memory) -> bool:
    """Whether both may be about one thing, by a word or as things of one kind."""
    shared = about(new.content) & about(old.content) or fields_in(new.content) & fields_in(old.content)
    return bool(shared)


def _links(
    newer: Sequence[Memory], later: Mapping[str, Turn], known: Sequence[Memory]
) -> Iterator[Association]:
    """Yield the links by which the newer memories, said in the later turns, replace the known ones."""
    for memory in newer:
        said_in = [later[id] for id in memory.turns if id in later]
        if not said_in:
            continue
        first = min(said_in, key=lambda turn: turn.started_at)
        own = [each for each, _ in said_by(text_of(first.user)) if _says(each, memory)]
        replaced = (_replaced(memory, sentence, known) for sentence in (memory.content, *own))
        for old in {each.id: each for each in replaced if each is not None}.values():
            yield Association(AssociationKind.UPDATES, memory.id, old.id, memory.created_at, first.id)


def _says(sentence: str, memory: Memory) -> bool:
    return share_of(memory.content, content_words(sentence)) >= SAID_SHARE


def _replaced(memory: Memory, sentence: str, known: Sequence[Memory]) -> Memory | None:
    """Return which of the known ones the sentence replaces, which says the newer memory."""
    words = plain(sentence)
    if is_wondering(words) or is_report(words):
        return None
    said = replace(memory, content=sentence)
    return (
        replaced_by(said, words, known, changed_mind=False)
        or ended_by(words, known)
        or finished_by(words, known)
    )
