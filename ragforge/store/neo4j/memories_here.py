"""Memories while the server is away: those that are here."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from ragforge.domain.memories import (
    Association,
    AssociationKind,
    Memory,
    MemoryFilter,
    MemoryScope,
    MemorySort,
    MemorySource,
)
from ragforge.store.neo4j.left_here import left_here
from ragforge.store.neo4j.memory_rows import association_of, memory_of
from ragforge.store.neo4j.outbox import Rows
from ragforge.store.neo4j.outbox_row import ASSOCIATION
from ragforge.store.neo4j.rows import Label

ORDERS: dict[MemorySort, Callable[[Memory], float]] = {
    MemorySort.RECENT: lambda memory: memory.updated_at.timestamp(),
    MemorySort.IMPORTANCE: lambda memory: memory.importance,
    MemorySort.USED: lambda memory: memory.access_count,
}


def memories_here(rows: Rows) -> list[Memory]:
    """All that are here; whether they are replaced or left, as far as that is known here."""
    found = [memory_of(row.props) for row in rows.of_label(Label.MEMORY)]
    left = left_here(rows, {turn for memory in found for turn in memory.turns})
    stored = {row.id for row in rows.of_label(Label.TURN)}
    known = {memory.id: replace(memory, left=_is_left(memory, stored, left)) for memory in found}
    serving = {each.id for each in known.values() if each.forgotten_at is None and not each.left}
    links = [link for link in _links(rows) if link.kind is AssociationKind.UPDATES]
    taken_back = left_here(rows, {link.turn for link in links if link.turn})
    updates = sorted((link for link in links if link.turn not in taken_back), key=lambda link: link.at)
    last_replaced = {link.from_id: link.at for link in updates}
    replaced = {
        link.to_id
        for link in updates
        if link.from_id in serving and not last_replaced.get(link.to_id, link.at) > link.at
    }
    return [replace(memory, replaced=memory.id in replaced) for memory in known.values()]


def find_here(rows: Rows, wanted: MemoryFilter) -> list[Memory]:
    """Those that are here and fit, in the order asked for."""
    found = [memory for memory in memories_here(rows) if _fits(memory, wanted)]
    # Sorted three times, each keeping the order of equals.
    found.sort(key=lambda memory: memory.id)
    found.sort(key=lambda memory: memory.created_at, reverse=True)
    found.sort(key=ORDERS[wanted.sort], reverse=True)
    return found[: max(0, wanted.limit)]


def associations_here(rows: Rows, ids: Sequence[str]) -> list[Association]:
    """Links from or to these that are here, oldest first."""
    wanted = {*ids}
    found = [link for link in _links(rows) if wanted & {link.from_id, link.to_id}]
    return sorted(found, key=lambda link: (link.at, link.kind, link.from_id, link.to_id, link.turn))


def _is_left(memory: Memory, stored: set[str], left: set[str]) -> bool:
    evidence = stored & {*memory.turns}
    return memory.source is not MemorySource.PERSON and bool(evidence) and evidence <= left


def _links(rows: Rows) -> list[Association]:
    return [association_of(row.props) for row in rows.of_label(ASSOCIATION)]


def _fits(memory: Memory, wanted: MemoryFilter) -> bool:
    is_there = memory.scope is MemoryScope.GLOBAL or wanted.project_id in (None, memory.project_id)
    is_its = memory.scope is not MemoryScope.SESSION or wanted.session_id in (None, memory.session_id)
    return (
        is_there
        and is_its
        and (not wanted.types or memory.type in wanted.types)
        and memory.importance >= wanted.importance_min
        and (wanted.since is None or memory.updated_at >= wanted.since)
        and (wanted.forgotten or memory.forgotten_at is None)
        and (wanted.replaced or not memory.replaced)
        and (wanted.left or not memory.left)
    )
