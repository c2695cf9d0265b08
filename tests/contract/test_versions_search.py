"""Versions are found: by what was said, by label and note, and by the lines that changed."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from ragforge.domain.search import INDEXED_KINDS, Candidate, Hit, HitKind, Query, Relation, what
from ragforge.memory.recall.search import Recall, search
from ragforge.store.base import Store
from tests.contract.builders import NOON, a_project, new_session, said
from tests.contract.builders_versions import a_version, new_version, worked

OF_VERSIONS = (HitKind.VERSION,)


async def found(store: Store, words: str, **scope: object) -> list[str]:
    query = replace(Query(words, kinds=OF_VERSIONS), **scope)
    return [hit.id for hit in await store.search.words(query)]


async def test_hit_says_which_version_and_where_it_was_made(store: Store) -> None:
    session = await new_session(store, title="Animals", cwd="/zoo")
    first = await said(store, session)
    turn, version = await worked(store, session, text="Feed the zebra.", below=first)
    (hit,) = await store.search.words(Query("zebra", session.project_id, kinds=OF_VERSIONS))
    assert hit == Hit(
        kind=HitKind.VERSION,
        id=version.id,
        version_id=version.id,
        session_id=session.id,
        session_title="Animals",
        turn_id=turn.id,
        turn_index=1,
        at=version.at,
        score=hit.score,
        text="Feed the zebra.",
        marks=((9, 14),),
        cwd="/zoo",
    )
    assert hit.score > 0
    assert what(hit) == f"version {version.id[-8:]} of turn 2"


async def test_version_that_no_turn_made_is_found_in_its_project(store: Store) -> None:
    project = a_project()
    await store.projects.add(project)
    session = await new_session(store, project)
    version = await new_version(store, project, title="edits of the zebra")
    query = Query("zebra", project_id=project.id)
    (hit,) = await store.search.words(query)
    assert (hit.id, hit.session_id, hit.session_title, hit.turn_id, hit.turn_index, hit.cwd) == (
        version.id, "", "", "", -1, "",
    )  # fmt: skip
    assert what(hit) == f"version {version.id[-8:]}"
    assert await found(store, "zebra", session_id=session.id) == []
    (candidate,) = await store.search.candidates(query)
    assert candidate == Candidate(HitKind.VERSION, version.id, "", "", version.at, words=hit.score)
    assert await store.search.hits([candidate], "zebra") == [hit]
    assert await store.search.related([candidate]) == []


@pytest.mark.emptied
async def test_version_is_found_by_title_label_note_and_changed_lines(store: Store) -> None:
    session = await new_session(store)
    version = await new_version(
        store,
        session,
        title="Feed the zebra.",
        label="okapi",
        note="The gnu was too large.",
        words="src/giraffe.py\n+walrus = 1\n-lion = 2",
    )
    for word in ("zebra", "okapi", "gnu", "giraffe", "walrus", "lion"):
        (hit,) = await store.search.words(Query(word))
        assert hit.id == version.id
        assert [hit.text[start:end] for start, end in hit.marks] == [word]
    await store.versions.label(version.id, "antelope")
    assert await found(store, "antelope") == [version.id]
    assert await found(store, "okapi") == []
    assert await store.check() == []


@pytest.mark.emptied
async def test_what_was_said_ranks_above_the_version_and_its_label_above_its_lines(store: Store) -> None:
    turn, version = await worked(store, await new_session(store), text="Feed the zebra in the morning.")
    hits = await store.search.words(Query("zebra"))
    assert [hit.id for hit in hits] == [turn.id, version.id]
    session = await new_session(store)
    lines = await new_version(store, session, words="+okapi\n+is\n+fed\n+by\n+hand")
    labelled = await new_version(store, session, label="okapi", words="+the\n+gnu\n+is\n+fed")
    assert await found(store, "okapi") == [labelled.id, lines.id]


@pytest.mark.emptied
async def test_turn_that_changed_nothing_is_not_found_twice(store: Store) -> None:
    session = await new_session(store)
    turn, version = await worked(store, session, text="Tell me of the zebra.", changes=(), label="okapi")
    assert [hit.id for hit in await store.search.words(Query("zebra"))] == [turn.id]
    assert await found(store, "march") == []
    assert await found(store, "okapi") == [version.id], "a label is the person's own"
    await store.versions.label(version.id, "")
    assert await found(store, "okapi") == []
    assert await store.check() == []


@pytest.mark.emptied
async def test_search_of_versions_keeps_to_project_session_time_and_kind(store: Store) -> None:
    project = a_project()
    await store.projects.add(project)
    here, there = await new_session(store, project), await new_session(store, project)
    elsewhere = await new_session(store)
    march = datetime(2026, 3, 5, 9, tzinfo=UTC)
    mine = await new_version(store, here, title="zebra", at=march)
    other = await new_version(store, there, title="zebra", at=march + timedelta(days=100))
    far = await new_version(store, elsewhere, title="zebra", at=march)
    assert set(await found(store, "zebra")) == {mine.id, other.id, far.id}
    assert set(await found(store, "zebra", project_id=project.id)) == {mine.id, other.id}
    assert await found(store, "zebra", session_id=here.id) == [mine.id]
    assert await found(store, "zebra", since=march + timedelta(days=1)) == [other.id]
    assert set(await found(store, "zebra", until=march + timedelta(days=1))) == {mine.id, far.id}
    assert set(await found(store, "march")) == {mine.id, far.id}
    assert len(await found(store, "zebra", limit=2)) == 2
    others = tuple(kind for kind in INDEXED_KINDS if kind is not HitKind.VERSION)
    assert await found(store, "zebra", kinds=others) == []


async def test_version_of_a_left_turn_is_marked(store: Store) -> None:
    session = await new_session(store)
    turn, version = await worked(store, session, text="Feed the zebra.")
    await new_version(store, session, version, title="undo of the zebra")
    await store.sessions.set_head(session.id, None)
    hits = {
        hit.turn_id: hit
        for hit in await store.search.words(Query("zebra", session.project_id, kinds=OF_VERSIONS))
    }
    assert hits[turn.id].abandoned
    assert what(hits[turn.id]).endswith(", undone")
    assert not hits[""].abandoned, "no turn made it"
    await store.sessions.set_head(session.id, turn.id)
    assert not any(
        hit.abandoned
        for hit in await store.search.words(Query("zebra", session.project_id, kinds=OF_VERSIONS))
    )


@pytest.mark.emptied
async def test_version_leads_to_its_turn(store: Store) -> None:
    session = await new_session(store)
    turn, version = await worked(store, session, text="Do it.", words="+okapi = 1")
    (candidate,) = await store.search.candidates(Query("okapi"))
    assert candidate.id == version.id
    (related,) = await store.search.related([candidate])
    assert (related.of, related.relation, related.turn.id) == (version.id, Relation.CITED, turn.id)
    answer = await search(Recall(store), Query("okapi", project_id=session.project_id))
    assert [hit.id for hit in answer.hits] == [version.id, turn.id]


async def test_words_of_a_diff_that_no_database_holds_are_no_hindrance(store: Store) -> None:
    project = a_project()
    await store.projects.add(project)
    version = a_version(project, words="+\ud800 zebra\x00 \x1b[31m " + "è" * 20_000, at=NOON)
    await store.versions.add(version)
    (hit,) = await store.search.words(Query("zebra", project.id))
    assert hit.id == version.id
    assert "\x1b" not in hit.text
