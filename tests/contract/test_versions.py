"""The tree of versions: what is kept, and what leads from one to the other."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from ragforge.domain.errors import Conflict
from ragforge.domain.ids import new_id
from ragforge.domain.usage import Usage
from ragforge.domain.versions import Change, NodeKind, Provenance, Untracked, Version
from ragforge.store.base import Store
from ragforge.store.base_versions import VersionRow
from tests.contract.builders import NOON, a_project, new_session, said
from tests.contract.builders_versions import a_change, a_node, a_version, new_line, new_version
from tests.contract.conftest import Opener


def short(version: Version) -> Version:
    return replace(version, changes=(), words="")


@pytest.mark.emptied
async def test_version_comes_back_as_it_was(store: Store) -> None:
    session = await new_session(store)
    turn = await said(store, session)
    ours, theirs = await new_version(store, session), await new_version(store, session)
    link = a_node("target", kind=NodeKind.LINK, mode=0)
    folder = a_node("", kind=NodeKind.FOLDER, digest="", mode=0o755)
    changes = (
        a_change("src/new.py"),
        a_change("run.sh", before=a_node("a"), after=a_node("a", mode=0o755), provenance=Provenance.SHELL),
        a_change("old.py", before=a_node("b"), after=None, provenance=Provenance.OUTSIDE),
        a_change("moved.py", after=a_node("b"), renamed_from="old.py", provenance=Provenance.RESTORE),
        a_change("a link", before=link, after=folder, provenance=Provenance.MERGE, shared=True),
    )
    version = a_version(
        session,
        ours,
        theirs,
        changes=changes,
        turn_id=turn.id,
        label="works",
        note="Found after a crash.",
        words="src/new.py\n+x = 1",
        untracked=(Untracked("dump.bin", "over 10 MB"), Untracked("node_modules/", "ignored")),
        lines_added=3,
        lines_removed=2,
        usage=Usage(1, 2, 3, 4),
        cost_usd=None,
        duration_ms=1234,
    )
    await store.versions.add(version)
    assert await store.versions.get([version.id]) == [version]
    assert await store.versions.rows(session.project_id, limit=1) == [VersionRow(short(version), 4)]
    assert await store.check() == []


async def test_a_rename_is_one_file(store: Store) -> None:
    project = a_project()
    await store.projects.add(project)
    renamed = (
        Change("b.py", None, a_node("x"), Provenance.TOOL, renamed_from="a.py"),
        Change("a.py", a_node("x"), None, Provenance.TOOL),
        Change("c.py", a_node("x"), None, Provenance.TOOL),
    )
    await new_version(store, project, changes=renamed)
    await new_version(store, project, changes=(), at=NOON)
    assert [row.files for row in await store.versions.rows(project.id)] == [2, 0]


async def test_names_in_any_script_and_of_no_valid_text_come_back(store: Store) -> None:
    project = a_project()
    await store.projects.add(project)
    names = (
        "naïve/日本語 🦓.py",
        "line\nbreak\t.py",
        "-rf *",
        "bad\udce9name.txt",
        "\udc80/\udcff",
        "qu\"o'te\\",
    )
    for path in names:
        changes = (a_change(path), a_change("other.py", renamed_from=path))
        version = a_version(project, changes=changes, untracked=(Untracked(path, "too large"),))
        await store.versions.add(version)
        assert await store.versions.get([version.id]) == [version]


async def test_text_that_no_database_holds_is_made_storable(store: Store) -> None:
    project = a_project()
    await store.projects.add(project)
    version = await new_version(
        store, project, title="\ud800 zebra", words="+\udfff", note="\ud83d", label="\udc00"
    )
    (found,) = await store.versions.get([version.id])
    assert (found.title, found.words, found.note, found.label) == (
        "\ufffd zebra",
        "+\ufffd",
        "\ufffd",
        "\ufffd",
    )


async def test_version_that_is_there_stays_as_it_is(store: Store) -> None:
    session = await new_session(store)
    first = await new_version(store, session)
    child = await new_version(store, session, first)
    await store.versions.add(child)
    await store.versions.add(replace(child, parents=(), changes=(), title="Another."))
    assert await store.versions.get([child.id]) == [child]
    assert await store.versions.line(child.id) == [child, first]


async def test_get_gives_those_that_there_are_in_the_order_asked_for(store: Store) -> None:
    session = await new_session(store)
    first, second, third = await new_line(store, session, 3)
    ids = [third.id, "nowhere", first.id, third.id, "\ud800", second.id]
    assert await store.versions.get(ids) == [third, first, second]
    assert await store.versions.get([]) == []


async def test_what_a_version_names_must_be_stored(store: Store) -> None:
    session = await new_session(store)
    elsewhere = await new_version(store, await new_session(store))
    nowhere = new_id()
    for wrong, named in (
        (a_version(a_project(id=nowhere)), nowhere),
        (a_version(replace(session, id=nowhere)), nowhere),
        (a_version(session, turn_id=nowhere), nowhere),
        (replace(a_version(session), parents=(nowhere,)), nowhere),
        (replace(a_version(session), parents=(elsewhere.id,)), elsewhere.id),
    ):
        with pytest.raises(Conflict, match=named):
            await store.versions.add(wrong)
        assert await store.versions.get([wrong.id]) == []
    assert await store.versions.rows(session.project_id) == []


async def test_version_is_no_child_of_itself(store: Store) -> None:
    project = a_project()
    await store.projects.add(project)
    version = a_version(project)
    with pytest.raises(Conflict):
        await store.versions.add(replace(version, parents=(version.id,)))
    first = await new_version(store, project)
    second = await new_version(store, project, first)
    # What is there never gets other parents: no circle closes.
    await store.versions.add(replace(first, parents=(second.id,)))
    assert [each.id for each in await store.versions.line(second.id)] == [second.id, first.id]
    assert await store.versions.line(first.id) == [first]


async def test_line_goes_by_first_parents_to_the_root(store: Store) -> None:
    session = await new_session(store)
    main = await new_line(store, session, 4)
    side = await new_version(store, session, main[1])
    merged = await new_version(store, session, main[3], side)
    line = [merged, *reversed(main)]
    assert await store.versions.line(merged.id) == line
    assert await store.versions.line(merged.id, limit=2) == line[:2]
    assert await store.versions.line(merged.id, limit=99) == line
    assert await store.versions.line(merged.id, limit=0) == []
    assert await store.versions.line(side.id) == [side, main[1], main[0]]
    assert await store.versions.line("nowhere") == []


async def test_children_are_those_of_any_parent_oldest_first(store: Store) -> None:
    session = await new_session(store)
    first, second = await new_line(store, session, 2)
    late = await new_version(store, session, first, at=NOON + timedelta(hours=2))
    early = await new_version(store, session, first, at=NOON + timedelta(hours=1))
    merged = await new_version(store, session, late, first)
    assert await store.versions.children(first.id) == [second, early, late, merged]
    assert await store.versions.children(late.id) == [merged]
    assert await store.versions.children(merged.id) == await store.versions.children("nowhere") == []


async def test_rows_come_newest_first_and_page_by_page(store: Store) -> None:
    session = await new_session(store)
    await new_version(store, await new_session(store))
    # Three at the same moment: then the id decides.
    versions = [await new_version(store, session, at=NOON) for _ in range(3)]
    versions += await new_line(store, session, 4)
    wanted = [
        VersionRow(short(each), 1) for each in sorted(versions, key=lambda v: (v.at, v.id), reverse=True)
    ]
    assert await store.versions.rows(session.project_id) == wanted
    assert await store.versions.rows(session.project_id, limit=3) == wanted[:3]
    paged: list[VersionRow] = []
    before = None
    while page := await store.versions.rows(session.project_id, limit=2, before=before):
        paged += page
        before = page[-1].version.id
    assert paged == wanted
    assert await store.versions.rows(session.project_id, limit=0) == []
    assert await store.versions.rows(session.project_id, before="nowhere") == []
    assert await store.versions.rows("nowhere") == []


async def test_version_is_found_by_either_end_of_its_id_and_by_its_label(store: Store) -> None:
    session = await new_session(store)
    elsewhere = await new_version(store, await new_session(store), label="works")
    first, second, third = await new_line(store, session, 3)
    await store.versions.label(first.id, "works")
    await store.versions.label(third.id, "works")

    async def named(part: str, limit: int = 5) -> list[str]:
        found = await store.versions.with_id_part(session.project_id, part, limit=limit)
        assert all(not each.changes and not each.words for each in found)
        return [each.id for each in found]

    for part in (second.id, second.id[-8:], second.id[-8:].upper(), second.id[:-4], second.id[-8:-2]):
        assert await named(part) == [second.id]
    assert await named("works") == [third.id, first.id]
    assert await named("works", limit=1) == [third.id]
    for nothing in ("work", "", "nowhere", elsewhere.id, "%", "_", "\ud800"):
        assert await named(nothing) == []
    assert await store.versions.with_id_part("nowhere", "works") == []


async def test_label_can_be_given_changed_and_taken_away(store: Store) -> None:
    version = await new_version(store, await new_session(store))
    for label in ("works", "it really works 🎉", ""):
        await store.versions.label(version.id, label)
        assert await store.versions.get([version.id]) == [replace(version, label=label)]
    with pytest.raises(Conflict, match="nowhere"):
        await store.versions.label("nowhere", "lost")


@pytest.mark.emptied
async def test_all_ids_come_oldest_first(store: Store) -> None:
    session, other = await new_session(store), await new_session(store)
    assert await store.versions.all_ids() == []
    second = await new_version(store, session, at=NOON + timedelta(hours=2))
    third = await new_version(store, other, at=NOON + timedelta(hours=3))
    first = await new_version(store, session, at=NOON + timedelta(hours=1))
    assert await store.versions.all_ids() == [first.id, second.id, third.id]
    assert await store.versions.all_ids(session.project_id) == [first.id, second.id]
    assert await store.versions.all_ids("nowhere") == []


@pytest.mark.emptied
async def test_parents_come_first_whatever_clocks_say(store: Store) -> None:
    session = await new_session(store)
    ahead = await new_version(store, session, at=NOON + timedelta(hours=1))
    behind = await new_version(store, session, at=NOON)
    merged = a_version(session, behind, ahead, at=NOON)
    await store.versions.add(merged)
    (found,) = await store.versions.get([merged.id])
    assert found == replace(merged, at=ahead.at + timedelta(milliseconds=1))
    # At the same moment the order of the ids is enough.
    same = a_version(session, ahead, at=ahead.at, id=new_id())
    await store.versions.add(same)
    assert await store.versions.get([same.id]) == [same]
    smaller = a_version(session, same, at=same.at, id="00" + new_id()[2:])
    await store.versions.add(smaller)
    assert await store.versions.all_ids(session.project_id) == [
        behind.id,
        ahead.id,
        same.id,
        *sorted([merged.id, smaller.id]),
    ]
    assert await store.check() == []


async def test_versions_are_there_for_whoever_opens_the_store_next(store: Store, opener: Opener) -> None:
    session = await new_session(store)
    line = await new_line(store, session, 3)
    await store.drain(timeout_s=120)
    again = await opener()
    assert await again.versions.line(line[-1].id) == line[::-1]
    more = await new_version(again, session, line[-1])
    await again.drain(timeout_s=120)
    assert await store.versions.get([more.id]) == [more]
