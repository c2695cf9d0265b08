"""Memories that are kept, changed, forgotten and used."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from ragforge.domain.errors import Conflict, UsageError
from ragforge.domain.memories import (
    MEMORY_CHARS_MAX,
    MemoryFilter,
    MemoryScope,
    MemorySource,
    MemoryType,
    Period,
    Strength,
    memory_id,
)
from ragforge.domain.search import HitKind, Query
from ragforge.memory.memories import new_memory
from ragforge.memory.recall.search import Recall, search
from ragforge.store.base import Store
from tests.contract.builders import (
    NOON,
    a_memory,
    a_project,
    conversation,
    new_session,
)
from tests.contract.builders_memories import ALL, EARLIER, LATER, kept, one


@pytest.mark.emptied
async def test_memory_reads_back_whole(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 2)
    whole = a_memory(
        session,
        'Ça marche: "quoted", 100 % \n\t\\ {} 日本 $x `y`',
        *turns,
        type=MemoryType.IDENTITY,
        importance=1.0,
        confidence=0.5,
        topic="odd things",
        source=MemorySource.MODEL,
        scope=MemoryScope.SESSION,
        updated_at=LATER,
        accessed_at=LATER,
        access_count=7,
    )
    bare = a_memory(a_project(id=session.project_id), "x" * MEMORY_CHARS_MAX, scope=MemoryScope.GLOBAL)
    await kept(store, whole, bare)
    assert await store.memories.get([bare.id, "nowhere", whole.id]) == [bare, whole]
    assert await store.memories.get([]) == []
    assert await store.check() == []


async def test_equal_text_is_one_memory_that_gathers_evidence_and_weight(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 3)
    first = a_memory(
        session,
        "Uses tabs.",
        turns[0],
        topic="style",
        importance=0.6,
        confidence=0.9,
        strength=Strength.SHOULD,
        applies_to=("tabs",),
    )
    again = a_memory(
        session,
        "uses  TABS",
        turns[0],
        turns[1],
        type=MemoryType.DECISION,
        topic="other",
        importance=0.8,
        confidence=0.5,
        created_at=EARLIER,
        updated_at=LATER,
        strength=Strength.MUST,
        applies_to=("TABS",),
        said=2,
    )
    assert first.id == again.id
    for _ in range(2):
        await kept(store, first, again)
    expected = replace(
        first,
        importance=0.8,
        created_at=EARLIER,
        updated_at=LATER,
        turns=(turns[0].id, turns[1].id),
        strength=Strength.MUST,
        applies_to=("tabs", "TABS"),
        said=2,
    )
    assert await store.memories.find(replace(ALL, project_id=session.project_id)) == [expected]


async def test_what_binds_is_found_and_counts_the_calls_against_it(store: Store) -> None:
    session = await new_session(store)
    rule = a_memory(session, "Never touch gen/.", strength=Strength.MUST)
    await kept(store, rule, a_memory(session, "Tabs are four wide."))
    await store.memories.count_answers([rule.id], held=True)
    await store.memories.count_answers([rule.id, "unknown"], held=False)
    await store.memories.count_answers([rule.id], held=False)
    expected = replace(rule, held=1, broken=2)
    assert await store.memories.find(replace(ALL, project_id=session.project_id, binding=True)) == [expected]


@pytest.mark.parametrize("source", [MemorySource.BACKGROUND, MemorySource.MODEL])
async def test_what_the_user_said_too_is_the_users(store: Store, source: MemorySource) -> None:
    session = await new_session(store)
    found = a_memory(session, source=source, origin="from the answer")
    said = a_memory(session, source=MemorySource.USER, origin="/remember")
    for first, again in ((found, said), (said, found)):
        await kept(store, first, again)
        (memory,) = await store.memories.get([found.id])
        assert (memory.source, memory.origin) == (MemorySource.USER, "/remember")
    assert await store.check() == []


@pytest.mark.parametrize("scope", [*MemoryScope])
@pytest.mark.emptied
async def test_equal_text_elsewhere_is_another_memory(store: Store, scope: MemoryScope) -> None:
    project = a_project()
    await store.projects.add(project)
    sessions = [
        await new_session(store, project),
        await new_session(store, project),
        await new_session(store),
    ]
    await kept(store, *[a_memory(session, scope=scope) for session in sessions])
    expected = {MemoryScope.SESSION: 3, MemoryScope.PROJECT: 2, MemoryScope.GLOBAL: 1}[scope]
    assert len(await store.memories.find(ALL)) == expected


REFUSED: tuple[tuple[dict[str, Any], str], ...] = (
    ({"content": ""}, "needs a text"),
    ({"content": " \n"}, "needs a text"),
    ({"content": "..."}, "needs a text"),
    ({"content": "x" * (MEMORY_CHARS_MAX + 1)}, "2,001"),
    ({"importance": 1.01}, "importance"),
    ({"importance": -0.01}, "importance"),
    ({"confidence": float("nan")}, "confidence"),
    ({"confidence": float("inf")}, "confidence"),
    ({"id": "0" * 32}, "0" * 32),
)


async def test_memory_that_cannot_be_kept_is_refused(store: Store) -> None:
    session = await new_session(store)
    for values, wrong in REFUSED:
        refused = a_memory(session, **values)
        for write in (store.memories.save, store.memories.change):
            with pytest.raises(UsageError, match=wrong):
                await write(refused)
    assert await store.memories.find(replace(ALL, project_id=session.project_id)) == []


async def test_memory_of_no_project_is_refused(store: Store) -> None:
    with pytest.raises(Conflict, match="no-project"):
        await store.memories.save(a_memory(a_project(id="no-project")))


async def test_change_replaces_what_may_change(store: Store) -> None:
    session = await new_session(store)
    memory = a_memory(session, "Uses tabs.", topic="style")
    await kept(store, memory)
    changed = replace(
        memory,
        type=MemoryType.GOAL,
        importance=0.1,
        confidence=0.2,
        topic="",
        updated_at=LATER,
        owner="ada@example.org",
    )
    # The rest is not `change`'s.
    await store.memories.change(replace(changed, turns=("t",), access_count=9, forgotten_at=NOON))
    period = Period(NOON, LATER)
    await store.memories.set_periods({memory.id: period, "nowhere": period})
    changed = replace(changed, valid_from=NOON, valid_to=LATER)
    assert await one(store, memory) == changed
    await store.memories.set_periods({memory.id: Period(NOON)})
    assert await one(store, memory) == replace(changed, valid_to=None)
    with pytest.raises(Conflict):
        await store.memories.change(a_memory(session, "Unheard of."))


async def test_what_belongs_to_somebody_is_found_for_them_and_ranked_for_nobody_else(store: Store) -> None:
    session = await new_session(store)
    adas, bobs = [
        new_memory(
            "Answer in French.",
            MemoryType.PREFERENCE,
            project_id=session.project_id,
            at=NOON,
            source=MemorySource.USER,
            person=person,
        )
        for person in ("ada", "bob")
    ]
    shared = a_memory(session, "French wine is red.")
    await kept(store, adas, bobs, shared)
    assert adas.id != bobs.id, "equal words of two persons are two memories"
    found = {
        person: {
            each.id for each in await store.memories.find(MemoryFilter(session.project_id, person=person))
        }
        for person in ("ada", "eve", None)
    }
    assert found == {"ada": {adas.id, shared.id}, "eve": {shared.id}, None: {adas.id, bobs.id, shared.id}}
    query = Query("french", session.project_id, kinds=(HitKind.MEMORY,))
    owners = {each.id: each.owner for each in await store.search.candidates(query)}
    assert owners == {adas.id: "ada", bobs.id: "bob", shared.id: ""}
    ranked = await search(Recall(store), replace(query, person="bob"))
    assert {hit.id for hit in ranked.hits} == {bobs.id, shared.id}
    await store.memories.change(replace(adas, owner=""))
    await kept(store, replace(adas, updated_at=LATER))
    assert (await one(store, adas)).owner == "", "said again it stays everybody's"


@pytest.mark.emptied
async def test_forgotten_is_kept_and_can_be_restored(store: Store) -> None:
    session = await new_session(store)
    memory = a_memory(session)
    await kept(store, memory)
    for moment in (LATER, LATER + timedelta(hours=1)):
        await store.memories.forget([memory.id, "nowhere"], moment)
    forgotten = replace(memory, forgotten_at=LATER)
    assert await store.memories.get([memory.id]) == [forgotten]
    assert await store.memories.find(MemoryFilter()) == []
    assert await store.memories.find(MemoryFilter(forgotten=True)) == [forgotten]
    elsewhere = a_memory(await new_session(store), "elsewhere", forgotten_at=LATER)
    everywhere = a_memory(session, "everywhere", scope=MemoryScope.GLOBAL, forgotten_at=NOON)
    await kept(store, a_memory(session, "stays"), elsewhere, everywhere)
    assert await store.memories.forgotten(project_id=memory.project_id) == [forgotten, everywhere]
    await store.memories.forget([each.id for each in await store.memories.find(MemoryFilter())], NOON)
    for _ in range(2):
        await store.memories.restore([memory.id, "nowhere"])
    assert await store.memories.find(MemoryFilter()) == [memory]
    assert await store.check() == []


@pytest.mark.emptied
async def test_forgotten_comes_back_only_when_the_user_says_it_again(store: Store) -> None:
    session = await new_session(store)
    memory = a_memory(session)
    await kept(store, memory)
    await store.memories.forget([memory.id], NOON)
    for source in (MemorySource.BACKGROUND, MemorySource.MODEL):
        await kept(store, replace(memory, source=source, importance=0.9))
        assert (await one(store, memory)).forgotten_at == NOON
    await kept(store, replace(memory, source=MemorySource.USER))
    found = await one(store, memory)
    assert (found.forgotten_at, found.importance) == (None, 0.9)
    wish = a_memory(session, "never use pip", type=MemoryType.PREFERENCE)
    await kept(store, wish)
    await store.memories.forget([wish.id], NOON)
    found_again = [(MemorySource.MODEL, LATER), (MemorySource.BACKGROUND, NOON)]
    for source, at in (*found_again, (MemorySource.BACKGROUND, LATER)):
        assert (await one(store, wish)).forgotten_at == NOON
        await kept(store, replace(wish, source=source, updated_at=at))
    assert (await one(store, wish)).forgotten_at is None
    assert await store.check() == []


async def test_touch_counts_and_keeps_the_last_time(store: Store) -> None:
    session = await new_session(store)
    memory, other = a_memory(session), a_memory(session, "another")
    await kept(store, memory, other)
    await store.memories.touch([memory.id, "nowhere"], EARLIER)
    # The same call repeated changes nothing; nor does one that arrives late.
    for at in (LATER, LATER, EARLIER):
        await store.memories.touch([memory.id], at)
    found = await one(store, memory)
    assert (found.access_count, found.accessed_at) == (2, LATER)
    assert found.updated_at == memory.updated_at, "it says nothing new"
    assert await one(store, other) == other


async def test_text_that_no_database_holds_is_kept_as_far_as_it_goes(store: Store) -> None:
    project = a_project()
    await store.projects.add(project)
    memory = a_memory(project, "half \ud800 a pair", topic="\udfff")
    await kept(store, memory)
    found = await one(store, memory)
    assert (found.content, found.topic) == ("half \ufffd a pair", "\ufffd")
    assert found.id == memory_id(found.content, scope=found.scope, project_id=found.project_id, session_id="")
