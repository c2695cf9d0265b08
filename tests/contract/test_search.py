from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from ragforge.domain.ids import new_id
from ragforge.domain.messages import CommandPart, TextPart
from ragforge.domain.search import Hit, HitKind, Query
from ragforge.memory.recall.search import Recall, search
from ragforge.store.base import Store
from tests.contract.builders import (
    NOON,
    a_call,
    a_memory,
    a_project,
    a_request,
    a_step,
    a_summary,
    a_turn,
    an_end,
    new_session,
    said,
)


@pytest.mark.emptied
async def test_hit_says_where_it_was_found(store: Store) -> None:
    session = await new_session(store, title="Animals", cwd="/zoo")
    first = await said(store, session, "Feed the lions.")
    turn = await said(store, session, "Why does the zebra have stripes?", parent=first)
    hit, *_ = (await search(Recall(store), Query("zebra", session.project_id))).hits
    assert hit == Hit(
        kind=HitKind.TURN,
        id=turn.id,
        session_id=session.id,
        session_title="Animals",
        turn_id=turn.id,
        turn_index=1,
        at=turn.started_at,
        score=hit.score,
        text="Why does the zebra have stripes?",
        marks=((13, 18),),
        cwd="/zoo",
    )
    assert hit.score > 0


async def test_tool_call_is_found_by_name_argument_and_result(store: Store) -> None:
    session = await new_session(store)
    turn = a_turn(session)
    await store.turns.start(turn)
    step = a_step(turn, 0, "", a_request("shell", command="make okapi"))
    call = a_call(step, result="Traceback: gnu not found")
    await store.calls.add(call, step)
    for words in ("okapi", "gnu", "shell"):
        (hit,) = await store.search.words(Query(words, session.project_id))
        assert (hit.kind, hit.id, hit.turn_id, hit.tool) == (HitKind.TOOL_CALL, call.id, turn.id, "shell")
        assert [hit.text[start:end] for start, end in hit.marks] == [words]


async def test_turn_is_found_by_the_files_its_tools_touched(store: Store) -> None:
    session = await new_session(store)
    turn = a_turn(session)
    await store.turns.start(turn)
    step = a_step(turn, 0, "", a_request("read", path="src/okapi.py"))
    await store.calls.add(a_call(step), step)
    await store.turns.end(an_end(turn))
    assert {hit.kind for hit in await store.search.words(Query("okapi", session.project_id))} == {
        HitKind.TURN,
        HitKind.TOOL_CALL,
    }


async def test_turn_is_found_by_the_commands_that_the_user_ran_before_it(store: Store) -> None:
    session = await new_session(store)
    ran = CommandPart("1", "pytest tests/test_okapi.py", "E  gnu is None\n[Exit code 1]")
    turn = await said(store, session, "Why?", user=(ran, TextPart("Why?")))
    for words in ("pytest", "okapi", "gnu"):
        (hit,) = await store.search.words(Query(words, session.project_id))
        assert (hit.kind, hit.id) == (HitKind.TURN, turn.id), words
        assert words in [hit.text[start:end] for start, end in hit.marks]


async def test_running_turn_is_found_at_once(store: Store) -> None:
    session = await new_session(store)
    turn = a_turn(session, "Count the zebras.")
    await store.turns.start(turn)
    assert [hit.id for hit in await store.search.words(Query("zebra", session.project_id))] == [turn.id]


@pytest.mark.emptied
async def test_what_the_user_said_ranks_above_a_long_answer(store: Store) -> None:
    session = await new_session(store)
    answered = await said(
        store, session, "Tell me a story.", answer="The zebra met a zebra. " + "And so on. " * 50
    )
    asked = await said(store, await new_session(store), "Is the zebra fed, and by whom, and when and where?")
    assert [hit.id for hit in await store.search.words(Query("zebra"))] == [asked.id, answered.id]


@pytest.mark.emptied
async def test_turn_is_found_by_the_words_just_before_and_after_it(store: Store) -> None:
    session = await new_session(store)
    turns = [await said(store, session, "About the zebra.")]
    for text in ("Yes, that one.", "Feed it.", "And then?", "And the okapi?"):
        turns.append(await said(store, session, text, parent=turns[-1]))
    said_it, *near = [hit.id for hit in await store.search.words(Query("zebra", session.project_id))]
    assert (said_it, {*near}) == (turns[0].id, {turns[1].id, turns[2].id})
    assert [hit.id for hit in await store.search.words(Query("okapi", session.project_id))] == [
        turns[4].id,
        turns[3].id,
    ]


@pytest.mark.emptied
async def test_turn_is_found_by_the_words_after_it_though_their_writer_died(store: Store) -> None:
    session = await new_session(store)
    first = await said(store, session, "About the zebra.")
    await store.turns.start(last := a_turn(session, "And the okapi?", parent=first))
    claim = await store.sessions.claim(session.id)
    assert [hit.id for hit in await store.search.words(Query("okapi", session.project_id))] == [
        last.id,
        first.id,
    ]
    await claim.release()


async def test_turn_is_found_by_its_date(store: Store) -> None:
    session = await new_session(store)
    march = await said(store, session, "Feed them.", started_at=datetime(2026, 3, 5, 9, tzinfo=UTC))
    await said(store, session, "Feed them.", started_at=datetime(2026, 7, 6, 9, tzinfo=UTC))
    assert [hit.id for hit in await store.search.words(Query("march", session.project_id))] == [march.id]


async def test_inflected_words_and_accents_match_and_are_marked(store: Store) -> None:
    session = await new_session(store)
    await said(store, session, "🎉 Les éléphants étaient running through cafés")
    (hit,) = await store.search.words(Query("elephants, run! cafes", session.project_id))
    assert [hit.text[start:end] for start, end in hit.marks] == ["éléphants", "running", "cafés"]


@pytest.mark.parametrize("words", ["session store", "SessionStore", "the sessions"])
async def test_a_compound_name_is_found_and_marked_by_its_parts_and_as_a_whole(
    store: Store, words: str
) -> None:
    session = await new_session(store)
    await said(store, session, "Why does it wait?", answer="Because openSessionStore locks it.")
    turn = a_turn(session)
    await store.turns.start(turn)
    step = a_step(turn, 0, "", a_request("read", path="src/SessionStore.ts"))
    await store.calls.add(a_call(step), step)
    found = await store.search.words(Query(words, session.project_id))
    assert {hit.kind for hit in found} == {HitKind.TURN, HitKind.TOOL_CALL}
    marked = {hit.text[start:end] for hit in found for start, end in hit.marks}
    assert marked == ({"Session"} if words == "the sessions" else {"SessionStore"})


@pytest.mark.parametrize(
    ("words", "marked"),
    [
        ("数据库", "数据库"),
        ("哪个数据库？", "数据库"),
        ("存储", "存储"),
        ("SQLite", "SQLite"),
        ("会话", "会话"),
        ("会话 存储", "存储会话"),
    ],
)
async def test_a_script_without_spaces_is_found_and_marked_by_its_words(
    store: Store, words: str, marked: str
) -> None:
    session = await new_session(store)
    turn = await said(store, session, "我们决定用SQLite数据库存储会话")
    (hit,) = await store.search.words(Query(words, session.project_id))
    assert hit.id == turn.id
    assert [hit.text[start:end] for start, end in hit.marks] == [marked]
    assert await store.search.words(Query("天气", session.project_id)) == []


@pytest.mark.emptied
async def test_a_word_ranks_above_a_name_that_only_holds_it(store: Store) -> None:
    session = await new_session(store)
    compound = await said(store, session, "Write it in JavaScript then.")
    plain = await said(store, session, "Write it in Java then.")
    found = await store.search.words(Query("java", session.project_id))
    assert [hit.id for hit in found] == [plain.id, compound.id]


async def test_excerpt_is_the_place_where_most_words_stand(store: Store) -> None:
    session = await new_session(store)
    filler = "Nothing of note happened here for a while. " * 40
    await said(store, session, f"A zebra. {filler} The zebra fed the okapi. {filler}")
    (hit,) = await store.search.words(Query("zebra okapi", session.project_id))
    assert "zebra fed the okapi" in hit.text
    assert len(hit.text) <= 260
    assert hit.text.startswith("… ")
    assert hit.text.endswith(" …")
    assert {hit.text[start:end] for start, end in hit.marks} == {"zebra", "okapi"}


async def test_excerpt_is_one_line_without_control_characters(store: Store) -> None:
    session = await new_session(store)
    await said(store, session, "a\n\tzebra\x1b[31m\x00 red")
    (hit,) = await store.search.words(Query("zebra", session.project_id))
    assert hit.text == "a zebra [31m red"


@pytest.mark.emptied
async def test_search_keeps_to_project_session_and_time_before_it_counts(store: Store) -> None:
    project = a_project()
    await store.projects.add(project)
    here, there, elsewhere = (
        await new_session(store, project),
        await new_session(store, project),
        await new_session(store),
    )
    for number in range(30):
        await said(store, elsewhere, f"zebra {number}", started_at=NOON - timedelta(days=1))
    turns = [await said(store, session, "a zebra among many other animals") for session in (here, there)]

    async def found(**scope: object) -> set[str]:
        return {hit.id for hit in await store.search.words(replace(Query("zebra", limit=5), **scope))}

    assert await found(project_id=project.id) == {turn.id for turn in turns}
    assert await found(session_id=here.id) == {turns[0].id}
    assert await found(session_id=here.id, project_id=elsewhere.project_id) == set()
    assert await found(since=NOON) == {turn.id for turn in turns}
    assert await found(since=NOON + timedelta(days=9)) == set()
    assert await found(project_id="nowhere") == set()
    assert len(await found()) == 5


async def test_words_count_by_how_rare_they_are_in_the_project(store: Store) -> None:
    here, elsewhere = a_project(), a_project()
    await store.projects.add(here)
    await store.projects.add(elsewhere)
    for number in range(6):
        await said(store, await new_session(store, here), f"The heron stood at place {number}.")
    rare = await said(store, await new_session(store, here), "The bittern stood at place seven.")
    for number in range(20):
        await said(store, await new_session(store, elsewhere), f"A bittern at pond {number}.")
    hits = await store.search.words(Query("heron or bittern", here.id))
    assert hits[0].id == rare.id
    assert len(hits) == 7


async def test_limit_is_kept(store: Store) -> None:
    session = await new_session(store)
    for number in range(5):
        await said(store, session, f"zebra {number}")
    assert len(await store.search.words(Query("zebra", session.project_id, limit=3))) == 3
    assert await store.search.words(Query("zebra", session.project_id, limit=0)) == []
    assert await store.search.words(Query("zebra", session.project_id, limit=-1)) == []
    assert len(await store.search.words(Query("zebra", session.project_id, limit=10**12))) == 5


@pytest.mark.emptied
async def test_stop_words_do_not_find_everything_but_alone_they_find(store: Store) -> None:
    session = await new_session(store)
    await said(store, session, "What is the matter with it?")
    zebra = await said(store, session, "The zebra.")
    assert [hit.id for hit in await store.search.words(Query("what is the zebra"))] == [zebra.id]
    assert await store.search.words(Query("est-ce que la girafe est dans le zoo")) == []
    assert len(await store.search.words(Query("the"))) == 2


STRANGE = (
    "",
    "   \n\t",
    '"',
    "'; DROP TABLE turn; --",
    'zebra" OR "',
    "NEAR(zebra okapi, 5) AND NOT *",
    "scope : p1 OR user:zebra -col {a b} ^zebra*",
    "zebra\x00okapi",
    "\ud83d zebra",
    "🎉🦓",
    "%_*?[]()<>{}\\",
    "zebra " * 20_000,
    "\x00" * 1000,
    "è" * 100_000,
    " ".join(str(number) for number in range(20_000)),
    "数据库 базы δεδομένων قاعدة",
)


async def test_any_input_is_fine(store: Store) -> None:
    session = await new_session(store)
    turn = await said(store, session, "The zebra.")
    for text in STRANGE:
        hits = await store.search.words(Query(text, session.project_id))
        assert [hit.id for hit in hits] == ([turn.id] if "zebra" in text else []), text[:40]


async def test_scope_is_no_text_to_be_found(store: Store) -> None:
    session = await new_session(store)
    await said(store, session, "The zebra.")
    for text in ("p1", "s1", "kt", "k0"):
        assert await store.search.words(Query(text, session.project_id)) == []


async def test_words_of_a_deleted_or_unknown_scope_find_nothing(store: Store) -> None:
    await said(store, await new_session(store), "The zebra.")
    assert await store.search.words(Query("zebra", session_id=new_id())) == []


async def test_what_one_user_said_is_found_alone(store: Store) -> None:
    """Turns, their calls and summaries, and memories that are theirs or rest on what they said."""
    session = await new_session(store)
    ada = await said(store, session, "The zebra of Ada.", person="ada@example.org")
    bob = await said(store, session, "The zebra of Bob.", parent=ada, person="bob@example.org")
    nobody = await said(store, session, "The zebra of nobody.", parent=bob)
    step = a_step(ada, 0, "", a_request("shell", command="zebra"))
    await store.calls.add(call := a_call(step), step)
    mine, both = a_summary(session, "A zebra.", ada), a_summary(session, "Two zebras.", bob)
    above = a_summary(session, "All zebras.", mine, both)
    for summary in (mine, both, above):
        await store.summaries.save(summary)
    wish = a_memory(session, "Likes zebras.", owner="ada@example.org")
    fact = a_memory(session, "The zebra is striped.", ada)
    eats = a_memory(session, "The zebra eats.", bob)
    for memory in (wish, fact, eats):
        await store.memories.save(memory)
    found = await search(
        Recall(store), Query("zebra", session.project_id, by="ada@example.org", person="ada@example.org")
    )
    assert {hit.id for hit in found.hits} == {ada.id, call.id, mine.id, wish.id, fact.id}
    words = await store.search.words(Query("zebra", session.project_id, by="bob@example.org"))
    assert {hit.id for hit in words} == {bob.id, both.id, eats.id}
    ids = [nobody.id, bob.id, ada.id, new_id()]
    assert await store.turns.writers(ids) == {ada.id: "ada@example.org", bob.id: "bob@example.org"}
    assert {"ada@example.org", "bob@example.org"} <= {*await store.turns.everybody()}
