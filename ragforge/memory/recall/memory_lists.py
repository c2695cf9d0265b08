"""Lists of memories that are needed for every message, cached until a memory changes."""

from time import monotonic

from ragforge.domain import timeouts
from ragforge.domain.memories import Memory, MemoryFilter, MemorySort
from ragforge.domain.metrics import CACHE_REQUESTS, TALLY
from ragforge.memory.recall.results import KeptList, Recall

LISTS_MAX = 16
"""A session needs few; each may contain 10,000 memories."""


async def find_memories(recall: Recall, wanted: MemoryFilter) -> list[Memory]:
    """Return the result of `Memories.find`, from the cache if nothing has changed. Raises StoreError.

    The counters of cached memories (used, held, broken) may be outdated.
    """
    if wanted.sort is MemorySort.USED or wanted.since is not None:
        return await recall.store.memories.find(wanted)
    state = await recall.store.memories.state()
    kept = recall.lists.pop(wanted, None)
    is_hit = kept is not None and state is not None and kept.state == state and not _is_old(kept)
    TALLY.count(CACHE_REQUESTS, "hit" if is_hit else "miss")
    if kept is None or not is_hit:
        # A write meanwhile makes the next state a different one.
        found = tuple(await recall.store.memories.find(wanted))
        kept = KeptList(state, found, monotonic())
    if state is not None:
        recall.lists[wanted] = kept
        while len(recall.lists) > LISTS_MAX:
            del recall.lists[next(iter(recall.lists))]
    return list(kept.memories)


def _is_old(kept: KeptList) -> bool:
    return monotonic() - kept.read_s > timeouts.MEMORY_LIST_CACHED_S_MAX
