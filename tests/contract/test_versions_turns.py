"""Versions of turns: which there are, which are lacking, what becomes of them when a session goes."""

import pytest
from msgspec.structs import replace

from ragforge.domain.search import HitKind, Query
from ragforge.store.base import Store
from tests.contract.builders import NOON, a_turn, an_end, conversation, new_session, said
from tests.contract.builders_versions import a_move, a_version, new_version, worked


async def test_versions_of_turns_come_oldest_first(store: Store) -> None:
    session = await new_session(store)
    first, of_first = await worked(store, session)
    second, of_second = await worked(store, session, of_first, below=first)
    ran_on = await new_version(store, session, of_second, turn_id=first.id)
    await new_version(store, session, ran_on)
    assert await store.versions.of_turns([second.id, "nowhere", first.id]) == [of_first, of_second, ran_on]
    assert await store.versions.of_turns([second.id]) == [of_second]
    assert await store.versions.of_turns([]) == []


@pytest.mark.emptied
async def test_turn_that_ended_lacks_a_version_until_it_has_one(store: Store) -> None:
    session, other = await new_session(store), await new_session(store)
    await said(store, other)
    first, second, third = await conversation(store, session, 3)
    running = a_turn(session, parent=third)
    await store.turns.start(running)
    assert await store.versions.unversioned(session.id) == [first.id, second.id, third.id]
    assert await store.versions.unversioned(session.id, limit=2) == [first.id, second.id]
    await new_version(store, session, turn_id=second.id)
    assert await store.versions.unversioned(session.id) == [first.id, third.id]
    await store.turns.end(an_end(running))
    assert await store.versions.unversioned(session.id) == [first.id, third.id, running.id]
    await store.turns.reopen(third.id)
    assert await store.versions.unversioned(session.id) == [first.id, running.id]
    for turn in (first, third, running):
        await new_version(store, session, turn_id=turn.id)
    await store.turns.end(an_end(third, "Later."))
    assert await store.versions.unversioned(session.id) == await store.versions.unversioned("nowhere") == []
    assert await store.check() == []


async def test_turn_whose_writer_died_lacks_a_version(store: Store) -> None:
    session = await new_session(store)
    turn = a_turn(session)
    await store.turns.start(turn)
    assert await store.versions.unversioned(session.id) == []
    claim = await store.sessions.claim(session.id)
    assert await store.versions.unversioned(session.id) == [turn.id]
    await claim.release()


async def test_turns_that_an_archive_brings_lack_nothing(store: Store) -> None:
    session = await new_session(store)
    turn = replace(a_turn(session), ended_at=NOON)
    await store.archive.load([turn])
    assert await store.versions.unversioned(session.id) == []


@pytest.mark.emptied
async def test_tree_outlives_the_session_that_it_grew_in(store: Store) -> None:
    session = await new_session(store)
    other = await new_session(store, await store.projects.get(session.project_id))
    turn, made = await worked(store, session, text="Feed the zebra.", words="+okapi = 1", label="gnu")
    undone = await new_version(store, session, made, title="undo of turn 1")
    child = await new_version(store, other, undone)
    await store.versions.add_move(a_move(session, from_version=made.id, from_turn=turn.id))
    kept = a_move(other, to_version=made.id, to_turn=turn.id)
    await store.versions.add_move(kept)
    line = await store.versions.line(child.id)

    assert await store.sessions.delete(session.id, dry_run=True)
    assert await store.versions.line(child.id) == line
    await store.sessions.delete(session.id)

    nameless = replace(made, session_id="", turn_id="", title="")
    assert await store.versions.line(child.id) == [child, replace(undone, session_id=""), nameless]
    assert await store.versions.of_turns([turn.id]) == []
    assert await store.versions.moves(session.project_id) == [kept]
    assert await store.versions.unversioned(session.id) == []
    # What the files were is the project's; what was said went with the session.
    of_versions = Query("zebra", kinds=(HitKind.VERSION,))
    assert await store.search.words(of_versions) == []
    for word in ("okapi", "gnu"):
        (hit,) = await store.search.words(replace(of_versions, text=word, project_id=session.project_id))
        assert (hit.id, hit.session_id, hit.turn_id, hit.turn_index) == (made.id, "", "", -1)
    assert await store.check() == []


@pytest.mark.emptied
async def test_versions_go_with_turns_that_a_fork_inherits(store: Store) -> None:
    session = await new_session(store)
    project = await store.projects.get(session.project_id)
    shared, of_shared = await worked(store, session, text="Feed the zebra.")
    left, of_left = await worked(store, session, of_shared, text="Feed the yak.", below=shared)
    fork = await new_session(store, project, head=shared.id, forked_from=session.id)
    await store.sessions.delete(session.id)
    inherited = replace(of_shared, session_id=fork.id)
    assert await store.versions.of_turns([shared.id, left.id]) == [inherited]
    assert await store.versions.get([of_left.id]) == [replace(of_left, session_id="", turn_id="", title="")]
    (hit,) = await store.search.words(Query("zebra", session_id=fork.id, kinds=(HitKind.VERSION,)))
    assert (hit.id, hit.session_id, hit.turn_id) == (of_shared.id, fork.id, shared.id)
    assert await store.check() == []


@pytest.mark.emptied
async def test_session_that_comes_back_has_its_versions_again(store: Store) -> None:
    session = await new_session(store)
    turn, made = await worked(store, session, text="Feed the zebra.", label="gnu")
    own = await new_version(store, session, made)
    records = [record async for record in store.archive.dump()]
    await store.sessions.delete(session.id)
    await store.versions.label(made.id, "okapi")
    assert await store.archive.load(records) == len(records) - 1, "the project was there"
    assert await store.versions.get([made.id, own.id]) == [replace(made, label="okapi"), own]
    assert await store.versions.of_turns([turn.id]) == [replace(made, label="okapi")]
    assert await store.versions.unversioned(session.id) == []
    (hit,) = await store.search.words(Query("zebra", session_id=session.id, kinds=(HitKind.VERSION,)))
    assert hit.id == made.id
    assert await store.archive.load(records) == 0
    assert await store.check() == []


async def test_version_of_a_turn_that_is_no_more_is_refused_once_only(store: Store) -> None:
    session = await new_session(store)
    turn = await said(store, session)
    version = a_version(session, turn_id=turn.id)
    await store.versions.add(version)
    await store.sessions.delete(session.id)
    # The same call repeated changes nothing, though what it names is gone.
    await store.versions.add(version)
    assert await store.versions.get([version.id]) == [replace(version, session_id="", turn_id="", title="")]
