"""Loads that are begun before the one before has ended: they arrive in order, and rest on each other."""

import asyncio
from array import array
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from ragforge.domain.errors import Conflict
from ragforge.domain.messages import ImagePart, TextPart
from ragforge.domain.search import Query
from ragforge.domain.turns import Turn
from ragforge.store.base import Record, Store
from ragforge.store.open import open_store
from tests.contract.builders import (
    DIMENSIONS,
    NOON,
    a_call,
    a_project,
    a_request,
    a_session,
    a_step,
    a_turn,
    an_embedding,
)
from tests.contract.builders_archive import dumped, history

# What is dumped and checked is all that there is.
pytestmark = pytest.mark.emptied


@pytest.mark.parametrize("size", [1, pytest.param(7, marks=pytest.mark.long_on_servers)])
async def test_loads_arrive_in_the_order_in_which_they_were_begun(
    store: Store, tmp_path: Path, size: int
) -> None:
    source = await open_store(f"sqlite://{tmp_path}/source.db", machine_dir=tmp_path / "source")
    session = await history(source)
    records = await dumped(source)
    parts = [records[at : at + size] for at in range(0, len(records), size)]
    counts = await asyncio.gather(*(store.archive.load(part) for part in parts))
    assert sum(counts) == len(records)
    assert await dumped(store) == records
    assert await store.check() == []
    # A turn is found by what its child says and by the files of its calls, which came with other loads.
    for words in ("zebra", "okapi", "kept", "left"):
        query = Query(words, project_id=session.project_id)
        hits = [await each.search.words(query) for each in (store, source)]
        found, expected = ({hit.id for hit in each} for each in hits)
        assert found == expected != set()
    await source.close()


async def test_a_load_that_is_refused_takes_those_with_it_that_rest_on_it_and_no_others(store: Store) -> None:
    project = a_project()
    session = a_session(project.id)
    turn, other = a_turn(session), a_turn(session, "Another.")
    await store.archive.load([project, session])
    orphan = a_step(a_turn(session, "Nowhere."), 0, "")
    parts: list[Sequence[Record]] = [[turn, orphan], [a_step(turn, 0, "")], [other], [a_step(other, 0, "")]]
    outcomes = await asyncio.gather(*map(store.archive.load, parts), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [Conflict, Conflict, int, int]
    assert await dumped(store) == [project, session, other, a_step(other, 0, "")]


async def test_a_load_that_is_given_up_leaves_those_after_it_whole(store: Store) -> None:
    project = a_project()
    session = a_session(project.id)
    await store.archive.load([project, session])
    turns = [a_turn(session, f"Turn {number}.") for number in range(40)]
    loads = [asyncio.create_task(store.archive.load([turn])) for turn in turns]
    await asyncio.sleep(0)
    for load in loads[::3]:
        load.cancel()
    outcomes = await asyncio.gather(*loads, return_exceptions=True)
    kept = {turn.id for turn, outcome in zip(turns, outcomes, strict=True) if outcome == 1}
    assert len(kept) == len(turns) - len(turns[::3])
    assert kept <= {record.id for record in await dumped(store) if isinstance(record, Turn)}
    assert sum([await store.archive.load([turn]) for turn in turns]) <= len(turns[::3])
    assert await store.check() == []


async def test_values_at_their_ends_arrive_as_they_were(store: Store) -> None:
    project = a_project()
    session = a_session(project.id)
    plain = a_turn(session, "a,b;'c'", started_at=datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=UTC))
    image = replace(
        a_turn(session, parent=plain, user=(TextPart("x"), ImagePart("f" * 64, "image/png"))),
        ended_at=NOON.replace(microsecond=1000),
        cost_usd=1e-300,
    )
    step = a_step(plain, 0, "", a_request("read", path="a.py"))
    call = a_call(step, images=(ImagePart("e" * 64, "image/png"),), duration_ms=2**40)
    vector = array("f", [1.1754943508222875e-38, -0.0, 1 / 3, -1e-7, 65504.1, *[0.5] * (DIMENSIONS - 5)])
    embedding = replace(an_embedding(plain), vector=vector)
    records: list[Record] = [project, session, plain, image, step, call, embedding]
    assert await store.archive.load(records) == len(records)
    assert await dumped(store) == records
    assert await store.archive.load(records) == 0
