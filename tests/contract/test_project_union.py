"""Two projects become one, with everything that hangs on them, and two again."""

import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, cast

import pytest
from msgspec.structs import replace

from ragforge.domain.derivations import Derived
from ragforge.domain.errors import StoreUnavailable, UsageError
from ragforge.domain.records import RecordKind
from ragforge.domain.search import Query
from ragforge.domain.turns import Project, Turn
from ragforge.session.project_union import (
    ProjectContents,
    bring_late,
    merge,
    plan_split,
    read_contents,
    read_moved,
    split,
)
from ragforge.session.union_copy import follow_unions
from ragforge.store.archive_items import key_of, kind_of
from ragforge.store.base import Record, Store
from tests.contract.builders import (
    DIMENSIONS,
    a_call,
    a_derived,
    a_memory,
    a_project,
    a_request,
    a_spending,
    a_step,
    a_summary,
    a_turn,
    an_association,
    an_embedding,
    an_end,
    new_session,
    said,
)
from tests.contract.builders_versions import a_branch, a_move, a_version
from tests.contract.conftest import Opener
from tests.cut_off import cut_off

MODEL = "static:minilm-256-2"


async def filled(store: Store, name: str) -> Project:
    """A project with one of everything; "Same." is a memory of each such project."""
    project = a_project(name=name)
    await store.projects.add(project)
    session = await new_session(store, project, title=name)
    turn = a_turn(session, f"The zebra of {name}.", person="ada@example.org")
    await store.turns.start(turn)
    step = a_step(turn, 0, "", a_request("shell", command=f"feed {name}"))
    await store.calls.add(a_call(step), step)
    await store.turns.end(an_end(turn))
    await store.summaries.save(summary := a_summary(session, f"Zebras of {name}.", turn))
    await store.derivations.save(a_derived(turn, project_id=project.id))
    await store.usage.add(a_spending(session))
    same, own = a_memory(session, "Same.", turn), a_memory(session, f"Only {name}.", turn)
    for memory in (same, own, a_memory(project, f"Told in {name}.")):
        await store.memories.save(memory)
    await store.memories.associate([an_association(own, same)])
    await store.vectors.use(MODEL, DIMENSIONS)
    await store.vectors.save([an_embedding(each) for each in (turn, summary, own)])
    root = a_version(project, title="before")
    version = a_version(session, root, turn_id=turn.id, title=f"Zebra of {name}")
    for each in (root, version):
        await store.versions.add(each)
    await store.versions.set_branch(a_branch(version, "main"))
    await store.versions.add_move(a_move(session))
    return project


async def of_projects(store: Store, *projects: Project) -> dict[str, Record]:
    """Every record of these, by kind and key; what a merge notes for its undo is left out."""
    ids = {project.id for project in projects}
    found: dict[str, Record] = {}
    for project in projects:
        contents = await read_contents(store, project.id)
        names = {
            RecordKind.PROJECT: [project.id],
            RecordKind.SESSION: contents.sessions,
            RecordKind.MEMORY: [each.id for each in contents.memories],
            RecordKind.VERSION: [each.id for each in contents.versions],
            RecordKind.BRANCH: [f"{project.id}/{name}" for name in contents.branches],
            RecordKind.MOVE: contents.moves,
        }
        for kind, keys in names.items():
            for record in await store.archive.fetch(kind, list(keys)):
                same = replace(record, changed_at=None) if isinstance(record, Project) else record
                found[f"{kind_of(record)}/{key_of(record)}"] = same
        for link in await store.memories.associations(names[RecordKind.MEMORY]):
            found[f"link/{key_of(link)}"] = link
    assert ids
    return found


async def searched(store: Store, project: Project, text: str) -> set[str]:
    return {str(hit.kind) for hit in await store.search.words(Query(text, project.id))}


async def test_a_merge_moves_everything_and_a_split_takes_it_back(store: Store) -> None:
    gnu, okapi = await filled(store, "gnu"), await filled(store, "okapi")
    before = await of_projects(store, gnu, okapi)
    usage = await store.usage.by_model(project_id=okapi.id)
    contents = await read_contents(store, okapi.id)
    assert contents.words == "1 session with 1 turn, 3 memories, 2 versions, 1 branch"
    await merge(store, okapi, gnu, contents)

    assert (await read_contents(store, okapi.id)).is_empty
    both = await read_contents(store, gnu.id)
    # "Same." is one memory of both, and the branch has another name beside the one that was there.
    assert both.words == "2 sessions with 2 turns, 5 memories, 4 versions, 2 branches"
    [same] = [each for each in both.memories if each.content == "Same."]
    assert len(same.turns) == 2
    assert len(await store.memories.associations([same.id])) == 2
    assert await searched(store, gnu, "zebra okapi") == {"turn", "summary", "memory", "version", "tool_call"}
    assert await searched(store, okapi, "okapi") == set()
    assert await store.usage.by_model(project_id=okapi.id) == []
    assert {each.calls for each in await store.usage.by_model(project_id=gnu.id)} == {2}
    ids = [each for project in (gnu, okapi) for each in (project.id, *both.sessions)]
    assert not [each for each in await store.check() if any(id in each for id in ids)]
    await merge(store, okapi, gnu, await read_contents(store, okapi.id))
    assert await read_contents(store, gnu.id) == both, "again changes nothing"

    moved = await read_moved(store, okapi.id)
    plan = await plan_split(store, gnu, set(), moved)
    assert (plan.moving.words, plan.along) == ("1 session with 1 turn, 2 memories, 2 versions, 1 branch", 0)
    await split(store, gnu, okapi, plan, moved)
    after = await of_projects(store, gnu, okapi)
    assert after == before
    assert await store.usage.by_model(project_id=okapi.id) == usage
    assert await searched(store, okapi, "zebra") >= {"turn", "summary", "version"}
    assert not [each for each in await store.check() if any(id in each for id in ids)]


async def test_what_is_open_is_not_merged(store: Store, opener: Opener) -> None:
    gnu, okapi = await filled(store, "gnu"), await filled(store, "okapi")
    contents = await read_contents(store, okapi.id)
    claim = await (await opener()).sessions.claim(contents.sessions[0])
    with pytest.raises(UsageError, match="open elsewhere"):
        await merge(store, okapi, gnu, contents)
    assert await read_contents(store, okapi.id) == contents
    await claim.release()
    await store.projects.add(replace(gnu, merged_into=okapi.id))
    with pytest.raises(UsageError, match="just been merged"):
        await merge(store, okapi, gnu, contents)
    assert await store.projects.get(okapi.id) == okapi, "two merges at once make no circle"
    await store.projects.add(gnu)
    with pytest.raises(StoreUnavailable, match=r"Away\. .* Run the same command again"):
        await merge(cut_off(store, 3, StoreUnavailable("Away.")), okapi, gnu, contents)
    await merge(store, okapi, gnu, contents)
    assert (await read_contents(store, okapi.id)).is_empty


async def test_a_split_that_is_cut_off_says_how_to_go_on(store: Store) -> None:
    """Wherever that is: then what moved is brought back, and the same split can be done again."""
    gnu, okapi = await filled(store, "gnu"), await filled(store, "okapi")
    await merge(store, okapi, gnu, before := await read_contents(store, okapi.id))
    moved, whole = await read_moved(store, okapi.id), await read_contents(store, gnu.id)
    for writes in range(1, 100):
        plan = await plan_split(store, gnu, (), moved)
        try:
            await split(cut_off(store, writes, StoreUnavailable("Away.")), gnu, okapi, plan, moved)
        except StoreUnavailable as error:
            said_then = str(error)
        else:
            break
        assert re.match(r"Away\. Part of gnu may be in okapi already\. Run the same command again", said_then)
        await bring_late(store, gnu, split_off=True)
        assert as_sets(await read_contents(store, gnu.id)) == as_sets(whole)
    assert writes > 5, "it writes in several places"
    assert as_sets(await read_contents(store, okapi.id)) == as_sets(before)


def as_sets(contents: ProjectContents) -> tuple[object, ...]:
    """What is in it, whatever its order."""
    return (
        {*contents.sessions},
        {each.id for each in contents.versions},
        {(each.id, each.content) for each in contents.memories},
        {*contents.branches},
        {*contents.moves},
    )


async def test_what_is_written_to_both_meanwhile_comes_together(store: Store, opener: Opener) -> None:
    """By a process that has the project open as it was, and does not know yet."""
    gnu, okapi = await filled(store, "gnu"), await filled(store, "okapi")
    contents = await read_contents(store, okapi.id)
    other = await opener()
    [parent] = [each for each in contents.versions if each.session_id]
    await other.versions.get([parent.id])
    await merge(store, okapi, gnu, contents)
    late = await new_session(other, okapi, title="late")
    turn: Turn = await said(other, late, "A late okapi.")
    await other.versions.add(a_version(late, parent, turn_id=turn.id, title="late"))
    await other.memories.save(a_memory(late, "Okapis are late.", turn))
    ours = await said(store, await new_session(store, gnu), "A gnu meanwhile.")
    await other.drain(timeout_s=10)
    zebu = a_project(name="zebu", merged_into=okapi.id)
    await store.projects.add(zebu)
    latest = await new_session(other, zebu, title="latest")
    await other.drain(timeout_s=10)
    await bring_late(store, gnu)
    assert (await read_contents(store, okapi.id)).is_empty
    found = await read_contents(store, gnu.id)
    assert {late.id, latest.id, ours.session_id} < {*found.sessions}
    assert "Okapis are late." in {each.content for each in found.memories}
    assert "late" in {each.title for each in found.versions}
    assert {hit.id for hit in await store.search.words(Query("late", gnu.id))} >= {turn.id}
    assert await bring_late(store, gnu) == 0


class Unread:
    """A store that finds no derived records, as a server that is late does."""

    def __init__(self, within: Any) -> None:
        self._within = within

    def __getattr__(self, name: str) -> Any:
        return Unread(self._within.derivations) if name == "derivations" else getattr(self._within, name)

    async def find(self, wanted: object) -> list[Derived]:
        return []


async def test_a_split_takes_back_what_others_moved_who_did_not_see_each_other(store: Store) -> None:
    gnu, okapi = await filled(store, "gnu"), await filled(store, "okapi")
    before, unread = await of_projects(store, gnu, okapi), cast("Store", Unread(store))
    contents = await read_contents(store, okapi.id)
    await merge(unread, okapi, gnu, replace(contents, memories=(), branches={}, moves=()))
    await merge(unread, okapi, gnu, await read_contents(store, okapi.id))
    moved = await read_moved(store, okapi.id)
    assert ({*moved.sessions}, {*moved.moves}) == ({*contents.sessions}, {*contents.moves})
    await split(store, gnu, okapi, await plan_split(store, gnu, set(), moved), moved)
    assert await of_projects(store, gnu, okapi) == before


async def test_a_split_takes_along_what_shares_turns_or_versions(store: Store) -> None:
    project = await filled(store, "gnu")
    [first] = (await read_contents(store, project.id)).sessions
    stored = await store.sessions.get(first)
    assert stored
    head = stored.head
    [turn] = await store.turns.read([head or ""])
    fork = await new_session(store, project, forked_from=first, head=head)
    await said(store, fork, "A fork.", parent=turn)
    apart = await new_session(store, project)
    alone = await said(store, apart, "Apart.")
    await store.memories.save(a_memory(apart, "Same.", alone))
    await store.versions.add(a_version(apart, turn_id=alone.id))
    plan = await plan_split(store, project, {fork.id})
    assert ({*plan.moving.sessions}, plan.along) == ({first, fork.id}, 1)
    assert [each.content for each in plan.copied] == ["Same."]
    with pytest.raises(UsageError, match="belongs together"):
        await plan_split(store, project, {fork.id, apart.id})
    with pytest.raises(UsageError, match="contains none of that"):
        await plan_split(store, project, {"nowhere"})
    target = a_project(name="own")
    await split(store, project, target, plan, None)
    there, here = await read_contents(store, target.id), await read_contents(store, project.id)
    assert ({*there.sessions}, {*here.sessions}) == ({first, fork.id}, {apart.id})
    assert [each.turns for each in here.memories if each.content == "Same."] == [(alone.id,)]
    assert [each.turns for each in there.memories if each.content == "Same."] == [(turn.id,)]


async def is_cut_off(store: Store, after: int, work: Callable[[Store], Awaitable[None]]) -> bool:
    """Whether the work is cut off, after so many writes."""
    try:
        await work(cut_off(store, after, InterruptedError()))
    except InterruptedError:
        return True
    return False


async def split_off(store: Store, project: Project, source: Project) -> None:
    moved = await read_moved(store, source.id)
    await split(store, project, source, await plan_split(store, project, set(), moved), moved)


@pytest.mark.long_on_servers
async def test_what_is_cut_off_at_a_write_is_completed_or_brought_back(store: Store) -> None:
    """At each write: the next merge completes what one began, and what a split had moved comes back."""
    gnu, okapi = await filled(store, "gnu"), await filled(store, "okapi")
    before = await of_projects(store, gnu, okapi)
    both: dict[str, Record] = {}
    at, cut = 0, True
    while cut:
        contents = await read_contents(store, okapi.id)
        cut = await is_cut_off(store, at, partial(merge, source=okapi, target=gnu, contents=contents))
        await merge(store, okapi, gnu, await read_contents(store, okapi.id))
        both = both or await of_projects(store, gnu, okapi)
        assert await of_projects(store, gnu, okapi) == both, f"a merge cut off after {at} writes"
        cut |= await is_cut_off(store, at, partial(split_off, project=gnu, source=okapi))
        if (await of_projects(store, okapi))[f"project/{okapi.id}"] != okapi:
            await bring_late(store, gnu, split_off=True)
            assert await of_projects(store, gnu, okapi) == both, f"a split cut off after {at} writes"
            await split_off(store, gnu, okapi)
        assert await of_projects(store, gnu, okapi) == before, f"a split completed after {at} writes"
        at += 1
    assert at > 5


async def copied(source: Store, store: Store) -> None:
    await follow_unions(source.archive.dump(), store)
    await store.archive.load([record async for record in source.archive.dump()])


@pytest.mark.long_on_servers
async def test_a_copy_stops_before_more_of_what_only_the_target_split_off(
    source: Store, store: Store
) -> None:
    gnu = await filled(source, "gnu")
    cloned = await new_session(source, gnu, project_path="/home/ada/clone", host="laptop")
    turn = await said(source, cloned, "In the clone.")
    first = a_version(cloned, turn_id=turn.id, title="first")
    await source.versions.add(first)
    await copied(source, store)
    clone = a_project(name="clone")
    await split(store, gnu, clone, await plan_split(store, gnu, {cloned.id}), None)
    await said(source, await new_session(source, gnu, project_path="/home/ada/gnu", host="laptop"), "Here.")
    await copied(source, store)  # of another folder

    later = await new_session(source, gnu, project_path="/home/ada/clone", host="laptop")
    turn = await said(source, later, "In the clone again.")
    await source.versions.add(a_version(later, first, turn_id=turn.id, title="second"))
    before = await of_projects(store, gnu, clone)
    with pytest.raises(UsageError, match=f"project merge {clone.id} --into {gnu.id}"):
        await copied(source, store)
    assert await of_projects(store, gnu, clone) == before
    await merge(store, clone, gnu, await read_contents(store, clone.id))
    await copied(source, store)
    assert later.id in (await read_contents(store, gnu.id)).sessions
    await split(store, gnu, clone, await plan_split(store, gnu, {cloned.id, later.id}), None)
    assert {*(await read_contents(store, clone.id)).sessions} == {cloned.id, later.id}


async def test_merges_and_splits_come_with_a_later_copy(source: Store, store: Store) -> None:
    gnu, okapi = await filled(source, "gnu"), await filled(source, "okapi")
    await copied(source, store)
    apart = await of_projects(source, gnu, okapi)
    await merge(source, okapi, gnu, await read_contents(source, okapi.id))
    [parent] = [each for each in (await read_contents(source, gnu.id)).versions if "okapi" in each.title]
    turn = await said(source, late := await new_session(source, gnu), "A late okapi.")
    await source.versions.add(a_version(late, parent, turn_id=turn.id))
    for _ in range(2):
        await copied(source, store)
        assert await of_projects(store, gnu, okapi) == await of_projects(source, gnu, okapi)
    await split_off(source, gnu, okapi)
    other = a_project(name="other")
    alone = await said(source, session := await new_session(source, gnu), "Alone.")
    await copied(source, store)
    await split(source, gnu, other, await plan_split(source, gnu, {session.id}), None)
    there = await of_projects(source, gnu, okapi, other)
    for _ in range(2):
        await copied(source, store)
        assert await of_projects(store, gnu, okapi, other) == there != apart
    assert {hit.id for hit in await store.search.words(Query("alone", other.id))} == {alone.id}
    await merge(store, okapi, gnu, await read_contents(store, okapi.id))
    with pytest.raises(UsageError, match=f"project merge {okapi.id} --into {gnu.id}"):
        await copied(source, store)
    await split_off(store, gnu, okapi)
    await copied(source, store)
    assert await of_projects(store, gnu, okapi, other) == there
