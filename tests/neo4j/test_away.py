"""What a store answers while its server is away: the same as a store of SQLite that was told the same."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace

from ragforge.domain import timeouts
from ragforge.domain.derivations import DerivedFilter
from ragforge.domain.errors import StoreUnavailable
from ragforge.domain.memories import MemoryFilter, MemorySort
from ragforge.domain.search import Hit, Query
from ragforge.domain.usage import Usage
from ragforge.session.project_union import read_whole
from ragforge.store.base import Store
from ragforge.store.files import outbox_file, outbox_folder
from ragforge.store.neo4j.address import Address
from ragforge.store.neo4j.identity import KnownServers
from ragforge.store.neo4j.outbox import Outbox, Rows
from ragforge.store.neo4j.rows import Label, summary_row
from tests.contract.builders import (
    a_project,
    a_spending,
    a_step,
    a_summary,
    a_turn,
    an_end,
    new_session,
    said,
)
from tests.contract.builders_archive import history
from tests.contract.builders_versions import a_branch, new_version
from tests.faults.graph import opened
from tests.servers.proxy import unanswered_url

DATABASE = "0192d8e4-0000-7000-8000-000000000001"
NEEDS_SERVER = ("summaries", "vectors", "touch")


class Twice:
    """Tells two stores the same, but for what needs the server, and answers as the first."""

    def __init__(self, *stores: Any) -> None:
        self._stores = stores

    def __getattr__(self, name: str) -> Any:
        return Twice(*(getattr(store, name) for store in self._stores if name not in NEEDS_SERVER))

    async def __call__(self, *values: Any, **named: Any) -> Any:
        return next(iter([await store(*values, **named) for store in self._stores]), None)


@pytest.fixture
def address() -> Iterator[str]:
    with unanswered_url() as url:
        yield url


@pytest.fixture
async def away(address: str, tmp_path: Path) -> AsyncIterator[Store]:
    """The store of a server that was reached before."""
    servers = KnownServers(outbox_folder(tmp_path) / "servers.json")
    servers.remember(Address.from_url(address, "").shown, DATABASE)
    async with opened(address, tmp_path) as store:
        yield store


@pytest.fixture
async def local(tmp_path: Path) -> AsyncIterator[Store]:
    async with opened(f"sqlite://{tmp_path}/local/ragforge.db", tmp_path / "local") as store:
        yield store


@pytest.fixture
async def outbox(away: Store, tmp_path: Path) -> AsyncIterator[Outbox]:
    """The file of what waits, as another process sees it."""
    found = Outbox(outbox_file(tmp_path, DATABASE).path)
    yield found
    await found.close()


async def test_a_whole_history_is_answered_as_by_sqlite(away: Store, local: Store, outbox: Outbox) -> None:
    both = cast("Store", Twice(away, local))
    session = await history(both)
    below = a_summary(session, "gnu", await said(both, session, "Count them."), topics=("hay",))
    for summary in (below, a_summary(session, "all", below)):
        await local.summaries.save(summary)
        row = summary_row(summary)
        await outbox.write(lambda rows, row=row: rows.put(Label.SUMMARY, row["id"], row))
    project, memories = session.project_id, MemoryFilter(forgotten=True, replaced=True, abandoned=True)
    turns = [hit.id for hit in await local.search.words(Query("zebra left kept may", project))]
    versions = [row.version.id for row in await local.versions.rows(project)]
    found = await local.search.candidates(Query("zebra hay straw keeper", project))

    def asked(store: Store) -> list[Awaitable[object]]:
        return [
            store.sessions.recent(project_id=project),
            store.turns.abandoned(turns),
            store.usage.by_model(project_id=project),
            store.usage.by_model(session_id=session.id, since=session.started_at),
            store.summaries.of_session(session.id),
            store.summaries.of_session(session.id, uncovered=True),
            store.memories.find(memories),
            store.memories.find(MemoryFilter(project, session.id, sort=MemorySort.RECENT)),
            _unscored(store.search.words(Query("zebra okapi gnu straw", project))),
            _unscored(store.search.words(Query("tapir quagga", project))),
            store.derivations.find(DerivedFilter("Foresight", project, forgotten=True, abandoned=True)),
            store.search.related(found),
            store.search.hits(found, "hay for the zebra"),
            store.versions.rows(project, before=versions[1]),
            store.versions.get(versions),
            store.versions.line(versions[0]),
            store.versions.children(versions[-1]),
            store.versions.with_id_part(project, "quagga"),
            store.versions.branches(project),
            store.versions.moves(project),
            store.versions.unversioned(session.id),
        ]

    answers = [await answer for answer in asked(local)]
    assert all(answers[:-1])
    for expected, answer in zip(answers, asked(away), strict=True):
        assert await answer == expected
    ids = [memory.id for memory in await local.memories.find(memories)]
    assert await away.memories.associations(ids) == await local.memories.associations(ids)
    assert await away.memories.get(ids) == await local.memories.get(ids)
    assert {each.id for each in await away.search.candidates(Query("zebra"))} == {
        each.id for each in await local.search.candidates(Query("zebra"))
    }


async def _unscored(search: Awaitable[list[Hit]]) -> list[Hit]:
    """The hits; their scores depend on when each of them was last indexed."""
    return sorted((replace(hit, score=0.0) for hit in await search), key=lambda hit: hit.id)


async def test_what_is_written_while_it_is_away_is_found_at_once(away: Store) -> None:
    session = await new_session(away)
    first = await said(away, session, "Feed the zebra.")
    assert [hit.id for hit in await away.search.words(Query("zebra"))] == [first.id]
    second = await said(away, session, "Brush the zebra.", parent=first)
    assert {hit.id for hit in await away.search.words(Query("zebra"))} == {first.id, second.id}
    await away.sessions.set_head(session.id, first.id)
    assert await away.turns.abandoned([first.id, second.id]) == {second.id}


async def test_a_count_that_sqlite_cannot_hold_hides_nothing_else(away: Store) -> None:
    session = await new_session(away)
    turn = a_turn(session, "Count the zebras.")
    await away.turns.start(turn)
    await away.turns.end(an_end(turn, last_step=a_step(turn, usage=Usage(2**70, 0, 1, 0))))
    await away.usage.add(a_spending(session, usage=Usage(2**70, 0, 1, 0)))
    other = await said(away, session, "Feed the zebra.", parent=turn)
    base = await new_version(away, session, turn_id=turn.id, usage=Usage(2**70, 0, 1, 0))
    version = await new_version(away, session, base, turn_id=other.id)
    assert await away.versions.get([version.id]) == [version]
    assert [hit.id for hit in await away.search.words(Query("zebra"))] == [other.id]
    assert [each.id for each in await away.turns.path(other.id)] == [turn.id, other.id]


async def test_what_rows_refer_to_and_is_not_here_is_no_answer(away: Store, outbox: Outbox) -> None:
    """Rows that were carried go with the time; those that others refer to too."""
    session = await new_session(away, title="of yore")
    old = await said(away, session, "Feed the zebra.")
    base = await new_version(away, session, turn_id=old.id)
    fork = await new_session(away, a_project(id=session.project_id), head=old.id)
    new = await said(away, fork, "Brush the zebra.", parent=old)
    version = await new_version(away, fork, base, turn_id=new.id)
    await away.versions.set_branch(a_branch(base, "main"))
    gone = {
        *((Label.PROJECT, session.project_id), (Label.SESSION, session.id)),
        *((Label.TURN, old.id), (Label.VERSION, base.id)),
    }
    rows = await outbox.read(Rows.all_waiting)
    await outbox.write(lambda here: here.mark_carried([row for row in rows if (row.label, row.id) in gone]))
    for label, identifier in gone:
        await outbox.write(lambda here, label=label, each=identifier: here.forget(label, [each]))
    project = session.project_id
    assert [row.session.id for row in await away.sessions.recent(project_id=project)] == [fork.id]
    assert {hit.id for hit in await away.search.words(Query("zebra 1970", project))} == {new.id}
    found = await away.search.candidates(Query("zebra 1970", project))
    assert [each.id for each in found] == [new.id]
    assert await away.search.related(found) == []
    assert [row.version for row in await away.versions.rows(project)] == [
        replace(version, changes=(), words="")
    ]
    assert await away.versions.children(base.id) == await away.versions.get([version.id]) == [version]
    assert [branch.version_id for branch in await away.versions.branches(project)] == [base.id]
    assert await away.versions.line(version.id, limit=1) == [version]
    for ask in (
        away.versions.line(version.id),
        away.versions.get([base.id]),
        away.versions.rows(project, before=base.id),
        away.versions.of_turns([a_turn(session).id]),
    ):
        with pytest.raises(StoreUnavailable, match="not on this machine"):
            await ask


async def test_a_project_that_can_be_read_in_part_only_is_not_moved(away: Store) -> None:
    await away.projects.add(project := a_project())
    await said(away, await new_session(away, project))
    with pytest.raises(StoreUnavailable, match="Nothing was moved, because not everything"), read_whole(away):
        assert await away.sessions.recent(project_id=project.id)


async def test_a_server_that_was_just_tried_in_vain_is_not_waited_for_again(
    away: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = a_project().id
    monkeypatch.setattr(timeouts, "NEO4J_REACH_S_MAX", 0.1)
    with pytest.raises(StoreUnavailable):
        await away.versions.all_ids(project)
    monkeypatch.setattr(timeouts, "NEO4J_REACH_S_MAX", 3_600.0)
    async with asyncio.timeout(60):
        with pytest.raises(StoreUnavailable):
            await away.versions.all_ids(project)
