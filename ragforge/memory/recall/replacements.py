"""Outdated statements, as known from memories and links between turns, whether or not the message finds what
replaced them."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from ragforge.domain.derivations import DerivedFilter, DerivedKind
from ragforge.domain.memories import Association, AssociationKind, Memory
from ragforge.memory.replacement import brings_back
from ragforge.memory.terms import says, terms
from ragforge.store.base import Store

STEPS_MAX = 20
"""How many replacements of one statement are followed."""

LINKS_MAX = 1_000
REPLACING_STEPS_MAX = 4
"""How many turns that replace something in each other are followed."""
REPLACING_MAX = 4
"""How many of the turns that replace something in one turn are read, the newest first."""


class ReplacingTurn(Struct, frozen=True):
    """A later turn that makes something in the record's turn outdated. What exactly is read from both."""

    turn: str
    is_sure: bool = True
    """Whether a rule decided it; else it is only likely."""


class Link(Struct, frozen=True):
    """A turn, and a later one that makes something in it outdated."""

    old: str
    new: str
    is_sure: bool = True


REPLACING_TURN = DerivedKind("Replacement", ReplacingTurn, relation="REPLACED_IN")
"""A record of the turn that said it first; its name is the id of the later one."""


class ReplacedStatement(Struct, frozen=True):
    """A memory that another one replaced, and when."""

    old: Memory
    new: Memory
    at: datetime
    turn_id: str
    """The turn in which it was said."""

    def concerns(self, statement: str) -> bool:
        """Return whether the statement says what the memory said, and not what is valid now."""
        old, new, there = terms(self.old.content), terms(self.new.content), terms(statement)
        return says(statement, self.old.content) and bool((old - new) & there) and not (new - old) & there


async def replaced_statements(store: Store, turn_ids: Sequence[str]) -> list[ReplacedStatement]:
    """Return what was said in these turns and is outdated, with what is valid, the last replaced first.

    Raises StoreError.
    """
    old = [memory for memory in await store.memories.of_turns(turn_ids) if memory.replaced]
    if not old:
        return []
    links = await _links_above(store, [memory.id for memory in old])
    known = await store.memories.get(sorted({link.from_id for link in links.values()}))
    by_id = {memory.id: memory for memory in known}
    found: list[ReplacedStatement] = []
    for memory in old:
        link, new = links.get(memory.id), None
        while link and (new := by_id.get(link.from_id)) and new.replaced:
            link = links.get(new.id)
        if new is None or brings_back(new.content, memory.content):
            continue  # of a memory that is valid again, the first statement is valid as well
        if link and not (new.forgotten_at or new.abandoned):
            found.append(ReplacedStatement(memory, new, link.at, link.turn))
    return sorted(found, key=lambda each: each.at, reverse=True)


async def replacing_turns(store: Store, turn_ids: Sequence[str]) -> list[Link]:
    """Return which turns make something in these outdated, and which make something in one of the former
    outdated, except abandoned ones.

    Ids of turns are in the order of their creation. Raises StoreError.
    """
    found: dict[Link, None] = {}
    asked, seen = list(turn_ids), set(turn_ids)
    for _ in range(REPLACING_STEPS_MAX):
        if not asked:
            break
        # What replaced something may be replaced itself.
        links = await _links_of(store, asked)
        found |= dict.fromkeys(links)
        asked = [each for each in dict.fromkeys(link.new for link in links) if each not in seen]
        seen.update(asked)
    return list(found)


async def changed_turns(store: Store, turn_ids: Sequence[str]) -> tuple[list[str], list[Link]]:
    """Return the ids of those turns in which something is outdated, with the turns that make it so, and which
    does.

    Raises StoreError.
    """
    links = await replacing_turns(store, turn_ids)
    changed = [each for each in turn_ids if any(link.old == each for link in links)]
    return list(dict.fromkeys([*changed, *(link.new for link in links)])), links


async def _links_of(store: Store, turn_ids: Sequence[str]) -> list[Link]:
    """Return the newest links of each of these turns."""
    wanted = DerivedFilter(REPLACING_TURN.label, owners=tuple(turn_ids), limit=LINKS_MAX)
    by_turn: dict[str, list[Link]] = {}
    for record in await store.derivations.find(wanted):
        data = REPLACING_TURN.read(record)
        link = Link(record.owner, record.name, data is None or data.is_sure)
        by_turn.setdefault(record.owner, []).append(link)
    every = sorted({link.new for links in by_turn.values() for link in links})
    abandoned = await store.turns.abandoned(every) if every else frozenset[str]()
    return [
        link
        for links in by_turn.values()
        for link in sorted(
            (link for link in links if link.new not in abandoned),
            key=lambda link: (link.is_sure, link.new),
            reverse=True,
        )[:REPLACING_MAX]
    ]


async def _links_above(store: Store, ids: Sequence[str]) -> dict[str, Association]:
    """Return, by id, the last link by which each was replaced, each that replaced it, and so on.

    Times increase along the links, so following them ends.
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
