"""Derived records: of any kind, of turns, sessions and projects."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain.derivations import Derived, DerivedFilter, DerivedKind, DerivedOwner, UnderivedFilter
from ragforge.domain.errors import Conflict, UsageError
from ragforge.domain.turns import Turn
from ragforge.store.base import Store
from tests.contract.builders import (
    NOON,
    a_derived,
    a_project,
    a_session,
    a_turn,
    an_end,
    conversation,
    new_session,
    said,
)


class Foresight(Struct, frozen=True):
    """What may come next."""

    next_step: str = ""


OF_TURN = DerivedKind("Foresight", Foresight)
OF_SESSION = DerivedKind("Foresight", Foresight, owner=DerivedOwner.SESSION)
OF_PROJECT = DerivedKind("Foresight", Foresight, owner=DerivedOwner.PROJECT)


async def found(store: Store, record: Derived) -> Derived | None:
    return next(iter(await store.derivations.get([record.id])), None)


async def lacking(store: Store, kind: DerivedKind[Any], project: str, **asked: Any) -> list[str]:
    return [
        each.owner
        for each in await store.derivations.lacking(UnderivedFilter(kind, project_id=project, **asked))
    ]


async def test_record_is_given_back_whole(store: Store) -> None:
    session = await new_session(store)
    turn = await said(store, session)
    record = a_derived(
        turn,
        project_id=session.project_id,
        model="gemini:a",
        hash="0" * 32,
        relation="MADE_AFTER",
        name="of the zebra/é",
        data={"a": [1, {"b": None}], "half": "x\ud800", "__": 1, "big": 2**80, "id": "mine"},
    )
    await store.derivations.save(record)
    kept = replace(record, data={**record.data, "half": "x\ufffd"})
    assert await store.derivations.get(["nowhere", record.id, record.id, "\ud800"]) == [kept]
    assert await store.derivations.find(DerivedFilter("Foresight", session.project_id)) == [kept]
    assert await store.derivations.find(DerivedFilter("foresight")) == []


async def test_rules_never_replace_what_a_model_made_of_the_same(store: Store) -> None:
    session = await new_session(store)
    by_model = a_derived(session, model="gemini:a", data={"n": 1})
    by_rules = replace(by_model, model="", data={"n": 2})
    for record, kept in ((by_rules, by_rules), (by_model, by_model), (by_rules, by_model)):
        await store.derivations.save(record)
        assert await found(store, record) == kept
    for record in (replace(by_rules, hash="otherwise"), replace(by_rules, at=NOON + timedelta(days=1))):
        await store.derivations.save(record)
        assert await found(store, record) == record


async def test_later_state_of_the_owner_counts(store: Store) -> None:
    session = await new_session(store)
    first = a_derived(session, data={"n": 1}, relation="MADE_OF")
    await store.derivations.save(first)
    again = replace(first, data={"n": 2}, relation="MADE_AFTER", hash="1")
    await store.derivations.save(again)
    assert await found(store, first) == again
    await store.derivations.save(replace(first, at=first.at - timedelta(seconds=1)))
    assert await found(store, first) == again
    assert await store.check() == []


async def test_record_that_no_store_keeps_is_refused(store: Store) -> None:
    session = await new_session(store)
    wrong: list[dict[str, Any]] = [
        *({"kind": kind} for kind in ("Memory", "Derived", "lower", "", "A b", "Á", "X" * 64)),
        *({"relation": relation} for relation in ("NEXT", "made", "", "A`]-()")),
        {"name": "x" * 201},
        {"data": {"x": "x" * 200_000}},
    ]
    for values in wrong:
        record = a_derived(session, **values)
        for keep in (store.derivations.save(record), store.archive.load([record])):
            with pytest.raises(UsageError):
                await keep
        assert await store.derivations.get([record.id]) == []


async def test_record_of_nothing_that_is_stored_is_refused(store: Store) -> None:
    session = await new_session(store)
    for of in (a_project(), a_session(session.project_id), a_turn(session)):
        record = a_derived(of, project_id=session.project_id)
        for keep in (store.derivations.save(record), store.archive.load([record])):
            with pytest.raises(Conflict):
                await keep


async def test_records_are_found_by_project_and_owner_the_newest_first(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 3)
    records = [a_derived(turn, project_id=session.project_id) for turn in turns]
    other = a_derived(turns[0], project_id=session.project_id, name="other")
    elsewhere = a_derived(await new_session(store))
    for record in (*records, other, elsewhere):
        await store.derivations.save(record)
    project = DerivedFilter("Foresight", session.project_id)
    assert await store.derivations.find(project) == [*records[:0:-1], records[0], other]
    assert await store.derivations.find(replace(project, limit=1)) == [records[2]]
    assert await store.derivations.find(replace(project, limit=-1)) == []
    owners = DerivedFilter("Foresight", owners=(turns[0].id, session.id, elsewhere.owner))
    assert await store.derivations.find(owners) == [records[0], other, elsewhere]


async def test_records_of_turns_that_are_left_are_left(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 2)
    records = [a_derived(turn, project_id=session.project_id) for turn in turns]
    for record in records:
        await store.derivations.save(record)
    wanted = DerivedFilter("Foresight", session.project_id)
    await store.sessions.set_head(session.id, turns[0].id)
    assert await store.derivations.find(wanted) == records[:1]
    assert await store.derivations.find(replace(wanted, abandoned=True)) == records[::-1]
    await store.sessions.set_head(session.id, turns[1].id)
    assert await store.derivations.find(wanted) == records[::-1]


async def test_turns_that_ended_lack_what_is_not_made_as_it_is_now(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 3)
    await store.turns.start(a_turn(session, "Go on.", parent=turns[-1]))
    project = session.project_id
    [last, *_] = await store.derivations.lacking(UnderivedFilter(OF_TURN, project_id=project))
    assert (last.owner, last.project_id, last.at) == (turns[2].id, project, an_end(turns[2]).ended_at)
    assert await lacking(store, OF_TURN, project) == [turn.id for turn in turns[::-1]]
    assert await lacking(store, OF_TURN, project, limit=2) == [turns[2].id, turns[1].id]
    assert await lacking(store, OF_TURN, "nowhere") == []

    record = OF_TURN.record(last, Foresight("Feed it."), model="gemini:a")
    await store.derivations.save(record)
    assert await lacking(store, OF_TURN, project) == [turns[1].id, turns[0].id]
    assert await lacking(store, OF_TURN, project, model="gemini:a") == [turns[1].id, turns[0].id]
    assert await lacking(store, OF_TURN, project, model="gemini:b", limit=1) == [last.owner]
    assert await lacking(store, replace(OF_TURN, recipe="otherwise"), project, limit=1) == [last.owner]
    assert await lacking(store, replace(OF_TURN, label="Hunch"), project, limit=1) == [last.owner]
    await store.derivations.save(
        replace(record, at=record.at - timedelta(seconds=1), name="of before its end")
    )
    assert await lacking(store, OF_TURN, project) == [turns[1].id, turns[0].id]


async def test_sessions_and_projects_lack_what_does_not_know_of_their_newest_turn(store: Store) -> None:
    session = await new_session(store)
    await new_session(store, a_project(id=session.project_id), last_activity_at=NOON - timedelta(hours=1))
    project = session.project_id
    turn: Turn | None = None
    for _ in range(2):
        for kind, owner in ((OF_SESSION, session.id), (OF_PROJECT, project)):
            due = {
                each.owner: each
                for each in await store.derivations.lacking(UnderivedFilter(kind, project_id=project))
            }
            await store.derivations.save(kind.record(due[owner], Foresight()))
            assert owner not in await lacking(store, kind, project)
        turn = await said(store, session, parent=turn)


async def test_only_archived_sessions_lack_a_record_where_that_is_asked(store: Store) -> None:
    session = await new_session(store)
    project = session.project_id
    other = await new_session(store, a_project(id=project))
    elsewhere = await new_session(store)
    for each in (session, elsewhere):
        await store.sessions.set_archived(each.id, NOON)
    assert set(await lacking(store, OF_SESSION, project)) == {session.id, other.id}
    assert await lacking(store, OF_SESSION, project, archived=True) == [session.id]
    everywhere = UnderivedFilter(OF_SESSION, archived=True, limit=100_000)
    assert {session.id, elsewhere.id} <= {each.owner for each in await store.derivations.lacking(everywhere)}
    await store.sessions.set_archived(session.id, None)
    assert await lacking(store, OF_SESSION, project, archived=True) == []


async def test_only_sessions_that_nobody_touched_lack_a_record_where_that_is_asked(store: Store) -> None:
    session = await new_session(store)
    project = session.project_id
    await new_session(store, a_project(id=project), last_activity_at=NOON + timedelta(minutes=1))
    await store.sessions.set_archived((await new_session(store)).id, NOON)
    assert await lacking(store, OF_SESSION, project, untouched_since=NOON) == []
    later = NOON + timedelta(seconds=1)
    assert await lacking(store, OF_SESSION, project, untouched_since=later) == [session.id]
    assert await lacking(store, OF_SESSION, project, untouched_since=later, archived=True) == []


async def test_forgotten_record_is_kept_and_not_made_anew(store: Store) -> None:
    session = await new_session(store)
    turn = await said(store, session)
    wanted = DerivedFilter("Foresight", session.project_id)
    [due] = await store.derivations.lacking(UnderivedFilter(OF_TURN, project_id=session.project_id))
    record = OF_TURN.record(due, Foresight("Feed it."))
    await store.derivations.save(record)
    for at in (NOON, NOON + timedelta(days=1)):
        await store.derivations.forget([record.id, "nowhere"], at)
        assert await store.derivations.get([record.id]) == [replace(record, forgotten_at=NOON)]
    assert await store.derivations.find(wanted) == []
    assert await lacking(store, replace(OF_TURN, recipe="otherwise"), session.project_id) == []
    again = replace(record, data={"next_step": "Brush it."})
    await store.derivations.save(again)
    forgotten = await store.derivations.find(replace(wanted, forgotten=True))
    assert forgotten == [replace(again, forgotten_at=NOON)]
    await store.derivations.restore([record.id, "nowhere"])
    assert await store.derivations.find(wanted) == [again]
    assert again.owner == turn.id


async def test_record_goes_with_its_owner_or_to_whoever_has_it_then(store: Store) -> None:
    session = await new_session(store)
    shared = await said(store, session)
    own = await said(store, session, parent=shared)
    fork = await new_session(store, head=shared.id, forked_from=session.id)
    project = a_project(id=session.project_id)
    records = [
        *(a_derived(turn, project_id=project.id) for turn in (shared, own)),
        a_derived(session),
        a_derived(project),
    ]
    for record in records:
        await store.derivations.save(record)
    await store.sessions.delete(session.id)
    kept = [replace(records[0], project_id=fork.project_id), records[3]]
    assert await store.derivations.get([record.id for record in records]) == kept
    assert await store.check() == []


async def test_loaded_record_takes_the_place_of_one_of_an_earlier_state(store: Store) -> None:
    session = await new_session(store)
    record = a_derived(session, data={"n": 1})
    await store.derivations.save(record)
    newer = replace(record, at=record.at + timedelta(seconds=1), data={"n": 2}, forgotten_at=NOON)
    for loaded, expected, count in (
        (replace(record, data={"n": 3}), record, 0),
        (newer, newer, 1),
        (record, newer, 0),
    ):
        assert await store.archive.load([loaded]) == count
        assert await found(store, record) == expected
