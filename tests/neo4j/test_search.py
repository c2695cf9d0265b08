"""Finding by words in the graph: the same ids as SQLite finds, whatever is stored and asked."""

from array import array
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from ragforge.domain.messages import TextPart
from ragforge.domain.search import HitKind, Query
from ragforge.domain.summaries import Summary
from ragforge.domain.turns import Turn
from ragforge.domain.vectors import Nearby, Owner, OwnerKind, Vector
from ragforge.store.base import Store
from ragforge.store.neo4j import search
from ragforge.store.neo4j.connection import Graph
from ragforge.store.neo4j.scores import Rarities
from ragforge.store.open import open_store
from tests.contract.builders import (
    NOON,
    a_call,
    a_project,
    a_request,
    a_session,
    a_step,
    a_turn,
    an_end,
)
from tests.neo4j.graph_rows import Rows

pytestmark = pytest.mark.each_server

# What Lucene, Cypher and tokenizers could stumble over; each is stored, and each is asked for.
HOSTILE = (
    "AND",
    "OR NOT",
    "NOT AND apples",
    "apples AND NOT pears",
    "+apples -pears",
    "apples && pears || !plums",
    '"an open quote',
    "(parens ((never) closed",
    "[a TO z] {a TO z}",
    "*:*",
    "*",
    "wild* c?rd fuzzy~ boost^9 searchUser:field",
    '\\ back\\slash \\" \\u0041',
    "searchScope:p1 OR searchScope:*",
    "'; MATCH (n) DETACH DELETE n //",
    "`ticks` $param {map: 1} ${x}",
    "nul\0inside",
    "the and of",
    "?!... --- ,;:",
    "🦜 emoji 👩‍👩‍👧",
    "数据库 查询 日本語テスト 한국어",
    "e\u0301te\u0301 été ETE",
    "\u0301 lone mark",
    "\ue000private use\uf8ff",
    "half \ud800 surrogate",
    "ﬁ ligature ß Straße İstanbul ǅ",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐐷𐑊",
    "١٢٣ ½ ² Ⅷ",
    "tabs\tand\nlines\r\nand\u2028more\u00a0blank",
    "connect connection connections connected",
    "x" * 254,
    "x" * 255,
    "x" * 256,
    "x" * 255 + " " + "x",
    "𝔘" * 128,
    "y" * 40_000,
    "y" * 32_768 + "another end",
    "w" * 100 + " " + "w" * 101,
)


@pytest.fixture
async def twin(tmp_path: Path) -> AsyncIterator[Store]:
    """SQLite, to hold the same."""
    store = await open_store(f"sqlite://{tmp_path}/ragforge.db", machine_dir=tmp_path)
    yield store
    await store.close()


async def keep_both(twin: Store, rows: Rows, turns: list[Turn]) -> None:
    await twin.projects.add(rows.project)
    await twin.sessions.add(rows.session)
    for turn in turns:
        await twin.turns.start(turn)
        await twin.turns.end(an_end(turn, turn.assistant))
    await rows.add_turns(turns)


async def ids_of(graph: Graph, query: Query) -> list[str]:
    return [hit.id for hit in await search.words(graph, Rarities(), query)]


async def test_both_stores_find_the_same_turns_for_whatever_is_stored_and_asked(
    rows: Rows, twin: Store
) -> None:
    turns = [a_turn(rows.session, text) for text in HOSTILE]
    await keep_both(twin, rows, turns)
    found = 0
    for text in (*HOSTILE, "x " * 50_000, "📦" * 25_000, '"' * 100_000, "", " ".join(HOSTILE)):
        query = Query(text, project_id=rows.project.id, limit=1000)
        here = {each.id for each in await search.candidates(rows.graph, Rarities(), query)}
        assert here == {each.id for each in await twin.search.candidates(query)}, text[:80]
        found += len(here)
    assert found > len(HOSTILE)


async def test_words_are_found_in_every_searched_property(rows: Rows) -> None:
    turn = replace(a_turn(rows.session, "How do I parse dates?"), assistant="With strptime.")
    step = a_step(turn, 0, "", a_request("grep", pattern="isoformat", path="src/clock.py"))
    call = a_call(step, result="nothing about meridians")
    await rows.add_turns([turn])
    await rows.add_call(call)
    found = {}
    for word in ("parsing", "STRPTIME", "isoformat", "clock", "meridian", "grep", "March"):
        hits = await search.words(rows.graph, Rarities(), Query(word, project_id=rows.project.id))
        found[word] = {hit.id for hit in hits}
    assert found == {
        "parsing": {turn.id},
        "STRPTIME": {turn.id},
        "isoformat": {call.id},
        "clock": {call.id},
        "meridian": {call.id},
        "grep": {call.id},
        "March": {turn.id, call.id},
    }


async def test_a_hit_says_where_it_stands_and_marks_the_words(rows: Rows) -> None:
    first = a_turn(rows.session, "Hello.")
    turn = replace(a_turn(rows.session, "The tokenizer is slow.", parent=first), assistant="I see.")
    call = a_call(
        a_step(turn, 0, "", a_request("read", path="tokenizer.py")), result="def tokenize():\n  pass"
    )
    await rows.add_turns([first, turn])
    await rows.add_call(call)
    hits = {
        hit.kind: hit
        for hit in await search.words(rows.graph, Rarities(), Query("tokenizers", project_id=rows.project.id))
    }
    said, ran = hits[HitKind.TURN], hits[HitKind.TOOL_CALL]
    assert (said.id, said.turn_id, said.turn_index, said.at) == (turn.id, turn.id, 1, turn.started_at)
    assert (said.session_id, said.session_title, said.cwd) == (rows.session.id, "Parsing", "/home/ada/parser")
    assert [said.text[start:end] for start, end in said.marks] == ["tokenizer"]
    assert (ran.id, ran.turn_id, ran.turn_index, ran.tool, ran.at) == (call.id, turn.id, 1, "read", NOON)
    assert "tokenizer" in ran.text


async def test_a_summary_is_found_and_leads_to_the_newest_turn_it_stands_for(rows: Rows) -> None:
    turns = [a_turn(rows.session, "One."), a_turn(rows.session, "Two.")]
    turns[1] = replace(turns[1], index=1, started_at=NOON + timedelta(hours=1))
    low = [a_summary(rows, 1, "They spoke of wombats.", [turn.id]) for turn in turns]
    high = a_summary(rows, 2, "All about marsupials.", [each.id for each in low], findings=("pouches",))
    await rows.add_turns(turns)
    for summary in (*low, high):
        await rows.add_summary(summary)
    (hit,) = await search.words(rows.graph, Rarities(), Query("pouch", project_id=rows.project.id))
    assert (hit.kind, hit.id, hit.level) == (HitKind.SUMMARY, high.id, 2)
    assert (hit.turn_id, hit.turn_index, hit.at) == (turns[1].id, 1, high.at)
    found = await search.candidates(rows.graph, Rarities(), Query("wombat", project_id=rows.project.id))
    assert {(each.id, each.turn_id) for each in found} == {
        (each.id, turn.id) for each, turn in zip(low, turns, strict=True)
    }


def a_summary(rows: Rows, level: int, text: str, covers: list[str], **values: object) -> Summary:
    summary = Summary(
        id=a_project().id,
        project_id=rows.project.id,
        session_id=rows.session.id,
        level=level,
        text=text,
        covers=tuple(covers),
        at=NOON + timedelta(hours=1),
    )
    return replace(summary, **values)


async def test_a_scope_holds_back_what_others_said(rows: Rows) -> None:
    other = Rows(rows.graph)
    await other.begin()
    second = a_session(rows.project.id)
    await rows.add_session(second)
    turns = [a_turn(session, "apricots") for session in (rows.session, second, other.session)]
    await rows.add_turns(turns[:2])
    await other.add_turns(turns[2:])
    within = {
        "project": await ids_of(rows.graph, Query("apricot", project_id=rows.project.id)),
        "session": await ids_of(rows.graph, Query("apricot", session_id=second.id)),
        "no such": await ids_of(rows.graph, Query("apricot", project_id='x" OR *:* OR "')),
        "all": await ids_of(rows.graph, Query("apricot", project_id="", limit=1000)),
    }
    await other.remove()
    assert set(within["project"]) == {turns[0].id, turns[1].id}
    assert within["session"] == [turns[1].id]
    assert within["no such"] == []
    assert set(within["all"]) >= {turn.id for turn in turns}


async def test_of_equals_the_newest_come_first_however_many_there_are(rows: Rows) -> None:
    turns = [
        replace(a_turn(rows.session, "quinces"), started_at=NOON + timedelta(seconds=second))
        for second in range(300)
    ]
    await rows.add_turns(turns)
    found = await ids_of(rows.graph, Query("quince", project_id=rows.project.id, limit=3))
    assert found == [turn.id for turn in turns[:-4:-1]]


async def test_a_date_is_looked_for_beyond_the_best(rows: Rows) -> None:
    old = [a_turn(rows.session, "medlar medlar medlar") for _ in range(200)]
    new = replace(
        a_turn(rows.session, "a medlar among many other words"), started_at=NOON + timedelta(days=9)
    )
    await rows.add_turns([*old, new])
    query = Query("medlar", project_id=rows.project.id, since=NOON + timedelta(days=8), limit=2)
    assert await ids_of(rows.graph, query) == [new.id]


@pytest.mark.parametrize("limit", [0, -1])
async def test_nothing_is_asked_for_nothing(rows: Rows, limit: int) -> None:
    await rows.add_turns([a_turn(rows.session, "plums")])
    assert await ids_of(rows.graph, Query("plums", project_id=rows.project.id, limit=limit)) == []
    assert await search.hits(rows.graph, [], "plums") == []


async def test_candidates_join_words_and_meaning_each_once(rows: Rows) -> None:
    texts = ("cherries and dates", "cherries", "sour fruit", "stones")
    turns = [a_turn(rows.session, text) for text in texts]
    await rows.add_turns(turns)
    await rows.embed({turns[0].id: axis(0), turns[2].id: axis(0, 0.6), turns[3].id: axis(1)})
    found = await search.candidates(
        rows.graph,
        Rarities(),
        Query("cherry", project_id=rows.project.id),
        Nearby(axis(0), "m", project_id=rows.project.id, limit=2),
    )
    by_id = {each.id: each for each in found}
    assert len(by_id) == len(found)
    assert by_id.keys() == {turns[0].id, turns[1].id, turns[2].id}
    assert by_id[turns[0].id].meaning == pytest.approx(1.0, abs=1e-3)
    assert by_id[turns[0].id].words is not None
    assert by_id[turns[1].id].meaning is None
    assert (by_id[turns[2].id].words, by_id[turns[2].id].meaning) == (None, pytest.approx(0.8, abs=1e-3))
    assert {each.session_id for each in found} == {rows.session.id}


async def test_what_is_found_by_words_has_its_meaning_though_it_is_not_near(rows: Rows) -> None:
    near, far = a_turn(rows.session, "figs"), a_turn(rows.session, "olives")
    await rows.add_turns([near, far])
    await rows.embed({near.id: axis(0), far.id: axis(1)})
    found = await search.candidates(
        rows.graph,
        Rarities(),
        Query("olive", project_id=rows.project.id),
        Nearby(axis(0), "m", project_id=rows.project.id, limit=1),
    )
    assert {each.id: each.meaning for each in found} == pytest.approx({far.id: 0.5, near.id: 1.0}, abs=1e-3)


async def test_candidates_become_hits_in_their_order_without_those_that_went(rows: Rows) -> None:
    turns = [a_turn(rows.session, f"grapes {number}") for number in range(3)]
    await rows.add_turns(turns)
    found = await search.candidates(rows.graph, Rarities(), Query("grapes", project_id=rows.project.id))
    await rows.graph.write("MATCH (n:ConversationTurn {id: $id}) DELETE n", id=found[1].id)
    hits = await search.hits(rows.graph, found[::-1], "grape")
    assert [hit.id for hit in hits] == [found[2].id, found[0].id]
    assert [hit.score for hit in hits] == [found[2].words, found[0].words]


async def test_no_text_reaches_cypher_as_anything_but_a_value(rows: Rows) -> None:
    evil = "x'}) DETACH DELETE n //"
    turn = replace(a_turn(rows.session, evil), user=(TextPart(evil),), assistant=evil, model=evil)
    await rows.add_turns([turn])
    query = Query(evil, project_id=rows.project.id)
    nearby = Nearby(axis(0), evil, project_id=evil, session_id=evil)
    assert [each.id for each in await search.candidates(rows.graph, Rarities(), query, nearby)] == [turn.id]
    assert [hit.id for hit in await search.words(rows.graph, Rarities(), query)] == [turn.id]
    assert Owner(OwnerKind.TURN, evil) not in await search.similar(
        rows.graph, [Owner(OwnerKind.TURN, evil)], nearby
    )


def axis(number: int, cosine: float = 1.0) -> Vector:
    """A vector of that cosine with one axis, of the length that the index has."""
    vector = array("f", bytes(4 * 256))
    vector[number], vector[number + 100] = cosine, (1 - cosine**2) ** 0.5
    return vector
