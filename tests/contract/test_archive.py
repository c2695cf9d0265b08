"""All that is stored as records: each once, in order, of one moment."""

import asyncio
from contextlib import aclosing
from typing import Any

import pytest
from msgspec.structs import replace

from ragforge.domain.memories import Association, Memory
from ragforge.domain.messages import ModelMessage, TextPart
from ragforge.domain.search import Query
from ragforge.domain.turns import Step, Turn
from ragforge.domain.vectors import Embedding
from ragforge.domain.versions import Version
from ragforge.store.archive_items import DESCRIPTIONS, key_of, kind_of
from ragforge.store.base import Record, RecordKind, Store
from tests.contract.builders import (
    conversation,
    new_session,
    said,
)
from tests.contract.builders_archive import dumped, history


def place_of(record: Record) -> tuple[object, ...]:
    """What a dump is ordered by."""
    match record:
        case Turn():
            return (record.index, record.id)
        case Step():
            return (record.turn_id, record.index)
        case Version():
            return (record.at, record.id)
        case _:
            return (key_of(record),)


@pytest.mark.emptied
async def test_dump_holds_everything_in_the_order_of_references(store: Store) -> None:
    await history(store)
    records = await dumped(store)
    kinds = [kind_of(record) for record in records]
    assert {*kinds} == {*RecordKind}
    assert kinds == sorted(kinds, key=[*RecordKind].index)
    for kind in RecordKind:
        places = [place_of(record) for record in records if kind_of(record) is kind]
        assert places == sorted(places)
    assert dict(await store.archive.counts()) == {kind: kinds.count(kind) for kind in RecordKind}


@pytest.mark.emptied
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


@pytest.mark.emptied
async def test_fetch_finds_each_record_by_its_id(store: Store) -> None:
    await history(store)
    records = await dumped(store)
    for kind in RecordKind:
        of_kind = {key_of(record): record for record in records if kind_of(record) is kind}
        found = await store.archive.fetch(kind, [*of_kind, *of_kind, "nowhere"])
        assert {key_of(record): record for record in found} == of_kind
        assert len(found) == len(of_kind)
        strange = [
            "",
            "/",
            "//",
            "turn/",
            "turn",
            "%",
            "summary/%",
            "memory/",
            "memory/%",
            "updates/",
            "updates/a/b",
            "a/b/c",
            "a/",
            "/b/c",
            "\ud800",
            "x/-1",
            "🦓/0",
        ]
        assert await store.archive.fetch(kind, strange) == []
        assert await store.archive.fetch(kind, []) == []
    (step, *_) = [record for record in records if isinstance(record, Step)]
    for wrong in (f"{step.turn_id}/00", f"{step.turn_id}/99", f"{step.turn_id}/", step.turn_id):
        assert await store.archive.fetch(RecordKind.STEP, [wrong]) == []


@pytest.mark.emptied
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


@pytest.mark.emptied
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


@pytest.mark.emptied
async def test_empty_store_has_nothing_to_dump(store: Store) -> None:
    assert await dumped(store) == []
    assert dict(await store.archive.counts()) == dict.fromkeys(RecordKind, 0)
    assert await store.archive.load([]) == 0


def with_other_texts(record: Record) -> Record:
    """The record with another value in each field that its description calls a text."""

    def other(value: Any) -> Any:
        match value:
            case str():
                return f"{value} ocelot"
            case dict():
                return {**value, "ocelot": "ocelot"}
            case ModelMessage():
                return replace(value, text="ocelot", native=None)
            case (TextPart(), *_):
                return (TextPart("ocelot"),)
            case (str(), *_):
                return (*value, "ocelot")
            case _:
                return value

    texts = DESCRIPTIONS[RecordKind(kind_of(record))].texts
    return replace(record, **{name: other(getattr(record, name)) for name in texts})


@pytest.mark.emptied
async def test_records_get_other_texts_and_their_own_again(store: Store) -> None:
    await history(store)
    before = [each for each in await dumped(store) if not isinstance(each, Embedding)]
    changed = [with_other_texts(each) for each in before]
    described = {each.kind for each in DESCRIPTIONS.values() if each.texts}
    assert {kind_of(each) for each in changed if each not in before} == described
    memories = [each for each in before if isinstance(each, Memory)]
    links = [each for each in before if isinstance(each, Association)]
    await store.archive.rewrite(
        [each for each in changed if not isinstance(each, Memory)], without=[each.id for each in memories]
    )
    kept = [each for each in changed if not isinstance(each, Memory | Association)]
    assert [each for each in await dumped(store) if not isinstance(each, Embedding)] == kept
    assert await store.search.words(Query("ocelot"))
    assert await store.check() == []
    await store.archive.rewrite([*before, *links], without=[])
    assert [each for each in await dumped(store) if not isinstance(each, Embedding)] == before
    assert not await store.search.words(Query("ocelot"))
    assert await store.check() == []
