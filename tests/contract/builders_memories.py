"""Memories that are stored, and what of them is found."""

from datetime import timedelta
from typing import Any

from ragforge.domain.memories import Memory, MemoryFilter
from ragforge.store.base import Store
from tests.contract.builders import NOON

LATER = NOON + timedelta(hours=1)
EARLIER = NOON - timedelta(hours=1)
ALL = MemoryFilter(forgotten=True, replaced=True, abandoned=True)


async def kept(store: Store, *memories: Memory) -> None:
    for memory in memories:
        await store.memories.save(memory)


async def one(store: Store, memory: Memory) -> Memory:
    (found,) = await store.memories.get([memory.id])
    return found


async def contents(store: Store, **values: Any) -> list[str]:
    return [memory.content for memory in await store.memories.find(MemoryFilter(**values))]
