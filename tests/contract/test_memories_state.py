"""What tells whether a list of memories may have changed."""

from collections.abc import Awaitable, Callable

import pytest
from msgspec.structs import replace

from ragforge.domain.memories import Memory, MemoryFilter, Period
from ragforge.memory.recall.memory_lists import find_memories
from ragforge.memory.recall.results import Recall
from ragforge.store.base import Store
from tests.contract.builders import NOON, a_memory, an_association, conversation, new_session
from tests.contract.builders_memories import LATER, kept
from tests.contract.conftest import Opener


@pytest.mark.emptied  # the state is that of all that is stored
async def test_whatever_changes_a_list_changes_the_state_for_everybody(store: Store, opener: Opener) -> None:
    other = await opener()
    session = await new_session(store)
    turns = await conversation(store, session, 2)
    old, new = a_memory(session, "We use npm"), a_memory(session, "We use pnpm", turns=[turns[1].id])
    await kept(store, old)
    memories = store.memories
    ends = {old.id: Period(NOON, LATER)}

    changes: dict[str, Callable[[], Awaitable[object]]] = {
        "a new one": lambda: memories.save(new),
        "a change": lambda: memories.change(replace(new, topic="tools", updated_at=LATER)),
        "a link": lambda: memories.associate([an_association(new, old)]),
        "forgotten": lambda: memories.forget([old.id], LATER),
        "restored": lambda: memories.restore([old.id]),
        "a period": lambda: memories.set_periods(ends),
        "undone": lambda: store.sessions.set_head(session.id, turns[0].id),
        "redone": lambda: store.sessions.set_head(session.id, turns[1].id),
        "deleted": lambda: store.sessions.delete(session.id),
    }
    for name, change in changes.items():
        before = await other.memories.state()
        assert before is not None, name
        await change()
        await store.drain(timeout_s=10)
        assert await other.memories.state() != before, name


async def test_a_list_is_cached_until_another_process_changes_it(store: Store, opener: Opener) -> None:
    recall, other = Recall(store), await opener()
    session = await new_session(store)
    wanted = MemoryFilter(session.project_id)
    first, second = a_memory(session, "We use npm"), a_memory(session, "We indent by four")
    await kept(store, first)

    async def found() -> list[str]:
        return sorted(memory.content for memory in await find_memories(recall, wanted))

    assert await found() == [first.content]
    await kept(other, second)
    await other.drain(timeout_s=10)
    assert await found() == sorted([first.content, second.content])
    await other.memories.forget([first.id], LATER)
    await other.drain(timeout_s=10)
    assert await found() == [second.content]
    # What is handed out is the caller's own.
    (await find_memories(recall, wanted)).clear()
    assert await found() == [second.content]


@pytest.mark.emptied  # the state is that of all that is stored
async def test_use_alone_changes_nothing(store: Store) -> None:
    session = await new_session(store)
    memory: Memory = a_memory(session, "We use npm")
    await kept(store, memory)
    recall, wanted = Recall(store), MemoryFilter(session.project_id)
    before = await store.memories.state()
    await store.memories.touch([memory.id], LATER)
    await store.memories.count_answers([memory.id], held=True)
    await conversation(store, session, 1)
    await store.drain(timeout_s=10)
    assert before is not None
    assert before == await store.memories.state()
    first = await find_memories(recall, wanted)
    assert [each.content for each in first] == ["We use npm"]
