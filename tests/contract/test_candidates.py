import math
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from ragforge.domain.errors import UsageError
from ragforge.domain.search import Candidate, HitKind, Query
from ragforge.domain.turns import Turn
from ragforge.domain.vectors import Nearby
from ragforge.store.base import Store
from tests.contract.builders import (
    DIMENSIONS,
    a_call,
    a_project,
    a_request,
    a_step,
    a_summary,
    a_turn,
    a_vector,
    an_embedding,
    an_end,
    an_odd_vector,
    conversation,
    new_session,
    said,
)

MODEL = "static:minilm-256-2"


def nearby(*numbers: float, **values: Any) -> Nearby:
    return Nearby(a_vector(*numbers), MODEL, **values)


async def three_turns(store: Store) -> tuple[str, list[Turn]]:
    """About a zebra, an okapi and a gnu; their vectors point east, north and west. And their project."""
    project = a_project()
    await store.projects.add(project)
    turns = [
        await said(store, await new_session(store, project), text)
        for text in ("the zebra", "the okapi", "the gnu")
    ]
    await store.vectors.use(MODEL, DIMENSIONS)
    await store.vectors.save(
        [an_embedding(turn, *numbers) for turn, numbers in zip(turns, [(1, 0), (0, 1), (-1, 0)], strict=True)]
    )
    return project.id, turns


def by_id(found: list[Candidate]) -> dict[str, Candidate]:
    ids = [candidate.id for candidate in found]
    assert len(ids) == len(set(ids)), "each once"
    return dict(zip(ids, found, strict=True))


async def test_candidates_are_the_best_by_words_and_the_nearest(store: Store) -> None:
    project, (zebra, okapi, gnu) = await three_turns(store)
    found = by_id(
        await store.search.candidates(Query("okapi", project), nearby(1, 0, limit=1, project_id=project))
    )
    assert found.keys() == {okapi.id, zebra.id}
    assert found[zebra.id] == Candidate(
        HitKind.TURN,
        zebra.id,
        zebra.session_id,
        zebra.id,
        zebra.started_at,
        words=None,
        meaning=pytest.approx(1, abs=1e-3),
    )
    assert found[okapi.id].words is not None
    assert found[okapi.id].meaning == pytest.approx(0.5, abs=1e-3), "though it is not among the nearest"
    both = by_id(
        await store.search.candidates(Query("gnu", project), nearby(-1, 0, limit=1, project_id=project))
    )
    assert both.keys() == {gnu.id}
    assert (both[gnu.id].words or 0) > 0
    assert both[gnu.id].meaning == pytest.approx(1, abs=1e-3)


async def test_without_a_vector_only_words_count(store: Store) -> None:
    project, (zebra, *_) = await three_turns(store)
    (found,) = await store.search.candidates(Query("zebra", project))
    (hit,) = await store.search.words(Query("zebra", project))
    assert (found.id, found.words, found.meaning) == (zebra.id, hit.score, None)
    assert await store.search.candidates(Query("", project)) == []


async def test_other_words_for_the_same_find_too_and_count_for_less(store: Store) -> None:
    project, (zebra, okapi, _) = await three_turns(store)
    for query in (Query("okapi", also=("zebra",)), Query("okapi", also=("zebra", "zebras", "unheard-of"))):
        found = await store.search.candidates(replace(query, project_id=project))
        assert [each.id for each in found] == [okapi.id, zebra.id]
        assert (found[0].words or 0) > (found[1].words or 0) > 0
    (alone,) = await store.search.words(Query("unheard-of", also=("zebra",), project_id=project))
    assert alone.id == zebra.id


async def test_without_a_word_that_is_found_only_meaning_counts(store: Store) -> None:
    project, turns = await three_turns(store)
    for text in ("", "  \n", "!?…", "unheard-of", '"', "a:b OR (NOT"):
        found = by_id(await store.search.candidates(Query(text, project), nearby(1, 0, project_id=project)))
        assert found.keys() == {turn.id for turn in turns}, text
        assert {candidate.words for candidate in found.values()} == {None}


async def test_limits_and_scopes_hold_for_each_source_by_itself(store: Store) -> None:
    project, (zebra, okapi, gnu) = await three_turns(store)
    query = Query("zebra okapi gnu", project, limit=2)
    found = by_id(await store.search.candidates(query, nearby(1, 0, limit=0, project_id=project)))
    assert len(found) == 2
    assert all(candidate.words is not None for candidate in found.values())
    assert (
        await store.search.candidates(
            Query("zebra", project, limit=0), nearby(1, 0, limit=0, project_id=project)
        )
        == []
    )
    scoped = await store.search.candidates(
        Query("zebra okapi", project, session_id=okapi.session_id),
        nearby(1, 0, session_id=gnu.session_id, project_id=project),
    )
    assert by_id(scoped).keys() == {okapi.id, gnu.id}
    later = zebra.started_at + timedelta(milliseconds=1)
    assert (
        await store.search.candidates(
            Query("zebra", project, since=later), nearby(1, 0, since=later, project_id=project)
        )
        == []
    )


async def test_meaning_is_of_the_model_that_was_asked_for(store: Store) -> None:
    project, (zebra, *_) = await three_turns(store)
    await store.vectors.save([an_embedding(zebra, 1, 0, model="another")])
    (found,) = await store.search.candidates(
        Query("zebra", project), nearby(1, 0, limit=0, project_id=project)
    )
    assert (found.id, found.meaning) == (zebra.id, None)
    (found,) = await store.search.candidates(
        Query("zebra", project), Nearby(an_odd_vector(1, 0, 0), MODEL, project_id=project)
    )
    assert (found.id, found.meaning) == (zebra.id, None)


async def test_tool_calls_and_summaries_are_candidates_too(store: Store) -> None:
    session = await new_session(store, title="Animals")
    turn = a_turn(session, "Feed it.")
    await store.turns.start(turn)
    step = a_step(turn, 0, "", a_request("shell", command="feed zebra"))
    call = a_call(step)
    await store.calls.add(call, step)
    await store.turns.end(an_end(turn))
    level_1 = a_summary(session, "The zebra was fed.", turn)
    level_2 = a_summary(session, "All are fed.", level_1)
    for summary in (level_1, level_2):
        await store.summaries.save(summary)
    await store.vectors.use(MODEL, DIMENSIONS)
    await store.vectors.save([an_embedding(level_1, 0, 1), an_embedding(level_2, 1, 0)])
    found = by_id(
        await store.search.candidates(
            Query("zebra", session.project_id), nearby(1, 0, limit=1, project_id=session.project_id)
        )
    )
    assert found.keys() == {call.id, level_1.id, level_2.id}
    assert (found[call.id].kind, found[call.id].turn_id, found[call.id].meaning) == (
        HitKind.TOOL_CALL,
        turn.id,
        None,
    )
    assert found[level_1.id].meaning == pytest.approx(0.5, abs=1e-3)
    assert found[level_2.id] == Candidate(
        HitKind.SUMMARY,
        level_2.id,
        session.id,
        turn.id,
        level_2.at,
        words=None,
        meaning=pytest.approx(1, abs=1e-3),
        level=2,
    )

    wanted = [found[level_2.id], found[call.id], found[level_1.id]]
    hits = await store.search.hits(wanted, "zebra")
    assert [hit.id for hit in hits] == [candidate.id for candidate in wanted]
    assert [hit.kind for hit in hits] == [HitKind.SUMMARY, HitKind.TOOL_CALL, HitKind.SUMMARY]
    assert [hit.level for hit in hits] == [2, 0, 1]
    assert {(hit.turn_id, hit.turn_index, hit.session_title) for hit in hits} == {(turn.id, 0, "Animals")}
    assert [[hit.text[start:end] for start, end in hit.marks] for hit in hits] == [[], ["zebra"], ["zebra"]]
    assert hits[0].text == "All are fed."


async def test_hits_leave_out_what_was_deleted_meanwhile(store: Store) -> None:
    project, (zebra, okapi, _) = await three_turns(store)
    found = by_id(await store.search.candidates(Query("zebra okapi", project)))
    await store.sessions.delete(zebra.session_id)
    hits = await store.search.hits([found[zebra.id], found[okapi.id]], "okapi")
    assert [hit.id for hit in hits] == [okapi.id]
    assert await store.search.hits([], "okapi") == []


async def test_hit_without_the_words_shows_how_it_begins(store: Store) -> None:
    session = await new_session(store)
    turn = await said(store, session, "How is it? " + "And so on. " * 100)
    (candidate,) = await store.search.candidates(Query("so on", session.project_id))
    (hit,) = await store.search.hits([candidate], "unheard-of")
    assert hit.text.startswith("How is it?")
    assert (hit.id, hit.marks) == (turn.id, ())
    (hit,) = await store.search.hits([candidate], "")
    assert hit.marks == ()


async def test_question_that_cannot_be_compared_is_refused(store: Store) -> None:
    await conversation(store, await new_session(store), 1)
    for vector in (a_vector(), a_vector(0, 0), a_vector(math.nan)):
        with pytest.raises(UsageError):
            await store.search.candidates(Query("question"), Nearby(vector, MODEL))
