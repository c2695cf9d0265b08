"""Memories as lists: filtered, in an order, by a part of the id."""

from datetime import timedelta
from functools import partial

import pytest

from ragforge.domain.ids import now
from ragforge.domain.memories import (
    MemoryFilter,
    MemoryScope,
    MemorySort,
    MemoryType,
)
from ragforge.store.base import Store
from ragforge.store.base_memory import get_recent_since
from tests.contract.builders import (
    NOON,
    a_memory,
    a_project,
    new_session,
    said,
)
from tests.contract.builders_memories import EARLIER, LATER, contents, kept


@pytest.mark.emptied
async def test_filter_takes_a_projects_and_all_global_ones(store: Store) -> None:
    ours, theirs = await new_session(store), await new_session(store)
    await kept(
        store,
        a_memory(ours, "our project"),
        a_memory(ours, "our session", scope=MemoryScope.SESSION),
        a_memory(theirs, "their project"),
        a_memory(theirs, "their session", scope=MemoryScope.SESSION),
        a_memory(theirs, "everywhere", scope=MemoryScope.GLOBAL),
    )
    assert {*await contents(store, project_id=ours.project_id)} == {
        "our project",
        "our session",
        "everywhere",
    }
    assert len(await contents(store)) == 5
    assert await contents(store, project_id="nowhere") == ["everywhere"]


@pytest.mark.emptied
async def test_filter_by_session_leaves_out_what_is_another_sessions_alone(store: Store) -> None:
    project = a_project()
    await store.projects.add(project)
    here, there = await new_session(store, project), await new_session(store, project)
    await kept(
        store,
        a_memory(here, "here", scope=MemoryScope.SESSION),
        a_memory(there, "there", scope=MemoryScope.SESSION),
        a_memory(there, "of the project"),
        a_memory(there, "everywhere", scope=MemoryScope.GLOBAL),
    )
    found = await contents(store, project_id=project.id, session_id=here.id)
    assert {*found} == {"here", "of the project", "everywhere"}


async def test_filter_by_type_importance_and_time(store: Store) -> None:
    project = a_project()
    await store.projects.add(project)
    await kept(
        store,
        a_memory(project, "a goal", type=MemoryType.GOAL, importance=0.9, created_at=EARLIER),
        a_memory(project, "a fact", importance=0.6),
        a_memory(project, "an event", type=MemoryType.EVENT, importance=0.4, created_at=LATER),
    )
    assert await contents(store, project_id=project.id) == ["a goal", "a fact", "an event"]
    assert await contents(store, project_id=project.id, types=(MemoryType.GOAL, MemoryType.EVENT)) == [
        "a goal",
        "an event",
    ]
    assert await contents(store, project_id=project.id, importance_min=0.6) == ["a goal", "a fact"]
    assert await contents(store, project_id=project.id, since=NOON) == ["a fact", "an event"]
    assert await contents(store, project_id=project.id, since=NOON + timedelta(milliseconds=1)) == [
        "an event"
    ]
    assert await contents(store, project_id=project.id, limit=2) == ["a goal", "a fact"]
    assert await contents(store, project_id=project.id, limit=0) == []


async def test_orders_are_descending_ties_by_newest_creation_then_id(store: Store) -> None:
    project = a_project()
    await store.projects.add(project)
    memories = [
        a_memory(project, "old and weighty", importance=0.9, created_at=EARLIER, updated_at=EARLIER),
        a_memory(project, "used", access_count=5, updated_at=EARLIER, importance=0.5),
        a_memory(project, "new", created_at=LATER, updated_at=LATER, importance=0.5),
        *(a_memory(project, f"equal {number}", importance=0.1) for number in range(4)),
    ]
    await kept(store, *memories)
    for sort, value in (
        (MemorySort.RECENT, lambda memory: memory.updated_at),
        (MemorySort.IMPORTANCE, lambda memory: memory.importance),
        (MemorySort.USED, lambda memory: memory.access_count),
        (MemorySort.CREATED, lambda memory: memory.created_at),
    ):
        expected = sorted(memories, key=lambda memory: memory.id)
        expected.sort(key=lambda memory: memory.created_at, reverse=True)
        expected.sort(key=value, reverse=True)
        assert await store.memories.find(MemoryFilter(project_id=project.id, sort=sort)) == expected
        assert (
            await store.memories.find(MemoryFilter(project_id=project.id, sort=sort, limit=3)) == expected[:3]
        )


@pytest.mark.emptied
async def test_get_recent_since_gives_the_newest_that_may_be_shown(store: Store) -> None:
    session = await new_session(store)
    moments = [now().replace(microsecond=0) - timedelta(minutes=minutes) for minutes in (90, 50, 10)]
    memories = [
        a_memory(session, f"{moment:%H:%M}", updated_at=moment, created_at=moment) for moment in moments
    ]
    at = {"created_at": moments[2], "updated_at": moments[2]}
    forgotten = a_memory(session, "forgotten", forgotten_at=moments[2], **at)
    elsewhere = a_memory(await new_session(store), "elsewhere", **at)
    again = a_memory(session, "said long ago and again", created_at=moments[0], updated_at=moments[2])
    await kept(store, *memories, forgotten, elsewhere, again)
    recent = partial(get_recent_since, store.memories)
    hour = timedelta(hours=1)
    assert await recent(hour, 10, session.id, project_id=session.project_id) == memories[:0:-1]
    assert await recent(hour, 1, project_id=session.project_id) == memories[2:]
    assert {memory.content for memory in await recent(hour, 10)} == {
        *(memory.content for memory in memories[1:]),
        "elsewhere",
    }


async def test_memories_are_found_by_the_turns_that_they_rest_on(store: Store) -> None:
    session = await new_session(store)
    first, second, other = [await said(store, session, words) for words in ("first", "second", "other")]
    both = a_memory(session, "of both", first, second)
    forgotten = a_memory(session, "forgotten", first, created_at=LATER, forgotten_at=LATER)
    elsewhere = a_memory(session, "of another", other)
    await kept(store, both, forgotten, elsewhere)
    found = await store.memories.of_turns([first.id, second.id, "nowhere"])
    assert [memory.content for memory in found] == ["of both", "forgotten"]
    assert await store.memories.of_turns([]) == []


@pytest.mark.emptied
async def test_ids_are_found_by_how_they_begin(store: Store) -> None:
    session = await new_session(store)
    memories = [a_memory(session, f"number {number}") for number in range(30)]
    await kept(store, *memories)
    ids = sorted(memory.id for memory in memories)
    wanted = ids[7]
    assert await store.memories.with_id_part(wanted) == [wanted]
    assert await store.memories.with_id_part(wanted[:12].upper()) == [wanted]
    assert await store.memories.with_id_part("") == ids[:5]
    for strange in ("%", "_", "*", "nowhere", wanted + "0", "\ud800"):
        assert await store.memories.with_id_part(strange) == []
