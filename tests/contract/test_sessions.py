from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from ragforge.domain.errors import Conflict, RagforgeError
from ragforge.domain.messages import ImagePart, TextPart
from ragforge.domain.turns import ConversationSession
from ragforge.store.base import Store
from ragforge.store.base_conversations import Deleted
from tests.contract.builders import NOON, a_project, a_session, conversation, new_session, said


async def test_unknown_session_is_none(store: Store) -> None:
    assert await store.sessions.get("nowhere") is None


async def test_session_of_an_unknown_project_is_refused(store: Store) -> None:
    with pytest.raises(Conflict):
        await store.sessions.add(a_session("nowhere"))


async def named(store: Store, session: ConversationSession) -> ConversationSession:
    found = await store.sessions.get(session.id)
    assert found is not None
    return found


async def test_adding_twice_does_not_undo_a_rename(store: Store) -> None:
    session = await new_session(store)
    await store.sessions.rename(session.id, "Parser")
    await store.sessions.add(session)
    assert (await named(store, session)).title == "Parser"


async def test_title_model_and_mode_are_remembered(store: Store) -> None:
    session = await new_session(store)
    await store.sessions.rename(session.id, "Parser")
    await store.sessions.set_model(session.id, "local:search")
    await store.sessions.set_mode(session.id, "accept-edits")
    found = await named(store, session)
    assert found.changed_at
    assert found == replace(
        session, changed_at=found.changed_at, title="Parser", model="local:search", mode="accept-edits"
    )


async def test_an_archived_session_is_not_among_the_others(store: Store) -> None:
    archived = await new_session(store)
    project, sessions = await store.projects.get(archived.project_id), store.sessions
    other = await new_session(store, project)
    await said(store, archived)
    await sessions.set_archived(archived.id, NOON)
    found = await sessions.get(archived.id)
    assert found is not None
    assert found.archived_at == NOON

    async def ids(**wanted: Any) -> set[str]:
        rows = await sessions.recent(project_id=archived.project_id, **wanted)
        return {row.session.id for row in rows}

    assert await ids() == {archived.id, other.id}
    assert await ids(archived=True) == await ids(archived=True, with_id_part=archived.id) == {archived.id}
    assert await ids(archived=False) == {other.id}
    await sessions.set_archived(archived.id, None)
    assert await ids(archived=True) == set()
    assert (await named(store, archived)).archived_at is None


async def test_sessions_of_others_are_those_of_which_it_is_known_who_began_them(store: Store) -> None:
    hers, his, unknown = [await new_session(store, person=person) for person in ("ada", "bob", "")]
    found = await store.sessions.of_others("ada")
    assert found.isdisjoint({hers.id, unknown.id})
    assert his.id in found
    assert await store.sessions.of_others("ada", project_id=his.project_id) == {his.id}
    assert await store.sessions.of_others("bob", project_id=his.project_id) == set()


async def test_changing_a_session_that_is_gone_is_refused(store: Store) -> None:
    for change in (
        store.sessions.rename("nowhere", "x"),
        store.sessions.set_model("nowhere", "x"),
        store.sessions.set_mode("nowhere", "x"),
        store.sessions.set_head("nowhere", None),
        store.sessions.set_archived("nowhere", NOON),
    ):
        with pytest.raises(Conflict):
            await change


async def test_head_moves_and_nothing_is_removed(store: Store) -> None:
    session = await new_session(store)
    first, second = await conversation(store, session, 2)
    await store.sessions.set_head(session.id, first.id)
    found = await store.sessions.get(session.id)
    assert found is not None
    assert found.head == first.id
    assert await store.turns.get(second.id) is not None
    await store.sessions.set_head(session.id, None)
    found = await store.sessions.get(session.id)
    assert found is not None
    assert found.head is None


async def test_head_on_a_turn_that_is_not_stored_is_refused(store: Store) -> None:
    session = await new_session(store)
    turn = await said(store, session)
    with pytest.raises(Conflict):
        await store.sessions.set_head(session.id, "nowhere")
    found = await store.sessions.get(session.id)
    assert found is not None
    assert found.head == turn.id


@pytest.mark.emptied
async def test_recent_lists_the_last_active_first_with_turns_and_last_message(store: Store) -> None:
    quiet = await new_session(store, last_activity_at=NOON - timedelta(days=2))
    busy = await new_session(store, last_activity_at=NOON - timedelta(days=3))
    turns = await conversation(store, busy, 3)
    rows = await store.sessions.recent()
    assert [row.session.id for row in rows] == [busy.id, quiet.id]
    assert (rows[0].turns, rows[0].last_message) == (3, "Question 2.")
    assert rows[0].session.last_activity_at == turns[-1].started_at + timedelta(seconds=9)
    assert (rows[1].turns, rows[1].last_message) == (0, "")


async def test_recent_counts_the_turns_of_the_path_not_those_an_undo_left(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 4)
    await store.sessions.set_head(session.id, turns[1].id)
    (row,) = await store.sessions.recent(project_id=session.project_id)
    assert (row.turns, row.last_message) == (2, "Question 1.")


async def test_last_message_is_cut_and_names_its_images(store: Store) -> None:
    session = await new_session(store)
    first = await said(store, session, "word " * 1000)
    (row,) = await store.sessions.recent(project_id=session.project_id)
    assert row.last_message == ("word " * 1000)[:200]
    await said(
        store, session, parent=first, user=(ImagePart("ab" * 32, "image/png", "shot.png"), TextPart("What?"))
    )
    (row,) = await store.sessions.recent(project_id=session.project_id)
    assert row.last_message == "[image shot.png]\nWhat?"


@pytest.mark.emptied
async def test_recent_keeps_to_project_part_of_id_and_limit(store: Store) -> None:
    project = a_project()
    await store.projects.add(project)
    mine = [await new_session(store, project) for _ in range(3)]
    other = await new_session(store)
    assert {row.session.id for row in await store.sessions.recent(project_id=project.id)} == {
        session.id for session in mine
    }
    assert await store.sessions.recent(project_id="nowhere") == []
    assert [row.session.id for row in await store.sessions.recent(with_id_part=other.id[-8:])] == [other.id]
    assert [row.session.id for row in await store.sessions.recent(with_id_part=other.id[-8:].upper())] == [
        other.id
    ]
    assert [row.session.id for row in await store.sessions.recent(with_id_part=other.id[-8:-2])] == [other.id]
    assert [row.session.id for row in await store.sessions.recent(with_id_part=other.id)] == [other.id]
    assert await store.sessions.recent(with_id_part="%") == []
    assert len(await store.sessions.recent(limit=2)) == 2
    assert await store.sessions.recent(limit=0) == []


@pytest.mark.emptied
async def test_id_that_nothing_has_is_told_so(store: Store) -> None:
    session = await new_session(store)
    turn = await said(store, session)
    sessions, turns = store.sessions, store.turns
    for wrong in ("", "../../etc/passwd", "\x00", "\ud83d", "x" * 5000, "'; --"):
        for ask in (sessions.get, turns.get, store.projects.get, turns.path, sessions.delete):
            # Either nothing is there, or a sentence says so; any other exception fails the test.
            with suppress(RagforgeError):
                assert await ask(wrong) in (None, [], Deleted(0, 0, 0))
        for change in (store.sessions.rename(wrong, "x"), store.sessions.set_head(session.id, wrong)):
            with pytest.raises(Conflict):
                await change
        assert await store.turns.steps([wrong]) == []
    assert await store.turns.path(turn.id) != []
    assert await store.check() == []


async def test_a_clock_that_was_set_back_makes_no_session_less_recent(store: Store) -> None:
    session = await new_session(store)
    newest = await said(store, session, started_at=NOON + timedelta(days=1))
    await said(store, session, parent=newest, started_at=NOON)
    found = await store.sessions.get(session.id)
    assert found is not None
    assert found.last_activity_at >= newest.started_at
