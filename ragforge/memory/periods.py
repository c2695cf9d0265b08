"""From when until when a memory held, read from what it replaced and what replaced it."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from ragforge.domain.memories import AssociationKind, Memory
from ragforge.store.base import Store


class Period(Struct, frozen=True):
    """A time in which a memory holds; valid_to: None while it still does."""

    valid_from: datetime
    valid_to: datetime | None = None

    def holds_at(self, at: datetime) -> bool:
        """Whether the moment is within it."""
        return self.valid_from <= at and (self.valid_to is None or at < self.valid_to)


async def periods_of(store: Store, memories: Sequence[Memory]) -> Mapping[str, tuple[Period, ...]]:
    """The times in which each held, by its id, oldest first: several where it was replaced and said again.

    Links of abandoned turns do not count, and with the forgetting the last one ends. Raises StoreError.
    """
    links = await store.memories.associations([memory.id for memory in memories])
    updates = [link for link in links if link.kind is AssociationKind.UPDATES]
    abandoned = await store.turns.abandoned(sorted({link.turn for link in updates if link.turn}))
    counted = sorted((link for link in updates if link.turn not in abandoned), key=lambda link: link.at)
    found: dict[str, tuple[Period, ...]] = {}
    for memory in memories:
        changes = [
            (link.at, link.from_id == memory.id)
            for link in counted
            if memory.id in (link.from_id, link.to_id)
        ]
        found[memory.id] = _periods(memory, changes)
    return found


def _periods(memory: Memory, changes: Sequence[tuple[datetime, bool]]) -> tuple[Period, ...]:
    """changes: the moments, in order, from which it held (True) or was replaced (False)."""
    begin: datetime | None = memory.created_at
    found: list[Period] = []
    ends = [(memory.forgotten_at, False)] if memory.forgotten_at else []
    for at, holds in [*changes, *ends]:
        if holds and begin is None:
            begin = at
        elif not holds and begin is not None:
            found.append(Period(begin, at))
            begin = None
    return tuple([*found, Period(begin)] if begin is not None else found)
