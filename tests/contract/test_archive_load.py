"""Records that are loaded: all of them or none, in any batches, and what is done with them then."""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from msgspec.structs import replace

from ragforge.domain.derivations import DerivedFilter
from ragforge.domain.errors import Conflict, UsageError
from ragforge.domain.memories import (
    Memory,
    MemoryFilter,
)
from ragforge.domain.search import Query
from ragforge.domain.turns import ConversationSession, Project, Turn, TurnStatus
from ragforge.domain.vectors import Nearby
from ragforge.store.base import Record, Store
from tests.contract.builders import (
    DIMENSIONS,
    a_call,
    a_memory,
    a_project,
    a_request,
    a_session,
    a_step,
    a_summary,
    a_turn,
    a_vector,
    an_association,
    an_embedding,
    conversation,
    new_session,
    said,
)
from tests.contract.builders_archive import MODEL, dumped, history
from tests.contract.builders_versions import a_branch, a_move, a_version


@pytest.mark.emptied
async def test_loaded_store_is_the_same_and_loading_again_changes_nothing(
    source: Store, store: Store
) -> None:
    session = await history(source)
    records = await dumped(source)
    assert await store.archive.load(records) == len(records)
    assert await dumped(store) == records
    assert await store.archive.load(records) == 0
    assert await dumped(store) == records
    assert await source.archive.load(records) == 0, "into the store that it is from"
    assert await store.check() == []

    looked_for = "zebra okapi kept left gnu hay straw keeper read wednesday quagga tapir"
    for words in looked_for.split():
        query = Query(words, project_id=session.project_id)
        hits = {hit.id for hit in await source.search.words(query)}
        assert hits
        assert {hit.id for hit in await store.search.words(query)} == hits
    assert await store.summaries.lacking() == await source.summaries.lacking()
    nearby = Nearby(a_vector(1, 0), MODEL, project_id=session.project_id)
    await store.vectors.use(MODEL, DIMENSIONS)
    found, expected = [await each.vectors.nearest(nearby) for each in (store, source)]
    assert [near.owner for near in found] == [near.owner for near in expected]
    assert [near.score for near in found] == pytest.approx([near.score for near in expected], abs=1e-3)
    assert {*await store.vectors.lacking(MODEL)} == {*await source.vectors.lacking(MODEL)}
    everything = MemoryFilter(forgotten=True, replaced=True, abandoned=True)
    assert await store.memories.find(everything) == await source.memories.find(everything)
    assert await store.usage.by_model() == await source.usage.by_model()
    foresights = DerivedFilter("Foresight", forgotten=True, abandoned=True)
    assert await store.derivations.find(foresights) == await source.derivations.find(foresights) != []
    turns = [record.id for record in records if isinstance(record, Turn)]
    assert await store.turns.abandoned(turns) == await source.turns.abandoned(turns)
    for got, wanted in (
        (store.versions.rows, source.versions.rows),
        (store.versions.branches, source.versions.branches),
        (store.versions.moves, source.versions.moves),
    ):
        assert await got(session.project_id) == await wanted(session.project_id) != []
    assert await store.versions.of_turns(turns) == await source.versions.of_turns(turns)


@pytest.mark.parametrize(
    "size", [1, *(pytest.param(size, marks=pytest.mark.long_on_servers) for size in (2, 5))]
)
@pytest.mark.emptied
async def test_batches_may_be_cut_anywhere(source: Store, store: Store, size: int) -> None:
    session = await history(source)
    records = await dumped(source)
    counts = [await store.archive.load(records[at : at + size]) for at in range(0, len(records), size)]
    assert sum(counts) == len(records)
    assert await dumped(store) == records
    assert await store.check() == []
    # A turn is found by what was said just before and after it, and by the files of its calls.
    for words in ("zebra", "okapi", "kept", "gnu"):
        query = Query(words, project_id=session.project_id)
        hits = [await each.search.words(query) for each in (store, source)]
        found, expected = ({hit.id for hit in each} for each in hits)
        assert found == expected != set()


@pytest.mark.emptied
async def test_half_an_archive_leaves_a_store_that_can_be_used(source: Store, store: Store) -> None:
    session = await history(source)
    records = await dumped(source)
    sessions = [record for record in records if isinstance(record, Project | ConversationSession)]
    await store.archive.load(sessions)
    found = await store.sessions.get(session.id)
    assert found is not None
    assert (found.title, await store.turns.path(found.head)) == ("Animals", [])
    await store.archive.load(records)
    assert await store.sessions.get(session.id) == await source.sessions.get(session.id)


@pytest.mark.emptied
async def test_conversation_goes_on_after_loading(source: Store, store: Store) -> None:
    session = await new_session(source)
    turns = await conversation(source, session, 2)
    await store.archive.load(await dumped(source))
    claim = await store.sessions.claim(session.id)
    turn = await said(store, session, "And now?", parent=turns[-1])
    await claim.release()
    assert [each.id for each in await store.turns.path(turn.id)] == [*(t.id for t in turns), turn.id]
    found = await store.sessions.get(session.id)
    assert found is not None
    assert found.head == turn.id
    # The older copy comes again: nothing is taken back.
    assert await store.archive.load(await dumped(source)) == 0
    assert await store.sessions.get(session.id) == found
    assert await store.check() == []


async def test_turns_that_come_after_their_memory_are_its_evidence(source: Store, store: Store) -> None:
    session = await new_session(source)
    turn = await said(source, session)
    memory = a_memory(session, "Uses tabs.", turn)
    await source.memories.save(memory)
    await source.sessions.set_head(session.id, None)
    records = await dumped(source)
    (undone,) = [record for record in records if isinstance(record, Memory)]
    early = [record for record in records if isinstance(record, Project | Memory)]
    await store.archive.load(early)
    (found,) = await store.memories.get([memory.id])
    assert (found.turns, found.abandoned) == ((turn.id,), False), "nobody knows yet where the turn lies"
    await store.archive.load(records)
    assert await store.memories.get([memory.id]) == [undone]
    assert undone.abandoned


@pytest.mark.emptied
async def test_record_that_rests_on_nothing_is_refused_by_name_and_nothing_is_kept(store: Store) -> None:
    project = a_project()
    await store.projects.add(project)
    session = a_session(project.id)
    turn = a_turn(session)
    step = a_step(turn, 0, "", a_request())
    orphans: list[tuple[Sequence[Record], str]] = [
        ([a_session("no-project")], "no-project"),
        ([turn], session.id),
        ([session, a_turn(session, parent=turn)], turn.id),
        ([session, replace(turn, index=3)], turn.id),
        ([step], turn.id),
        ([session, turn, a_call(step)], turn.id),
        ([a_summary(session, "of no session", turn)], session.id),
        ([a_memory(a_project(id="no-project"))], "no-project"),
        (
            [a_memory(project), an_association(a_memory(project), a_memory(project, "gone"))],
            a_memory(project, "gone").id,
        ),
        ([a_version(a_project(id="no-project"))], "no-project"),
        ([a_version(session)], session.id),
        ([a_version(project, turn_id=turn.id)], turn.id),
        ([a_version(project, a_version(project, id="no-parent"))], "no-parent"),
        ([a_branch(a_version(project, id="no-version"))], "no-version"),
        ([a_move(a_project(id="no-project"))], "no-project"),
    ]
    for records, missing in orphans:
        with pytest.raises(Conflict, match=missing):
            await store.archive.load(records)
    assert await dumped(store) == [project]


async def test_damaged_vector_is_refused_and_nothing_is_kept(store: Store) -> None:
    session = await new_session(store)
    turn = a_turn(session)
    with pytest.raises(UsageError):
        await store.archive.load([turn, an_embedding(turn, 0, 0)])
    assert await store.turns.get(turn.id) is None


async def test_unfinished_turn_is_carried_as_it_stands(source: Store, store: Store) -> None:
    session = await new_session(source)
    turn = a_turn(session, started_at=session.started_at + timedelta(days=1))
    await source.turns.start(turn)
    await store.archive.load(await dumped(source))
    found = await store.turns.get(turn.id)
    assert found is not None
    assert (found.status, found.ended_at) == (TurnStatus.RUNNING, None)
    claim = await store.sessions.claim(session.id)
    found = await store.turns.get(turn.id)
    assert found is not None
    assert found.status is TurnStatus.INTERRUPTED
    await claim.release()
