import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from ragforge.domain.errors import Conflict, UsageError
from ragforge.domain.ids import new_id
from ragforge.domain.messages import ImagePart, TextPart
from ragforge.domain.search import Query
from ragforge.domain.summaries import Summary, SummaryMethod
from ragforge.domain.turns import ConversationSession, Project, Step, ToolCall, Turn, TurnStatus
from ragforge.domain.vectors import Embedding, Nearby
from ragforge.store.base import Record, RecordKind, Store
from ragforge.store.open import open_store
from tests.contract.builders import (
    a_call,
    a_project,
    a_request,
    a_session,
    a_step,
    a_summary,
    a_turn,
    a_vector,
    an_embedding,
    an_end,
    conversation,
    new_session,
    said,
)

MODEL = "static:256"

KINDS: dict[type[Record], RecordKind] = {
    Project: RecordKind.PROJECT,
    ConversationSession: RecordKind.SESSION,
    Turn: RecordKind.TURN,
    Step: RecordKind.STEP,
    ToolCall: RecordKind.TOOL_CALL,
    Summary: RecordKind.SUMMARY,
    Embedding: RecordKind.EMBEDDING,
}


@pytest.fixture
async def source(tmp_path: Path) -> AsyncIterator[Store]:
    """An empty store on this machine, to load from."""
    store = await open_store(f"sqlite://{tmp_path}/source.db", machine_dir=tmp_path / "source")
    yield store
    await store.close()


def id_of(record: Record) -> str:
    match record:
        case Step():
            return f"{record.turn_id}/{record.index}"
        case Embedding():
            return f"{record.owner.kind}/{record.owner.id}"
        case _:
            return record.id


def place_of(record: Record) -> tuple[object, ...]:
    """What a dump is ordered by."""
    match record:
        case Turn():
            return (record.index, record.id)
        case Step():
            return (record.turn_id, record.index)
        case _:
            return (id_of(record),)


async def dumped(store: Store) -> list[Record]:
    return [record async for record in store.archive.dump()]


async def history(store: Store) -> ConversationSession:
    """One of everything: a branch, a fork, a waiting turn, calls, summaries in two levels, vectors."""
    session = await new_session(
        store,
        title="Animals",
        user="ada",
        host="desk",
        project_path="/home/ada",
        model="gemini:a",
        mode="all",
    )
    turn = a_turn(
        session, "Feed the zebra.", user=(TextPart("Feed the zebra."), ImagePart("f" * 64, "image/png"))
    )
    await store.turns.start(turn)
    step = a_step(
        turn, 0, "", a_request("read", path="src/okapi.py", limit=3), a_request("shell", n=[1, None])
    )
    for position in (0, 1):
        await store.calls.add(a_call(step, position, diff="-a\n+b", result_blob="e" * 64), step)
    await store.turns.end(an_end(turn, last_step=a_step(turn, 1, cost_usd=None)))
    left = await said(store, session, "left behind", parent=turn)
    kept = await said(store, session, "kept", parent=turn)
    fork = await new_session(store, head=left.id, forked_from=session.id)
    waiting = a_turn(fork, "May I?", parent=left)
    await store.turns.start(waiting)
    await store.turns.save_step(a_step(waiting, 0, "", a_request("shell", command="rm")))
    level_1 = [a_summary(session, "gnu", turn, topics=("hay",)), a_summary(session, "more", kept)]
    # The id of what covers sorts before those of what it covers.
    level_2 = a_summary(session, "all", *level_1, id="0" + new_id()[1:])
    for summary in (*level_1, level_2):
        await store.summaries.save(summary)
    await store.vectors.use(MODEL, 2)
    await store.vectors.save([an_embedding(each, 1, 2) for each in (turn, kept, level_2)])
    return session


async def test_dump_holds_everything_in_the_order_of_references(store: Store) -> None:
    await history(store)
    records = await dumped(store)
    kinds = [KINDS[type(record)] for record in records]
    assert {*kinds} == {*RecordKind}
    assert kinds == sorted(kinds, key=[*RecordKind].index)
    for kind in RecordKind:
        places = [place_of(record) for record in records if KINDS[type(record)] is kind]
        assert places == sorted(places)
    assert dict(await store.archive.counts()) == {kind: kinds.count(kind) for kind in RecordKind}


async def test_dump_gives_what_the_store_gives(store: Store) -> None:
    session = await history(store)
    records = await dumped(store)
    turns = [record for record in records if isinstance(record, Turn)]
    ids = [turn.id for turn in turns]
    assert await store.sessions.get(session.id) in records
    assert turns == [await store.turns.get(turn) for turn in ids]
    for found in (await store.turns.steps(ids), await store.calls.of_turns(ids)):
        assert all(each in records for each in found)
    assert all(each in records for each in await store.summaries.of_session(session.id))


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

    for words in ("zebra", "okapi", "kept", "left", "gnu", "hay", "read", "wednesday"):
        query = Query(words, project_id=session.project_id)
        hits = {hit.id for hit in await source.search.words(query)}
        assert hits
        assert {hit.id for hit in await store.search.words(query)} == hits
    assert await store.summaries.lacking() == await source.summaries.lacking()
    nearby = Nearby(a_vector(1, 0), MODEL, project_id=session.project_id)
    await store.vectors.use(MODEL, 2)
    found, expected = [await each.vectors.nearest(nearby) for each in (store, source)]
    assert [near.owner for near in found] == [near.owner for near in expected]
    assert [near.score for near in found] == pytest.approx([near.score for near in expected], abs=1e-3)
    assert {*await store.vectors.lacking(MODEL)} == {*await source.vectors.lacking(MODEL)}


@pytest.mark.parametrize("size", [1, 2, 5])
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


async def test_newer_session_takes_the_place_of_the_older(source: Store, store: Store) -> None:
    session = await new_session(source, title="old")
    await store.archive.load(await dumped(source))
    await source.sessions.rename(session.id, "new")
    await source.sessions.set_mode(session.id, "all")
    assert await store.archive.load(await dumped(source)) == 0, "a title is no activity"
    turn = await said(source, session)
    assert await store.archive.load(await dumped(source)) == 2
    found = await store.sessions.get(session.id)
    assert found == await source.sessions.get(session.id)
    assert found is not None
    assert (found.title, found.mode, found.head) == ("new", "all", turn.id)


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


async def test_fetch_finds_each_record_by_its_id(store: Store) -> None:
    await history(store)
    records = await dumped(store)
    for kind in RecordKind:
        of_kind = {id_of(record): record for record in records if KINDS[type(record)] is kind}
        found = await store.archive.fetch(kind, [*of_kind, *of_kind, "nowhere"])
        assert {id_of(record): record for record in found} == of_kind
        assert len(found) == len(of_kind)
        strange = ["", "/", "//", "turn/", "turn", "%", "summary/%", "a/b/c", "\ud800", "x/-1", "🦓/0"]
        assert await store.archive.fetch(kind, strange) == []
        assert await store.archive.fetch(kind, []) == []
    (step, *_) = [record for record in records if isinstance(record, Step)]
    for wrong in (f"{step.turn_id}/00", f"{step.turn_id}/99", f"{step.turn_id}/", step.turn_id):
        assert await store.archive.fetch(RecordKind.STEP, [wrong]) == []


async def test_dump_is_of_one_moment_whatever_is_written_meanwhile(store: Store) -> None:
    session = await new_session(store)
    turns = await conversation(store, session, 3)
    before = await dumped(store)
    found: list[Record] = []
    async with aclosing(store.archive.dump()) as records:
        async for record in records:
            if not found:
                await said(store, session, "meanwhile", parent=turns[-1])
                await store.sessions.rename(session.id, "renamed")
            found.append(record)
    assert found == before
    assert len(await dumped(store)) == len(before) + 1


async def test_dump_that_is_left_early_disturbs_nobody(store: Store) -> None:
    session = await new_session(store)
    await conversation(store, session, 3)
    for _ in range(3):
        async with aclosing(store.archive.dump()) as records:
            async for _record in records:
                break
    task = asyncio.create_task(dumped(store))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await store.sessions.delete(session.id)
    assert len(await dumped(store)) == 1
    assert await store.check() == []


async def test_empty_store_has_nothing_to_dump(store: Store) -> None:
    assert await dumped(store) == []
    assert dict(await store.archive.counts()) == dict.fromkeys(RecordKind, 0)
    assert await store.archive.load([]) == 0


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
