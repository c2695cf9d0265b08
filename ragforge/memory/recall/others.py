"""Identity and preferences of other users: no sentence that states them is recalled for this user."""

from collections.abc import Sequence

from msgspec.structs import replace

from ragforge.domain.context import Recalled
from ragforge.domain.memories import Memory
from ragforge.domain.search import HitKind
from ragforge.memory.sentences import sentences
from ragforge.memory.terms import says
from ragforge.store.base import Store


async def owned_by_others(store: Store, items: Sequence[Recalled], person: str) -> list[Memory]:
    """Return memories of somebody else that are based on the turns of these items. Raises StoreError."""
    turns = sorted({item.turn_id for item in items if item.kind is not HitKind.MEMORY and item.turn_id})
    found = await store.memories.of_turns(turns) if turns else []
    return [memory for memory in found if memory.owner not in ("", person)]


def without_others(item: Recalled, owned: Sequence[Memory]) -> Recalled | None:
    """Return the item without the sentences that say one of these; None if nothing is left."""
    if item.kind is HitKind.MEMORY or not owned:
        return item
    said = sentences(item.text) or [item.text]
    kept = [each for each in said if not any(says(each, memory.content) for memory in owned)]
    if len(kept) == len(said):
        return item
    return replace(item, text=" ".join(kept)) if kept else None
