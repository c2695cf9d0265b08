"""What the dashboard counts: wishes, what was extracted, what sessions cost."""

from datetime import timedelta

import pytest

from ragforge.domain.memories import (
    Association,
    AssociationKind,
    ExtractionCount,
    MemoryOrigin,
    MemoryScope,
    MemorySource,
    MemoryType,
    Strength,
    WishCount,
    WishKind,
)
from ragforge.store.base import Store
from tests.contract.builders import NOON, a_memory, a_project, a_spending, a_step, a_turn, new_session
from tests.contract.builders_memories import kept

MONTH = timedelta(days=30)


async def test_wishes_that_hold_are_counted_by_kind(store: Store) -> None:
    project = a_project()
    await store.projects.add(project)
    rule = a_memory(project, "never pip", type=MemoryType.PREFERENCE, strength=Strength.MUST)
    decided = a_memory(project, "never npm", type=MemoryType.DECISION, strength=Strength.MUST)
    gone = a_memory(project, "never yarn", type=MemoryType.PREFERENCE, strength=Strength.MUST)
    replaced = a_memory(project, "tabs", type=MemoryType.PREFERENCE)
    spaces = a_memory(project, "spaces", type=MemoryType.PREFERENCE)
    await kept(
        store,
        *(rule, decided, gone, replaced, spaces),
        a_memory(project, "ship it", type=MemoryType.GOAL),
        a_memory(project, "paint it", type=MemoryType.TODO),
        a_memory(project, "hers", type=MemoryType.PREFERENCE, owner="ada@example.org"),
        a_memory(project, "his", type=MemoryType.PREFERENCE, owner="bob@example.org"),
        a_memory(project, "it is blue", type=MemoryType.FACT),
        a_memory(project, "we chose it", type=MemoryType.DECISION, strength=Strength.SHOULD),
    )
    await store.memories.forget([gone.id], NOON)
    await store.memories.associate([Association(AssociationKind.UPDATES, spaces.id, replaced.id, NOON)])
    for held in (True, True, False):
        await store.memories.count_answers([rule.id], held=held)
    await store.memories.count_answers([decided.id], held=True)
    found = await store.memories.count_wishes(project_id=project.id, person="ada@example.org")
    rules = await store.memories.count_wishes(project_id=project.id, person="ada@example.org", binding=True)
    assert rules == {WishKind.CONSTRAINT: found[WishKind.CONSTRAINT]}
    elsewhere = await store.memories.count_wishes(project_id="nowhere", person="")
    assert found[WishKind.CONSTRAINT] == WishCount(2, held=3, broken=1)
    # Others' global wishes count everywhere.
    globally = elsewhere.get(WishKind.PREFERENCE, WishCount()).number
    assert found[WishKind.PREFERENCE].number - globally == 2
    assert found[WishKind.INTENT].number - elsewhere.get(WishKind.INTENT, WishCount()).number == 2


async def test_what_was_extracted_is_right_until_it_is_forgotten_or_edited_soon(store: Store) -> None:
    project = a_project()
    await store.projects.add(project)
    names = ("right", "forgotten", "forgotten late", "edited", "edited late", "replaced")
    each = {
        name: a_memory(project, name, created_at=NOON + timedelta(hours=number))
        for number, name in enumerate(names)
    }
    by_hand = a_memory(project, "by hand", source=MemorySource.USER, origin=MemoryOrigin.EDIT)
    said = a_memory(project, "said since", source=MemorySource.MODEL)
    await kept(store, *each.values(), by_hand, said)
    await store.memories.forget([each["forgotten"].id], NOON + MONTH)
    await store.memories.forget([each["forgotten late"].id], NOON + 2 * MONTH)
    links = {"edited": (by_hand, MONTH), "edited late": (by_hand, 2 * MONTH), "replaced": (said, MONTH)}
    await store.memories.associate(
        [
            Association(AssociationKind.UPDATES, newer.id, each[old].id, NOON + after)
            for old, (newer, after) in links.items()
        ]
    )

    async def count(limit: int) -> ExtractionCount:
        return await store.memories.count_extracted(
            project_id=project.id, person="", within=MONTH, limit=limit
        )

    assert await count(100) == ExtractionCount(kept=6, right=4)
    assert await count(3) == ExtractionCount(kept=3, right=2)  # the newest
    assert await count(0) == ExtractionCount(0, 0)


async def test_what_sessions_cost_is_told_for_each(store: Store) -> None:
    dear, cheap, unknown = [await new_session(store) for _ in range(3)]
    for session, cost in ((dear, 0.5), (cheap, 0.25), (unknown, None)):
        turn = a_turn(session)
        await store.turns.start(turn)
        await store.turns.save_step(a_step(turn, 0, cost_usd=cost))
    await store.usage.add(a_spending(dear, cost_usd=1.0))
    found = await store.usage.by_session([dear.id, cheap.id, unknown.id, "nowhere"])
    assert found == {dear.id: 1.5, cheap.id: 0.25, unknown.id: None, "nowhere": 0.0}
    assert await store.usage.by_session([]) == {}


@pytest.mark.emptied
async def test_global_wishes_count_in_every_project(store: Store) -> None:
    project, other = a_project(), a_project()
    await store.projects.add(project)
    await store.projects.add(other)
    rule = a_memory(
        other,
        "never pip",
        type=MemoryType.PREFERENCE,
        scope=MemoryScope.GLOBAL,
        strength=Strength.MUST,
        owner="carl@example.org",
    )
    await kept(store, rule)
    mine = await store.memories.count_wishes(project_id=project.id, person="carl@example.org")
    theirs = await store.memories.count_wishes(project_id=project.id, person="")
    assert {kind: count.number for kind, count in mine.items()} == {WishKind.CONSTRAINT: 1}
    assert theirs == {}
