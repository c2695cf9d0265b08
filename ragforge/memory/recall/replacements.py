"""What the typed memories know of statements that hold no longer: whatever said so need not be found."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from ragforge.domain.memories import Association, AssociationKind, Memory
from ragforge.memory.terms import says, terms
from ragforge.store.base import Store

STEPS_MAX = 20
"""So many replacements of one statement are followed."""


class ReplacedStatement(Struct, frozen=True):
    """A memory that another one took the place of, and when."""

    old: Memory
    new: Memory
    at: datetime
    turn_id: str
    """Of the turn in which it was said."""

    def concerns(self, statement: str) -> bool:
        """Whether the statement says what the memory said, and not what holds now."""
        old, new, there = terms(self.old.content), terms(self.new.content), terms(statement)
        return says(statement, self.old.content) and bool((old - new) & there) and not (new - old) & there


async def replaced_statements(store: Store, turn_ids: Sequence[str]) -> list[ReplacedStatement]:
    """What was said in these turns and holds no longer, with what does; the last replaced first.

    Raises StoreError.
    """
    old = [memory for memory in await store.memories.of_turns(turn_ids) if memory.replaced]
    links = await _links_above(store, [memory.id for memory in old])
    known = await store.memories.get(sorted({link.from_id for link in links.values()}))
    by_id = {memory.id: memory for memory in known}
    found: list[ReplacedStatement] = []
    for memory in old:
        link, new = links.get(memory.id), None
        while link and (new := by_id.get(link.from_id)) and new.replaced:
            link = links.get(new.id)
        if link and new and not (new.forgotten_at or new.abandoned):
            found.append(ReplacedStatement(memory, new, link.at, link.turn))
    return sorted(found, key=lambda each: each.at, reverse=True)


async def _links_above(store: Store, ids: Sequence[str]) -> dict[str, Association]:
    """By its id, the last link by which each was replaced, and each that replaced it, and so on.

    Times grow along the links, so whoever follows them comes to an end.
    """
    found: dict[str, Association] = {}
    asked = list(ids)
    for _ in range(STEPS_MAX):
        if not asked:
            break
        links = [
            link
            for link in await store.memories.associations(asked)
            if link.kind is AssociationKind.UPDATES and link.to_id in asked
        ]
        abandoned = await store.turns.abandoned(sorted({link.turn for link in links if link.turn}))
        for link in sorted(links, key=lambda each: each.at):
            below = found.get(link.to_id)
            if link.turn not in abandoned and (below is None or below.at <= link.at):
                found[link.to_id] = link
        asked = sorted({found[each].from_id for each in asked if each in found} - found.keys())
    return found
