"""Store what was understood of a turn: its memories, what other derivations take from it, its summary."""

import logging
from collections.abc import Sequence

from ragforge.domain.errors import Conflict, UsageError
from ragforge.domain.memories import AssociationKind, Memory, wish_kind
from ragforge.domain.metrics import (
    PREFERENCE_CONFIDENCE,
    PREFERENCES_EXTRACTED,
    PREFERENCES_REJECTED,
    TALLY,
)
from ragforge.domain.schedule import KeptMemory
from ragforge.domain.vectors import Owner, OwnerKind
from ragforge.memory.derive.base import Home
from ragforge.memory.material import Understanding, redacted
from ragforge.memory.memories import associate, remember
from ragforge.memory.part import find_parts
from ragforge.store.base import Store

log = logging.getLogger(__name__)


async def keep(home: Home, understanding: Understanding) -> tuple[list[Owner], tuple[KeptMemory, ...]]:
    """Store what was understood of a turn; return what needs a vector, and the new memories.

    Idempotent. The summary is stored last, because it marks the turn as done: a crash before it repeats
    everything. Raises StoreError.
    """
    safe = redacted(understanding, home.redactor)
    store = home.store
    kept, new = await keep_memories(store, safe)
    for part in find_parts():
        if (value := safe.more.get(part.name)) is not None:
            await part.keep(store, home.redactor, safe.summary, value)
    try:
        await store.summaries.save(safe.summary)
    except Conflict as error:
        log.info("Turn %s was deleted while it was summarised: %s", safe.summary.covers[0], error)
        return kept, ()
    turns = [Owner(OwnerKind.TURN, turn_id) for turn_id in safe.summary.covers]
    return [*turns, Owner(OwnerKind.SUMMARY, safe.summary.id), *kept], await _told(store, new)


async def keep_memories(store: Store, found: Understanding) -> tuple[list[Owner], list[Memory]]:
    """Store the memories of a turn with their links; return those that need a vector, and the new ones.

    found: without secrets. Raises StoreError.
    """
    kept: list[Owner] = []
    known = {memory.id: memory for memory in await store.memories.get([each.id for each in found.memories])}
    new: list[Memory] = []
    for memory in found.memories:
        try:
            stored = await remember(store, memory)
            kept.append(Owner(OwnerKind.MEMORY, stored.id))
            before = known.get(stored.id)
            # A turn that is understood again, once the model is back, repeats nothing.
            is_said = before is None or not set(memory.turns) <= set(before.turns)
            if is_said and (kind := wish_kind(stored)):
                TALLY.count(PREFERENCES_EXTRACTED, kind)
                TALLY.observe(PREFERENCE_CONFIDENCE, stored.confidence)
            new += [stored] if before is None else []
        except (UsageError, Conflict) as error:
            log.warning("A memory of turn %s is not kept: %s", found.summary.covers[0], error)
            if wish_kind(memory):
                TALLY.count(PREFERENCES_REJECTED, "not_stored")
    try:
        if found.associations:
            await associate(store, found.associations)
    except Conflict as error:
        log.warning("Links between memories of turn %s are not kept: %s", found.summary.covers[0], error)
    return kept, new


async def _told(store: Store, new: Sequence[Memory]) -> tuple[KeptMemory, ...]:
    """Return the memories with the texts they replace."""
    links = await store.memories.associations([memory.id for memory in new]) if new else []
    gone = [link for link in links if link.kind is AssociationKind.UPDATES]
    old = {each.id: each.content for each in await store.memories.get([link.to_id for link in gone])}
    return tuple(
        KeptMemory(
            memory.id,
            memory.content,
            tuple(old[link.to_id] for link in gone if link.from_id == memory.id and link.to_id in old),
        )
        for memory in new
    )
