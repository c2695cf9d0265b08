"""The times in which a memory was valid: by what it replaced, what replaced it, and the days that its words
name.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from ragforge.domain.memories import Association, AssociationKind, Memory, MemoryType, Period
from ragforge.domain.words import day_words
from ragforge.memory.period_words import stated_period
from ragforge.store.base import Store


async def renew_periods(store: Store, ids: Iterable[str]) -> None:
    """Store when these, and what they replace or are replaced by, are valid now, or were last valid.

    Raises StoreError.
    """
    wanted = sorted(set(ids))
    links = await store.memories.associations(wanted) if wanted else []
    updates = [link for link in links if link.kind is AssociationKind.UPDATES]
    ends = {end for link in updates for end in (link.from_id, link.to_id)}
    memories = await store.memories.get(sorted(ends.union(wanted)))
    found = await periods_of(store, memories, until_forgotten=False)
    last = {memory.id: found[memory.id][-1] for memory in memories if found[memory.id]}
    changed = {
        memory.id: last[memory.id]
        for memory in memories
        if memory.id in last and last[memory.id] != Period(_began(memory), memory.valid_to)
    }
    if changed:
        await store.memories.set_periods(changed)


async def periods_of(
    store: Store, memories: Sequence[Memory], *, until_forgotten: bool = True
) -> Mapping[str, tuple[Period, ...]]:
    """Return the times in which each was valid, by its id, oldest first: several if it was replaced and said
    again.

    Links of abandoned turns and from abandoned memories do not count. Raises StoreError.
    until_forgotten: the last one ends when the memory was forgotten.
    """
    links = await _updates(store, [memory.id for memory in memories])
    known = {memory.id: memory for memory in memories}
    others = {end for link in links for end in (link.from_id, link.to_id)} - known.keys()
    known |= {memory.id: memory for memory in await store.memories.get(sorted(others))}
    of_memory: dict[str, list[Association]] = {}
    for link in links:
        of_memory.setdefault(link.from_id, []).append(link)
        of_memory.setdefault(link.to_id, []).append(link)
    found: dict[str, tuple[Period, ...]] = {}
    for memory in memories:
        periods = _periods(memory, of_memory.get(memory.id, ()), known)
        if until_forgotten and memory.forgotten_at:
            periods = _cut(periods, memory.forgotten_at)
        found[memory.id] = periods
    return found


async def _updates(store: Store, ids: Sequence[str]) -> list[Association]:
    """Return the links by which one of these replaces or is replaced, without those of abandoned turns."""
    links = await store.memories.associations(ids)
    updates = [link for link in links if link.kind is AssociationKind.UPDATES]
    abandoned = await store.turns.abandoned(sorted({link.turn for link in updates if link.turn}))
    return sorted((link for link in updates if link.turn not in abandoned), key=lambda link: link.at)


def _began(memory: Memory) -> datetime:
    return memory.valid_from or memory.created_at


def has_run_out(memory: Memory, at: datetime) -> bool:
    """Whether the last day that its own words name is over. A to-do that was due by it is still to do
    until it is done."""
    return _stated_end(memory, at) is not None and overdue_since(memory, at) is None


def overdue_since(memory: Memory, at: datetime) -> datetime | None:
    """Return the end of the due day of a to-do that nothing says is done; None if it is not over."""
    if memory.type is not MemoryType.TODO or memory.replaced:
        return None
    stated = stated_period(memory.content, memory.type, memory.created_at)
    return _stated_end(memory, at) if stated.is_due else None


def with_due_day(memory: Memory, text: str, at: datetime) -> str:
    """Return the memory's text, for an overdue to-do with its day: `... (was due 3 Nov)`."""
    over = overdue_since(memory, at)
    return text if over is None else f"{text} (was due {day_words(over - timedelta(hours=1))})"


def _stated_end(memory: Memory, at: datetime) -> datetime | None:
    """Return the end of the last day that the memory's own words name, if it is over."""
    if memory.valid_to is None or at < memory.valid_to:
        return None
    end = stated_period(memory.content, memory.type, memory.created_at).valid_to
    return end if end is not None and end <= at else None


def _periods(memory: Memory, links: Sequence[Association], known: Mapping[str, Memory]) -> tuple[Period, ...]:
    """Return its periods. links: those from and to the memory. known: the memories at their ends."""
    stated = stated_period(memory.content, memory.type, memory.created_at)
    begin: datetime | None = stated.valid_from or _said_at(memory, links, known)
    if memory.abandoned:  # as if it had never been said
        return (Period(begin, begin),)
    found: list[Period] = []
    replaced_by: set[str] = set()
    for at, is_replaced, other in _events(memory, links, known):
        if is_replaced:
            replaced_by.add(other)
        elif other == memory.id:
            replaced_by.clear()  # it is valid again, whatever had replaced it
        else:
            replaced_by.discard(other)
        if replaced_by and begin is not None:
            found.append(Period(min(begin, at), at))  # the day that its words name may not have come
            begin = None
        elif not replaced_by and begin is None:
            begin = at
    if begin is not None:
        found.append(Period(begin))
    return _cut(found, stated.valid_to) if stated.valid_to else tuple(found)


def _said_at(memory: Memory, links: Sequence[Association], known: Mapping[str, Memory]) -> datetime:
    """Return when it was first said. An edit has the date of the words before it, and is valid from its own
    date on."""
    for link in links:
        old = known.get(link.to_id)
        if link.from_id == memory.id and not link.turn and old and old.created_at == memory.created_at:
            return link.at
    return memory.created_at


def _events(
    memory: Memory, links: Sequence[Association], known: Mapping[str, Memory]
) -> list[tuple[datetime, bool, str]]:
    """Return in order: when it was replaced (True) and by what, when that was forgotten (False), and when it
    was said again (False, its own id)."""
    found: list[tuple[datetime, bool, str]] = []
    for link in links:
        newer = known.get(link.from_id)
        if link.from_id == memory.id:
            found.append((link.at, False, memory.id))
        elif newer and not newer.abandoned:
            found.append((link.at, True, newer.id))
            if newer.forgotten_at:
                found.append((max(link.at, newer.forgotten_at), False, newer.id))
    # What replaces it at the very moment at which it returns was said last.
    return sorted(found, key=lambda each: (each[0], each[2] != memory.id))


def _cut(periods: Sequence[Period], end: datetime) -> tuple[Period, ...]:
    """Return the periods up to this moment."""
    return tuple(
        Period(each.valid_from, min(each.valid_to or end, end)) for each in periods if each.valid_from < end
    )
