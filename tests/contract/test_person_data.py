"""All that is one user's, given out and taken away, with the others' history whole."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import pytest

from ragforge.domain.derivations import DerivedFilter, Underived
from ragforge.domain.foresight import KIND, Foresight
from ragforge.domain.messages import text_of
from ragforge.domain.search import Query
from ragforge.domain.turns import Person
from ragforge.session.person_data import (
    REMOVED,
    PersonData,
    export_person,
    person_of,
    plan_removal,
    read_person,
    remove_person,
)
from ragforge.store.archive_items import kind_of
from ragforge.store.archive_lines import from_line
from ragforge.store.base import Record, Store
from ragforge.store.blobs import SqliteBlobs
from ragforge.store.local.state import open_local_state
from tests.contract.builders import (
    a_call,
    a_memory,
    a_project,
    a_request,
    a_spending,
    a_step,
    a_summary,
    a_turn,
    an_end,
    new_session,
    said,
)
from tests.contract.builders_versions import a_version

ADA, BOB = "ada@example.org", "bob@example.org"
FORESEEN = Foresight(
    individual_before_description="The zebra is fed.",
    predictability_individual=9,
    next_messages=("Feed the other zebra.",),
    files_foreseen=("zebra.py",),
    model_predicted="gemini:a",
    units_individual=3,
    alpha=40,
    cw_individual=120,
    depth_individual=5,
    cd_individual=136,
    u_individual=-16,
)
USER = Person("eve@example.org")


async def _all(store: Store) -> list[Record]:
    records: AsyncGenerator[Record, None] = store.archive.dump()
    async with aclosing(records):
        return [each async for each in records]


@pytest.mark.emptied
async def test_what_is_one_users_is_given_out_and_taken_away(store: Store, tmp_path: Path) -> None:
    project = a_project()
    await store.projects.add(project)
    own = await new_session(store, project, title="Ada's own zebra", person=ADA, user="ada", host="laptop")
    secret = await said(store, own, "The zebra of Ada.", person=ADA, answer="A zebra, Ada.")
    shared = await new_session(store, project, title="Ada asks for zebras", person=ADA)
    first = a_turn(shared, "The shared zebra.", person=ADA)
    await store.turns.start(first)
    step = a_step(first, 0, "A zebra then.", a_request("shell", command="feed zebra"))
    await store.calls.add(a_call(step, result="zebra fed"), step)
    await store.turns.end(an_end(first, "Zebra fed."))
    second = await said(store, shared, "The gnu of Bob.", parent=first, person=BOB, answer="A gnu.")
    hers, his = a_summary(shared, "Zebra talk.", first), a_summary(shared, "Gnu talk.", second)
    both = a_summary(shared, "Zebra and gnu.", hers, his)
    for summary in (hers, his, both):
        await store.summaries.save(summary)
    wish, fact = a_memory(own, "Likes zebras.", owner=ADA), a_memory(shared, "The zebra is fed.", first)
    kept = a_memory(shared, "Gnus are fed.", first, second)
    for memory in (wish, fact, kept):
        await store.memories.save(memory)
    await store.usage.add(a_spending(shared, person=ADA))
    await store.versions.add(a_version(shared, turn_id=first.id, title="The shared zebra."))
    source = Underived(first.id, project.id, an_end(first).ended_at)
    await store.derivations.save(KIND.record(source, FORESEEN, model="gemini:a"))
    costs = sum(each.cost_usd or 0 for each in await store.usage.by_model(project_id=project.id))
    await store.drain(timeout_s=10)

    assert await person_of(store, "ada", USER) == ADA
    data = await read_person(store, ADA, USER)
    assert data.words == "2 turns, 2 summaries, 2 memories, 1 version"
    await _is_exported(store, data, tmp_path)
    plan = await plan_removal(store, data)
    assert (plan.whole, plan.kept) == ((own.id,), 1)
    local = await open_local_state(tmp_path / "machine")
    assert await remove_person(store, local, plan, tmp_path / "machine") == []
    await local.close()
    assert not [each for each in map(repr, await _all(store)) if "ebra" in each or "ada@" in each]
    assert await store.sessions.get(own.id) is None
    [gone, stays] = await store.turns.read([first.id, second.id])
    assert (text_of(gone.user), gone.assistant, gone.person) == (REMOVED, REMOVED, "")
    assert (text_of(stays.user), stays.person) == ("The gnu of Bob.", BOB)
    assert [each.id for each in await store.memories.get([wish.id, fact.id, kept.id])] == [kept.id]
    assert await store.turns.everybody() == [BOB]
    [record] = await store.derivations.find(DerivedFilter(KIND.label, project.id, abandoned=True))
    assert KIND.read(record) == Foresight(units_individual=3, alpha=40, cw_individual=120, depth_individual=5)
    assert await store.search.words(Query("zebra")) == []
    left = sum(each.cost_usd or 0 for each in await store.usage.by_model(project_id=project.id))
    assert left == costs, "what it cost stays"
    assert await store.check() == []
    assert not await store.turns.read([secret.id])


async def _is_exported(store: Store, data: PersonData, tmp_path: Path) -> None:
    """Once each, and nothing that others said."""
    blobs, file = SqliteBlobs(tmp_path / "blobs.db"), tmp_path / "ada.jsonl"
    lines, missing = await export_person(store, blobs, data, file, force=False)
    records = [from_line(line) for line in file.read_text().splitlines()]
    # The content of the version is on no machine.
    assert (lines, missing, file.stat().st_mode & 0o777) == (len(records), 1, 0o600)
    kinds = [kind_of(each) for each in records]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        **{"project": 1, "session": 2, "turn": 2, "step": 1, "tool_call": 1},
        **{"summary": 1, "memory": 2, "spent": 1, "version": 1, "derived": 1},
    }
    assert "gnu" not in file.read_text().lower()
    await blobs.close()
