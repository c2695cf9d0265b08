"""Memories and what they hang together with: each other, turns, sessions."""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from msgspec.structs import replace

from ragforge.domain.errors import Conflict
from ragforge.domain.memories import (
    AssociationKind,
    Memory,
    MemoryScope,
    MemorySort,
    MemorySource,
)
from ragforge.domain.search import Query
from ragforge.domain.turns import ConversationSession
from ragforge.store.base import Store
from tests.contract.builders import (
    NOON,
    a_memory,
    a_project,
    a_turn,
    an_association,
    conversation,
    new_session,
    said,
)
from tests.contract.builders_memories import ALL, EARLIER, LATER, contents, kept, one


async def test_associations_are_kept_once_and_found_from_both_ends(store: Store) -> None:
    session = await new_session(store)
    old, new, why = (a_memory(session, text) for text in ("MySQL", "PostgreSQL", "JSON columns"))
    await kept(store, old, new, why)
    updates = an_association(new, old)
    caused = an_association(new, why, kind=AssociationKind.CAUSED_BY, at=EARLIER)
    against = an_association(old, new, kind=AssociationKind.CONTRADICTS, at=LATER)
    for _ in range(2):
        await store.memories.associate([updates, caused, against])
    await store.memories.associate([replace(updates, at=EARLIER)])
    assert await store.memories.associations([new.id]) == [caused, updates, against]
    assert await store.memories.associations([new.id, old.id, why.id]) == [caused, updates, against]
    assert await store.memories.associations([why.id, "nowhere"]) == [caused]
    assert await store.memories.associations([]) == []


async def test_association_of_unknown_ends_is_refused_with_all_beside_it(store: Store) -> None:
    session = await new_session(store)
    old, new = a_memory(session, "MySQL"), a_memory(session, "PostgreSQL")
    await kept(store, old, new)
    unknown = a_memory(session, "unknown")
    for wrong in (an_association(new, unknown), an_association(unknown, new)):
        with pytest.raises(Conflict, match=unknown.id):
            await store.memories.associate([an_association(new, old), wrong])
    assert await store.memories.associations([new.id]) == []


async def test_updated_memory_is_replaced_until_the_newer_is_forgotten(store: Store) -> None:
    session = await new_session(store)
    old, new = a_memory(session, "MySQL"), a_memory(session, "PostgreSQL")
    await kept(store, old, new)
    await store.memories.associate(
        [an_association(new, old), an_association(old, new, kind=AssociationKind.CONTRADICTS)]
    )
    assert await contents(store, project_id=session.project_id) == ["PostgreSQL"]
    assert {*await contents(store, project_id=session.project_id, replaced=True)} == {"MySQL", "PostgreSQL"}
    assert (await one(store, old)).replaced
    # What `save` is given does not count.
    await kept(store, replace(old, replaced=False), replace(new, replaced=True, abandoned=True))
    assert await contents(store, project_id=session.project_id) == ["PostgreSQL"]
    await store.memories.forget([new.id], NOON)
    assert await contents(store, project_id=session.project_id) == ["MySQL"]
    await store.memories.restore([new.id])
    assert await contents(store, project_id=session.project_id) == ["PostgreSQL"]


@pytest.mark.emptied
async def test_memory_that_has_replaced_another_since_is_not_replaced(store: Store) -> None:
    """There and back, and back again: the newest link between two says which of them holds."""
    session = await new_session(store)
    old, new, third = (a_memory(session, text) for text in ("MySQL", "PostgreSQL", "SQLite"))
    await kept(store, old, new, third)

    async def hold() -> set[str]:
        return {*await contents(store, project_id=session.project_id)}

    times = [NOON + timedelta(minutes=number) for number in range(4)]
    for at, (newer, older) in zip(times, ((new, old), (old, new), (new, old), (third, new)), strict=True):
        for _ in range(2):
            await store.memories.associate([an_association(newer, older, at=at)])
        assert await hold() == {newer.content, third.content}
        assert (await one(store, older)).replaced
    links = await store.memories.associations([new.id])
    assert [(link.from_id, link.to_id, link.at) for link in links] == [
        (old.id, new.id, times[1]),
        (new.id, old.id, times[2]),
        (third.id, new.id, times[3]),
    ]
    # What comes late of something older changes nothing.
    await store.memories.associate([an_association(new, old, at=times[0])])
    assert await hold() == {third.content}
    assert await store.check() == []


async def test_memory_is_left_when_all_turns_that_it_rests_on_are(store: Store) -> None:
    session = await new_session(store)
    first, second = await conversation(store, session, 2)
    await kept(
        store,
        a_memory(session, "both", first, second),
        a_memory(session, "second", second),
        a_memory(session, "of nothing"),
        a_memory(session, "unknown", a_turn(session)),
    )
    assert len(await contents(store, project_id=session.project_id)) == 4
    await store.sessions.set_head(session.id, first.id)
    assert {*await contents(store, project_id=session.project_id)} == {"both", "of nothing", "unknown"}
    assert [
        memory.content
        for memory in await store.memories.find(replace(ALL, project_id=session.project_id))
        if memory.abandoned
    ] == ["second"]
    await store.sessions.set_head(session.id, None)
    assert {*await contents(store, project_id=session.project_id)} == {"of nothing", "unknown"}
    await store.sessions.set_head(session.id, second.id)
    assert len(await contents(store, project_id=session.project_id)) == 4


@pytest.mark.emptied
async def test_memory_that_the_user_made_is_never_left(store: Store) -> None:
    """Whatever turns it names: those of before it was so name the turn that came before the command."""
    session = await new_session(store)
    (turn,) = await conversation(store, session, 1)
    of_user = a_memory(session, "by the person", turn, source=MemorySource.USER)
    replaced = a_memory(session, "the old one", importance=0.9)
    await kept(store, of_user, replaced, a_memory(session, "of the turn", turn))
    await store.memories.associate([an_association(of_user, replaced)])
    await store.sessions.set_head(session.id, None)
    assert await contents(store, project_id=session.project_id) == ["by the person"]
    found = await store.search.candidates(Query("person", session.project_id))
    assert [(hit.id, hit.abandoned) for hit in found] == [(of_user.id, False)]
    # With the turn deleted, it stands as the user's own word.
    assert await after_deletion(store, session) == [
        replace(replaced, session_id="", replaced=True),
        replace(of_user, session_id="", turns=()),
    ]


async def test_memory_whose_replacement_was_undone_holds_again(store: Store) -> None:
    session = await new_session(store)
    first, second = await conversation(store, session, 2)
    old, new = a_memory(session, "MySQL", first), a_memory(session, "PostgreSQL", second)
    await kept(store, old, new)
    await store.memories.associate([an_association(new, old)])
    assert await contents(store, project_id=session.project_id) == ["PostgreSQL"]
    await store.sessions.set_head(session.id, first.id)
    assert await contents(store, project_id=session.project_id) == ["MySQL"]


@pytest.mark.emptied
async def test_link_counts_while_the_turn_that_it_was_said_in_is_on_the_path(store: Store) -> None:
    """There, and back, and there again: each turn that is undone takes back what was said in it, no more."""
    session = await new_session(store)
    turns = await conversation(store, session, 4)
    old, new = a_memory(session, "MySQL", turns[0], turns[2]), a_memory(session, "PostgreSQL", *turns[1::2])
    await kept(store, old, new)
    links = [
        an_association(newer, older, at=NOON + timedelta(minutes=number), turn=turns[number].id)
        for number, (newer, older) in enumerate(((new, old), (old, new), (new, old)), 1)
    ]
    for link in (*links, links[0]):
        await store.memories.associate([link])
    assert await store.memories.associations([old.id]) == links
    for head, holds in ((3, new), (2, old), (1, new), (0, old), (2, old), (3, new)):
        await store.sessions.set_head(session.id, turns[head].id)
        assert await contents(store, project_id=session.project_id) == [holds.content]
        assert not (await one(store, holds)).replaced
    assert await store.check() == []


@pytest.mark.emptied
async def test_link_of_an_undone_turn_goes_when_the_turn_is_deleted(store: Store) -> None:
    # Else it would count again, for of a turn that is not stored nobody knows that it was taken back.
    project = a_project()
    await store.projects.add(project)
    session, other = await new_session(store, project), await new_session(store, project)
    kept_turn, undone = await conversation(store, session, 2)
    elsewhere = await said(store, other)
    old, new = a_memory(other, "MySQL", elsewhere), a_memory(other, "PostgreSQL", elsewhere, undone)
    third = a_memory(other, "SQLite", elsewhere)
    await kept(store, old, new, third)
    stays = an_association(third, old, kind=AssociationKind.SUPPORTS, turn=kept_turn.id)
    await store.memories.associate([an_association(new, old, turn=undone.id), stays])
    await store.sessions.set_head(session.id, kept_turn.id)
    found = await after_deletion(store, session)
    assert {memory.content for memory in found if not memory.replaced} == {"MySQL", "PostgreSQL", "SQLite"}
    assert await store.memories.associations([old.id]) == [stays]


async def after_deletion(store: Store, session: ConversationSession) -> Sequence[Memory]:
    await store.sessions.delete(session.id)
    assert await store.check() == []
    return await store.memories.find(replace(ALL, sort=MemorySort.IMPORTANCE))


@pytest.mark.emptied
async def test_deleted_session_takes_its_own_memories_and_leaves_the_projects(store: Store) -> None:
    project = a_project()
    await store.projects.add(project)
    session, other = await new_session(store, project), await new_session(store, project)
    gone = await said(store, session)
    stays = await said(store, other)
    of_project = a_memory(session, "of the project", gone, stays, importance=0.9)
    everywhere = a_memory(session, "everywhere", gone, scope=MemoryScope.GLOBAL, importance=0.8)
    of_session = a_memory(session, "of the session", gone, scope=MemoryScope.SESSION)
    of_other = a_memory(other, "of the other", gone, scope=MemoryScope.SESSION, importance=0.1)
    await kept(store, of_project, everywhere, of_session, of_other)
    await store.memories.associate([an_association(of_session, of_project)])
    assert await after_deletion(store, session) == [
        replace(of_project, session_id="", turns=(stays.id,)),
        replace(everywhere, session_id="", turns=()),
        replace(of_other, turns=()),
    ]
    assert await store.memories.associations([of_project.id]) == []


@pytest.mark.emptied
async def test_memory_of_an_undone_turn_goes_when_the_turn_is_deleted(store: Store) -> None:
    # Else, with nothing that it rests on, it would hold as if the user had said so.
    session = await new_session(store)
    await kept(store, a_memory(session, "taken back", await said(store, session)))
    await store.sessions.set_head(session.id, None)
    assert await after_deletion(store, session) == []


@pytest.mark.emptied
async def test_memory_of_turns_that_a_fork_keeps_still_rests_on_them(store: Store) -> None:
    session = await new_session(store)
    first, second = await conversation(store, session, 2)
    fork = await new_session(store, a_project(id=session.project_id), head=first.id, forked_from=session.id)
    memory = a_memory(session, "both", first, second)
    await kept(store, memory)
    (found,) = await after_deletion(store, session)
    assert found == replace(memory, session_id="", turns=(first.id,))
    assert await store.turns.abandoned([first.id]) == set()
    await store.sessions.set_head(fork.id, None)
    assert (await one(store, memory)).abandoned
