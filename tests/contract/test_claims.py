import asyncio
import os
from datetime import timedelta
from pathlib import Path

import pytest

from ragforge.domain.errors import Conflict, SessionBusy, StoreUnavailable
from ragforge.domain.ids import now
from ragforge.domain.search import Query
from ragforge.domain.turns import NOT_ENDED, CallStatus, TurnStatus
from ragforge.domain.usage import Usage
from ragforge.domain.vectors import OwnerKind
from ragforge.store.base import Store
from ragforge.store.sqlite.claims import FileClaim
from tests.contract.builders import (
    DIMENSIONS,
    a_call,
    a_project,
    a_request,
    a_session,
    a_step,
    a_turn,
    new_session,
    owners_of,
    said,
)
from tests.contract.builders_vectors import MODEL
from tests.contract.conftest import Opener
from tests.disks import small_disk


async def test_second_writer_is_refused_and_told_who_writes(store: Store, opener: Opener) -> None:
    session = await new_session(store)
    await store.sessions.claim(session.id)
    for other in (store, await opener()):
        with pytest.raises(SessionBusy) as refused:
            await other.sessions.claim(session.id)
        assert str(os.getpid()) in refused.value.holder
        assert session.id[-8:] in str(refused.value)


async def test_released_session_can_be_claimed_again(store: Store, opener: Opener) -> None:
    session = await new_session(store)
    other = await opener()
    for writer in (store, other, store):
        claim = await writer.sessions.claim(session.id)
        await claim.release()
        await claim.release()


async def test_releasing_twice_does_not_end_the_next_claim(store: Store, opener: Opener) -> None:
    session = await new_session(store)
    old = await store.sessions.claim(session.id)
    await old.release()
    await store.sessions.claim(session.id)
    await old.release()
    with pytest.raises(SessionBusy):
        await (await opener()).sessions.claim(session.id)


async def test_closing_the_store_ends_its_claims(store: Store, opener: Opener) -> None:
    session = await new_session(store)
    other = await opener()
    await other.sessions.claim(session.id)
    await other.close()
    await store.sessions.claim(session.id)


async def test_sessions_are_claimed_apart_from_each_other(store: Store) -> None:
    first, second = await new_session(store), await new_session(store)
    await store.sessions.claim(first.id)
    await store.sessions.claim(second.id)


async def test_of_many_who_claim_at_once_one_wins(store: Store, opener: Opener) -> None:
    session = await new_session(store)
    others = [await opener() for _ in range(6)]
    answers = await asyncio.gather(
        *(other.sessions.claim(session.id) for other in others), return_exceptions=True
    )
    assert sum(isinstance(answer, SessionBusy) for answer in answers) == 5


async def test_turn_of_a_dead_writer_becomes_interrupted_with_what_it_had(store: Store) -> None:
    session = await new_session(store)
    done = await said(store, session)
    turn = a_turn(session, "Fix the zebra.", parent=done)
    await store.turns.start(turn)
    for index, text in enumerate(("First I look at the okapi.", "", "Then I act.")):
        step = a_step(turn, index, text, a_request())
        await store.calls.add(a_call(step), step)

    await store.sessions.claim(session.id)

    found = await store.turns.get(turn.id)
    assert found is not None
    assert found.status is TurnStatus.INTERRUPTED
    assert found.assistant == "First I look at the okapi.\n\nThen I act."
    assert found.ended_at is not None
    assert (found.usage, found.cost_usd) == (Usage(300, 120, 30, 15), 0.75)
    assert len(await store.calls.of_turns([turn.id])) == 3
    assert turn.id in {hit.id for hit in await store.search.words(Query("okapi", session.project_id))}
    untouched = await store.turns.get(done.id)
    assert untouched is not None
    assert untouched.status is TurnStatus.FINISHED


async def test_a_turn_of_a_dead_writer_does_not_end_before_it_began(
    store: Store,
) -> None:
    session = await new_session(store)
    turn = a_turn(session, started_at=now() + timedelta(hours=9))
    await store.turns.start(turn)
    await store.sessions.claim(session.id)
    found = await store.turns.get(turn.id)
    assert found is not None
    assert (found.status, found.ended_at) == (TurnStatus.INTERRUPTED, turn.started_at)


async def test_a_turn_of_a_dead_writer_is_still_to_be_summarised_and_embedded(store: Store) -> None:
    session = await new_session(store)
    turn = a_turn(session)
    await store.turns.start(turn)
    await store.turns.save_step(a_step(turn))
    await store.vectors.use(MODEL, DIMENSIONS)
    project_id = session.project_id
    # Global memories, which are in every project, may be another test's.
    others = await store.vectors.lacking(MODEL, project_id=project_id)
    assert {each.kind for each in others} <= {OwnerKind.MEMORY}
    await store.sessions.claim(session.id)
    assert [each.id for each in await store.summaries.lacking(project_id=project_id)] == [turn.id]
    lacking = await store.vectors.lacking(MODEL, project_id=project_id)
    assert [each for each in lacking if each not in others] == owners_of([turn])


async def test_calls_of_a_dead_writer_that_never_ended_become_interrupted(store: Store) -> None:
    session = await new_session(store)
    turn = a_turn(session)
    await store.turns.start(turn)
    first = a_step(turn, 0, "", a_request("shell", command="aardvark --all"), a_request("read", path="a"))
    other = a_step(turn, 1, "", a_request("edit"), a_request("write", path="okapi.txt"))
    broken = a_step(turn, 2, "half", a_request(), interrupted=True)
    for step in (first, other, broken):
        await store.turns.save_step(step)
    kept = a_call(first, position=1)
    await store.calls.add(kept, first)

    await store.sessions.claim(session.id)

    calls = await store.calls.of_turns([turn.id])
    asked = [*first.message.calls, *other.message.calls]
    assert [(call.id, call.name, call.args) for call in calls] == [(a.id, a.name, a.args) for a in asked]
    assert [call.status for call in calls] == [
        CallStatus.INTERRUPTED, CallStatus.OK, CallStatus.INTERRUPTED, CallStatus.INTERRUPTED
    ]  # fmt: skip
    assert calls[1] == kept
    assert {call.result for call in calls} - {kept.result} == {NOT_ENDED}
    assert calls[0].id in {hit.id for hit in await store.search.words(Query("aardvark", session.project_id))}
    assert turn.id in {hit.id for hit in await store.search.words(Query("okapi", session.project_id))}


async def test_turn_that_waits_for_consent_goes_on_waiting(store: Store) -> None:
    session = await new_session(store)
    turn = a_turn(session)
    await store.turns.start(turn)
    await store.turns.save_step(a_step(turn, 0, "", a_request()), waits=True)
    await store.sessions.claim(session.id)
    found = await store.turns.get(turn.id)
    assert found is not None
    assert found.status is TurnStatus.WAITING


async def test_running_turn_of_another_session_is_left_alone(store: Store) -> None:
    session, other = await new_session(store), await new_session(store)
    turn = a_turn(other)
    await store.turns.start(turn)
    await store.sessions.claim(session.id)
    found = await store.turns.get(turn.id)
    assert found is not None
    assert found.status is TurnStatus.RUNNING


async def test_session_that_is_not_stored_cannot_be_claimed(store: Store) -> None:
    project = a_project()
    await store.projects.add(project)
    session = a_session(project.id)
    with pytest.raises(Conflict):
        await store.sessions.claim(session.id)
    # Nobody holds it for that.
    await store.sessions.add(session)
    await store.sessions.claim(session.id)


def test_a_full_disk_is_told_as_such(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", size="256k"):
        room = os.statvfs(tmp_path / "disk")
        (tmp_path / "disk" / "ballast").write_bytes(b"x" * (room.f_bavail * room.f_frsize))
        with pytest.raises(
            StoreUnavailable, match=r"No space left on device\. Free some space and try again"
        ):
            FileClaim.take(tmp_path / "disk" / "locks", "a")
