import pytest

from ragforge.domain.errors import SessionBusy
from ragforge.domain.search import Query
from ragforge.domain.usage import StatisticsGroup
from ragforge.store.base import Store
from ragforge.store.base_conversations import Deleted
from tests.contract.builders import (
    DIMENSIONS,
    NOON,
    a_call,
    a_project,
    a_request,
    a_spending,
    a_step,
    a_turn,
    conversation,
    new_session,
    owner_of,
    said,
)
from tests.contract.builders_vectors import MODEL
from tests.contract.conftest import Opener


@pytest.mark.emptied
async def test_deleted_session_is_gone_with_its_turns_and_calls(store: Store) -> None:
    session = await new_session(store)
    turn = a_turn(session, "zebra")
    await store.turns.start(turn)
    step = a_step(turn, 0, "", a_request())
    await store.calls.add(a_call(step), step)
    assert await store.sessions.delete(session.id) == Deleted(turns=1, kept_turns=0, tool_calls=1)
    assert await store.sessions.get(session.id) is None
    assert await store.turns.get(turn.id) is None
    assert await store.turns.steps([turn.id]) == []
    assert await store.calls.of_turns([turn.id]) == []
    assert await store.search.words(Query("zebra parser")) == []
    assert await store.check() == []


async def test_what_a_deleted_session_cost_stays_by_user_model_and_day(store: Store) -> None:
    project = a_project()
    await store.projects.add(project)
    session, other = await new_session(store, project), await new_session(store, project)
    for each, person in ((session, "ada@example.org"), (other, "bob@example.org")):
        turn = a_turn(each, "zebra", person=person)
        await store.turns.start(turn)
        for number in range(2):
            await store.turns.save_step(a_step(turn, number))
        await store.usage.add(a_spending(each, person=person))

    async def sums() -> list[object]:
        usage = store.usage
        days = await usage.statistics(StatisticsGroup.DAY, project_id=project.id)
        return [
            await usage.by_model(project_id=project.id),
            await usage.by_model(project_id=project.id, since=NOON, person="ada@example.org"),
            await usage.by_person(project_id=project.id),
            [(each.name, each.calls, each.usage, each.cost_usd) for each in days],
        ]

    before = await sums()
    await store.sessions.delete(session.id)
    assert await sums() == before
    assert await store.usage.by_session([session.id]) == {session.id: 0.625}


async def test_dry_run_says_what_would_go_and_removes_nothing(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 3)
    fork = await new_session(store, head=turns[1].id, forked_from=session.id)
    assert await store.sessions.delete(session.id, dry_run=True) == Deleted(1, 2, 0)
    assert len(await store.turns.path(turns[-1].id)) == 3
    assert await store.sessions.delete(fork.id, dry_run=True) == Deleted(0, 0, 0)


async def test_deleting_what_is_not_there_removes_nothing(store: Store) -> None:
    assert await store.sessions.delete("nowhere") == Deleted(0, 0, 0)


@pytest.mark.emptied
async def test_turns_on_the_path_of_a_fork_survive_whole_and_go_to_it(store: Store) -> None:
    session = await new_session(store)
    shared = a_turn(session, "zebra")
    await store.turns.start(shared)
    step = a_step(shared, 0, "", a_request("read", path="giraffe.py"))
    await store.calls.add(a_call(step), step)
    left = await said(store, session, "left behind", parent=shared)
    fork = await new_session(store, head=shared.id, forked_from=session.id)
    own = await said(store, fork, "its own way", parent=shared)

    assert await store.sessions.delete(session.id) == Deleted(turns=1, kept_turns=1, tool_calls=0)

    path = await store.turns.path(own.id)
    assert [turn.id for turn in path] == [shared.id, own.id]
    assert {turn.session_id for turn in path} == {fork.id}
    assert await store.turns.steps([shared.id]) == [step]
    assert len(await store.calls.of_turns([shared.id])) == 1
    assert await store.turns.get(left.id) is None
    for words in ("zebra", "giraffe"):
        for query in (
            Query(words),
            Query(words, session_id=fork.id),
            Query(words, project_id=fork.project_id),
        ):
            hits = await store.search.words(query)
            assert {(hit.session_id, hit.turn_id) for hit in hits} >= {(fork.id, shared.id)}
    assert await store.search.words(Query("zebra", project_id=session.project_id)) == []
    assert await store.check() == []


async def test_a_result_is_found_in_the_session_that_its_turn_goes_to(store: Store) -> None:
    session = await new_session(store)
    turn = a_turn(session)
    await store.turns.start(turn)
    step = a_step(turn, 0, "", a_request())
    call = a_call(step, result="The okapi is striped.")
    await store.calls.add(call, step)
    fork = await new_session(store, head=turn.id, forked_from=session.id)
    assert await store.sessions.delete(session.id) == Deleted(turns=0, kept_turns=1, tool_calls=0)
    for query in (
        Query("okapi", session_id=fork.id, project_id=fork.project_id),
        Query("okapi", project_id=fork.project_id),
    ):
        assert call.id in {hit.id for hit in await store.search.words(query)}
    assert await store.search.words(Query("okapi", project_id=session.project_id)) == []


@pytest.mark.emptied
async def test_turns_under_an_undone_turn_of_a_fork_keep_their_root(store: Store) -> None:
    session = await new_session(store)
    (root,) = await conversation(store, session, 1)
    fork = await new_session(store, head=root.id)
    undone = await said(store, fork, parent=root)
    await store.sessions.set_head(fork.id, None)
    assert await store.sessions.delete(session.id) == Deleted(0, 1, 0)
    assert len(await store.turns.path(undone.id)) == 2
    assert await store.check() == []


@pytest.mark.emptied
async def test_the_last_of_two_forks_takes_the_shared_turns_with_it(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 3)
    forks = [await new_session(store, head=turns[1].id) for _ in range(2)]
    assert await store.sessions.delete(session.id) == Deleted(1, 2, 0)
    assert await store.sessions.delete(forks[0].id) == Deleted(0, 2, 0)
    assert await store.sessions.delete(forks[1].id) == Deleted(2, 0, 0)
    assert await store.turns.get(turns[0].id) is None
    assert await store.check() == []


async def test_deleting_a_long_session_with_a_fork_at_its_end_keeps_it_all(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 40)
    await new_session(store, head=turns[-1].id)
    assert await store.sessions.delete(session.id) == Deleted(0, 40, 0)
    assert len(await store.turns.path(turns[-1].id)) == 40


async def test_session_that_another_writes_is_not_deleted(store: Store, opener: Opener) -> None:
    session = await new_session(store)
    claim = await (await opener()).sessions.claim(session.id)
    with pytest.raises(SessionBusy):
        await store.sessions.delete(session.id)
    assert await store.sessions.get(session.id) is not None
    await claim.release()
    await store.sessions.delete(session.id)
    assert await store.sessions.get(session.id) is None


async def test_what_turns_lack_is_known_in_the_session_that_they_go_to(store: Store) -> None:
    session = await new_session(store)
    (turn,) = await conversation(store, session, 1)
    fork = await new_session(store, head=turn.id, forked_from=session.id)
    await store.sessions.delete(session.id)
    lacking = await store.summaries.lacking(project_id=fork.project_id)
    assert [(each.id, each.session_id) for each in lacking] == [(turn.id, fork.id)]
    await store.vectors.use(MODEL, DIMENSIONS)
    assert await store.vectors.lacking(MODEL, project_id=fork.project_id) == [owner_of(turn)]
    assert await store.summaries.lacking(project_id=session.project_id) == []


async def test_session_can_be_deleted_by_its_own_writer(store: Store) -> None:
    session = await new_session(store)
    claim = await store.sessions.claim(session.id)
    await store.sessions.delete(session.id)
    assert await store.sessions.get(session.id) is None
    await claim.release()


@pytest.mark.emptied
async def test_turns_that_only_a_deleted_fork_stood_on_are_left(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 3)
    fork = await new_session(store, head=turns[1].id, forked_from=session.id)
    own = await said(store, fork, "Elsewhere.", parent=turns[1])
    await store.sessions.set_head(session.id, turns[0].id)
    assert await store.turns.abandoned([turn.id for turn in turns]) == {turns[2].id}
    await store.sessions.delete(fork.id)
    assert await store.turns.get(own.id) is None
    assert await store.turns.abandoned([turn.id for turn in turns]) == {turns[1].id, turns[2].id}
    assert await store.check() == []
