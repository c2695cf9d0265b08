"""Records of what is there already: which takes the place of which."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from ragforge.domain.search import Query
from ragforge.domain.summaries import SummaryMethod
from ragforge.domain.versions import CheckoutLog
from ragforge.store.archive_file import Closing, Header, read_backup
from ragforge.store.archive_items import Blob
from ragforge.store.base import Record, Store
from ragforge.store.open import open_store
from tests.contract.builders import (
    NOON,
    a_call,
    a_memory,
    a_project,
    a_request,
    a_spending,
    a_step,
    a_summary,
    a_turn,
    a_vector,
    an_association,
    an_embedding,
    an_end,
    conversation,
    new_session,
    said,
)
from tests.contract.builders_archive import FORMAT_2, dumped
from tests.contract.builders_versions import a_branch, a_move, a_version, an_operation


@pytest.fixture
async def source(tmp_path: Path) -> AsyncIterator[Store]:
    """An empty store on this machine, to load from."""
    store = await open_store(f"sqlite://{tmp_path}/source.db", machine_dir=tmp_path / "source")
    yield store
    await store.close()


async def test_newer_session_takes_the_place_of_the_older(source: Store, store: Store) -> None:
    session = await new_session(source, title="old")
    await store.archive.load(await dumped(source))
    await source.sessions.rename(session.id, "new")
    await source.sessions.set_mode(session.id, "all")
    assert await store.archive.load(await dumped(source)) == 1
    found = await store.sessions.get(session.id)
    assert found is not None
    assert (found.title, found.mode) == ("new", "ask")
    await source.sessions.set_archived(session.id, NOON)
    assert await store.archive.load(await dumped(source)) == 1
    found = await store.sessions.get(session.id)
    assert found is not None
    assert found.archived_at == NOON
    await store.sessions.rename(session.id, "named there since")
    assert await store.archive.load(await dumped(source)) == 0, "the newer name holds"
    await source.sessions.set_archived(session.id, None)
    turn = await said(source, session)
    assert await store.archive.load(await dumped(source)) == 2
    found = await store.sessions.get(session.id)
    assert found == await source.sessions.get(session.id)
    assert found is not None
    assert (found.title, found.mode, found.head) == ("new", "all", turn.id)


async def test_session_that_is_added_again_stays_as_it_was_loaded(store: Store) -> None:
    session = await new_session(store, started_at=NOON, last_activity_at=NOON)
    loaded = replace(session, title="Loaded.", last_activity_at=NOON + timedelta(hours=1))
    await store.archive.load([loaded])
    await store.sessions.add(session)
    assert await store.sessions.get(session.id) == loaded


@pytest.mark.emptied
async def test_turn_that_ended_later_takes_the_place_of_the_earlier(source: Store, store: Store) -> None:
    session = await new_session(source)
    turn = a_turn(session, "Feed it.")
    await source.turns.start(turn)
    running = await dumped(source)
    await store.archive.load(running)
    step = a_step(turn, 0, "", a_request("read", path="okapi.py"))
    await source.calls.add(a_call(step), step)
    await source.turns.end(an_end(turn, "The zebra is fed.", last_step=a_step(turn, 1)))
    ended = await dumped(source)
    # The session (it was active), the turn, two steps and a call.
    assert await store.archive.load(ended) == 5
    assert await dumped(store) == ended
    assert await store.archive.load(running) == 0
    assert await dumped(store) == ended
    assert turn.id in {hit.id for hit in await store.search.words(Query("zebra"))}
    assert turn.id in {hit.id for hit in await store.search.words(Query("okapi"))}
    assert [each.id for each in await store.summaries.lacking()] == [turn.id]


async def test_embedding_of_another_text_or_model_takes_the_place(store: Store) -> None:
    session = await new_session(store)
    turn = await said(store, session)
    first = an_embedding(turn, 1, 0)
    assert await store.archive.load([first]) == 1
    assert await store.archive.load([replace(first, vector=a_vector(0, 1))]) == 0, "the same text and model"
    assert await store.vectors.get([first.owner]) == [first]
    for newer in (replace(first, text_hash="b" * 64), replace(first, model="another")):
        assert await store.archive.load([newer]) == 1
        assert await store.vectors.get([first.owner]) == [newer]
    assert await store.archive.load([an_embedding(a_turn(session))]) == 0, "of nothing that is stored"


async def test_summary_by_a_model_takes_the_place_of_an_extract(store: Store) -> None:
    session = await new_session(store)
    (turn,) = await conversation(store, session, 1)
    extract = a_summary(session, "extract", turn, method=SummaryMethod.EXTRACTIVE)
    better = replace(extract, text="by a model", method=SummaryMethod.MODEL)
    for summary, changed in ((extract, 1), (extract, 0), (better, 1), (extract, 0), (better, 0)):
        assert await store.archive.load([summary]) == changed
    assert await store.summaries.get([extract.id]) == [better]


async def test_memory_that_is_newer_takes_the_place_of_the_older(store: Store) -> None:
    project = a_project()
    await store.projects.add(project)
    first = a_memory(project, "Uses tabs.", turns=("t1",), importance=0.9)
    newer = replace(
        first,
        importance=0.2,
        turns=("t2",),
        updated_at=first.updated_at + timedelta(seconds=1),
        access_count=3,
    )
    for memory, changed in ((first, 1), (first, 0), (newer, 1), (first, 0), (newer, 0)):
        assert await store.archive.load([memory]) == changed
    assert await store.memories.get([first.id]) == [newer], "whole, not merged"


async def test_a_memory_that_was_forgotten_since_is_forgotten_there_too(source: Store, store: Store) -> None:
    session = await new_session(source)
    memory = a_memory(session, "Zebras eat hay.")
    await source.memories.save(memory)
    await store.archive.load(await dumped(source))
    await source.memories.forget([memory.id], NOON + timedelta(days=1))
    assert await store.archive.load(await dumped(source)) == 1
    assert await store.memories.get([memory.id]) == await source.memories.get([memory.id])
    assert await store.archive.load(await dumped(source)) == 0
    assert await store.search.words(Query("zebras hay", session.project_id)) == []


async def test_what_was_spent_and_links_are_kept_once(store: Store) -> None:
    project = a_project()
    old, new = a_memory(project, "Uses tabs."), a_memory(project, "Uses spaces.")
    link, spent = an_association(new, old), a_spending(project)
    records: list[Record] = [project, old, new, link, spent]
    assert await store.archive.load(records) == 5
    assert await store.archive.load(records) == 0
    assert await store.archive.load([replace(link, at=link.at + timedelta(days=1))]) == 0
    assert await store.memories.associations([old.id]) == [link]
    assert sum(row.calls for row in await store.usage.by_model(project_id=project.id)) == 1


async def test_what_a_session_cost_that_was_deleted_there_and_is_here_is_counted_once(
    source: Store, store: Store
) -> None:
    session = await new_session(source)
    turn = a_turn(session)
    await source.turns.start(turn)
    await source.turns.save_step(a_step(turn, 0, ""))
    await store.archive.load(await dumped(source))
    spent = await source.usage.by_model(project_id=session.project_id)
    await source.sessions.delete(session.id)
    for _ in range(2):
        assert await store.archive.load(await dumped(source)) == 0
    assert await store.usage.by_model(project_id=session.project_id) == spent != []


@pytest.mark.emptied
async def test_version_stays_as_it_is_and_a_newer_branch_takes_the_place(store: Store) -> None:
    project = a_project()
    first = a_version(project)
    second = a_version(project, first)
    branch, move = a_branch(first), a_move(project)
    records: list[Record] = [project, first, second, branch, move]
    assert await store.archive.load(records) == 5
    assert await store.archive.load(records) == 0
    assert await store.archive.load([replace(first, label="works"), replace(move, to_turn="t")]) == 0
    newer = replace(branch, version_id=second.id, at=second.at)
    for each, changed in ((newer, 1), (branch, 0), (newer, 0)):
        assert await store.archive.load([each]) == changed
    assert await dumped(store) == [project, first, second, newer, move]
    assert await store.check() == []


@pytest.mark.emptied
async def test_backup_whose_moves_do_not_say_what_they_did_is_read_as_it_was(store: Store) -> None:
    first, *items, last = read_backup(FORMAT_2)
    assert isinstance(first, Header)
    assert isinstance(last, Closing)
    assert first.format == 2
    records = [item for item in items if not isinstance(item, Blob | Header | Closing)]
    assert await store.archive.load(records) == len(records)
    assert await dumped(store) == records
    moves = [record for record in records if isinstance(record, CheckoutLog)]
    assert {move.turns for move in moves} == {()}
    move = a_move(a_project(id=moves[0].project_id), **an_operation("t", undoes=moves[0].id))
    assert await store.archive.load([move, *moves]) == 1
    assert await store.versions.moves(move.project_id) == [*reversed(moves), move]
    assert await store.check() == []
