"""The one search, through a real store and the embedder that ships with the program."""

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from ragforge.config.schema import Endpoint
from ragforge.domain.errors import UsageError
from ragforge.domain.search import HitKind, Query, what
from ragforge.domain.vectors import Vector
from ragforge.embedders.base import Embedder
from ragforge.embedders.registry import open_embedder
from ragforge.memory.derive.vectors import embed_owners
from ragforge.memory.recall.explain import reason
from ragforge.memory.recall.results import HitSource
from ragforge.memory.recall.search import Recall, SearchResults, search
from ragforge.store.base import Store
from ragforge.store.open import open_store
from tests.contract.builders import NOON, a_memory, a_project, a_summary, an_association, new_session, said
from tests.contract.builders_versions import worked

LOST_S = 60
"""A server that never answers is waited for by nobody so long."""


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = await open_store(f"sqlite://{tmp_path}/ragforge.db", machine_dir=tmp_path)
    yield opened
    await opened.close()


def an_embedder(name: str = "static", **endpoints: Endpoint) -> Embedder:
    found = open_embedder(name, find_key=lambda _: None, endpoints=endpoints, environ={})
    assert found is not None
    return found


async def embedded(store: Store, embedder: Embedder | None = None) -> Recall:
    """What searches the store, once all in it has its vector."""
    embedder = embedder or an_embedder()
    await store.vectors.use(embedder.name, embedder.dimensions)
    await embed_owners(store, embedder, await store.vectors.lacking(embedder.name, limit=1_000))
    return Recall(store, embedder)


def ids(answer: SearchResults) -> list[str]:
    return [hit.id for hit in answer.hits]


async def test_meaning_finds_what_shares_no_word(store: Store):
    session = await new_session(store)
    wanted = await said(store, session, "My dog had puppies last night.")
    for text in ("The invoice is overdue.", "Compile the parser again.", "The meeting moved."):
        await said(store, session, text)
    found = (await search(await embedded(store), Query("young animals and pets"))).found
    assert found[0].hit.id == wanted.id
    assert found[0].why[0].source is HitSource.MEANING
    assert "meaning 0." in reason(found[0])


async def test_score_is_the_sum_of_what_each_source_gave(store: Store):
    session = await new_session(store)
    turn = await said(store, session, "The lexer is slow, profile the lexer.")
    later = await said(store, session, "Now the report.", parent=turn)
    await store.summaries.save(a_summary(session, "The lexer was profiled.", turn))
    await store.memories.save(a_memory(session, "The lexer must stay fast.", turn))
    recall = await embedded(store)
    for fusion in ("convex", "rrf"):
        answer = await search(replace(recall, fusion=fusion, cache={}), Query("lexer speed"))
        assert {hit.kind for hit in answer.hits} == {HitKind.TURN, HitKind.SUMMARY, HitKind.MEMORY}
        assert later.id in ids(answer)
        for each in answer.found:
            assert each.hit.score == pytest.approx(sum(why.share for why in each.why), abs=1e-12)
            assert len({why.source for why in each.why}) == len(each.why)
        scores = [hit.score for hit in answer.hits]
        assert scores == sorted(scores, reverse=True)
        sources = {why.source for each in answer.found for why in each.why}
        assert sources == set(HitSource)
        if fusion == "rrf":
            assert all(why.share == 1 / (60 + why.rank) for each in answer.found for why in each.why)


async def test_neighbours_and_cited_turns_share_in_the_score(store: Store):
    session = await new_session(store)
    before = await said(store, session, "We go by train.")
    cited = await said(store, session, "Let us do that then.", parent=before)
    await store.memories.save(a_memory(session, "Zanzibar was chosen for the offsite.", cited))
    found = (await search(Recall(store), Query("zanzibar"))).found
    assert [each.hit.kind for each in found] == [HitKind.MEMORY, HitKind.TURN]
    assert found[1].hit.id == cited.id
    assert found[1].why[0].source is HitSource.GRAPH
    assert found[1].hit.score == pytest.approx(0.2 * sum(w.share for w in found[0].why[:1]))


async def test_equals_come_in_one_order_whatever_is_asked_for(store: Store):
    session = await new_session(store)
    for _ in range(6):
        await said(store, session, "The same words.", started_at=NOON)
    recall = await embedded(store)
    every = await search(recall, Query("same words", limit=6))
    assert ids(every) == sorted(ids(every))
    few = await search(recall, Query("same words", limit=2))
    assert few.found == every.found[:2]


async def test_a_global_memory_does_not_bring_turns_of_another_project(store: Store):
    from ragforge.domain.memories import MemoryScope

    there, here = await new_session(store), await new_session(store)
    secret = await said(store, there, "Words of the other project.")
    await store.memories.save(a_memory(there, "Prefers kumquats.", secret, scope=MemoryScope.GLOBAL))
    answer = await search(Recall(store), Query("kumquats", project_id=here.project_id))
    assert [hit.kind for hit in answer.hits] == [HitKind.MEMORY]
    everywhere = await search(Recall(store), Query("kumquats"))
    assert secret.id in ids(everywhere)


async def test_scope_kind_and_time_hold_for_what_the_graph_brings_too(store: Store):
    session = await new_session(store)
    first = await said(store, session, "A walrus.")
    second = await said(store, session, "Something else.", parent=first)
    asked = Query("walrus", project_id=session.project_id)
    assert set(ids(await search(Recall(store), asked))) == {first.id, second.id}
    until = replace(asked, until=second.started_at)
    assert ids(await search(Recall(store), until)) == [first.id]
    since = replace(asked, since=second.started_at)
    assert first.id not in ids(await search(Recall(store), since))
    await store.memories.save(a_memory(session, "An okapi.", first))
    okapi = replace(asked, text="okapi")
    assert first.id in ids(await search(Recall(store), okapi))
    memories = await search(Recall(store), replace(okapi, kinds=(HitKind.MEMORY,)))
    assert [hit.kind for hit in memories.hits] == [HitKind.MEMORY]
    calls = replace(asked, kinds=(HitKind.TOOL_CALL,))
    assert ids(await search(Recall(store), calls)) == []


async def test_what_was_undone_is_marked_and_what_was_replaced_too(store: Store):
    session = await new_session(store)
    kept = await said(store, session, "Use a btree.")
    undone = await said(store, session, "Use a hash table.", parent=kept)
    await store.sessions.set_head(session.id, kept.id)
    old, new = a_memory(session, "Table: use mysql."), a_memory(session, "Table: use postgres.")
    for memory in (old, new):
        await store.memories.save(memory)
    await store.memories.associate([an_association(new, old)])
    hits = {hit.id: hit for hit in (await search(await embedded(store), Query("which table to use"))).hits}
    assert (hits[undone.id].abandoned, hits[kept.id].abandoned) == (True, False)
    assert what(hits[undone.id]) == "turn 2, undone"
    assert (hits[old.id].replaced, hits[new.id].replaced) == (True, False)
    assert what(hits[old.id]) == "fact, replaced"


async def test_versions_are_ranked_by_their_words_beside_what_was_said(store: Store):
    session = await new_session(store)
    asked, made = await worked(
        store, session, text="Write the lexer.", words="lexer.py\n+def lex_numbers(): ..."
    )
    left = await said(store, session, "Something else.", parent=asked)
    await store.sessions.set_head(session.id, left.id)
    recall = await embedded(store)
    first, *others = (await search(recall, Query("write the lexer"))).found
    (version,) = [each for each in others if each.hit.id == made.id]
    assert first.hit.id == asked.id
    assert {why.source for why in version.why} == {HitSource.WORDS}
    assert reason(version) == "words: write, lexer"
    # What changed is said nowhere but there, and it leads to its turn.
    lines = (await search(recall, Query("lex_numbers", kinds=(HitKind.TURN, HitKind.VERSION)))).hits
    assert (lines[0].id, what(lines[0])) == (made.id, f"version {made.id[-8:]} of turn 1")
    assert asked.id in [hit.id for hit in lines]
    answer = await search(recall, Query("lexer", kinds=(HitKind.VERSION,)))
    assert (ids(answer), answer.limited) == ([made.id], "")


async def test_forgotten_is_found_by_neither_words_nor_meaning(store: Store):
    session = await new_session(store)
    memory = a_memory(session, "Hates marmalade.")
    await store.memories.save(memory)
    recall = await embedded(store)
    assert ids(await search(recall, Query("marmalade"))) == [memory.id]
    await store.memories.forget([memory.id], NOON)
    assert ids(await search(recall, Query("marmalade"))) == []


async def test_newer_and_weightier_memory_comes_first_of_equals(store: Store):
    session = await new_session(store)
    old = a_memory(session, "Deploy on friday.", created_at=NOON - timedelta(days=300))
    new = a_memory(session, "Deploy on friday!", created_at=NOON, importance=0.9)
    for memory in (old, new):
        await store.memories.save(memory)
    assert ids(await search(Recall(store), Query("deploy friday")))[0] == new.id


async def test_without_vectors_words_answer_and_it_is_said(store: Store):
    session = await new_session(store)
    turn = await said(store, session, "The parser.")
    recall = Recall(store, an_embedder())
    answer = await search(recall, Query("parser"))
    assert ids(answer) == [turn.id]
    assert "no vectors here yet" in answer.limited
    assert not (await search(await embedded(store), Query("parser"))).limited


async def test_failing_embedder_leaves_the_words_and_says_why(store: Store, tmp_path: Path):
    session = await new_session(store)
    turn = await said(store, session, "The parser.")
    answer = await search(Recall(store, an_embedder(f"model2vec:{tmp_path}")), Query("parser"))
    assert ids(answer) == [turn.id]
    assert answer.limited.startswith("Searched by words only:")
    assert str(tmp_path) in answer.limited


@pytest.fixture
async def silent() -> AsyncIterator[tuple[Endpoint, list[int]]]:
    """A server that takes every question and answers none, and how often it was asked."""
    asked: list[int] = []

    async def hold(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            asked.append(len(data))
        writer.close()

    server = await asyncio.start_server(hold, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    yield Endpoint(f"http://127.0.0.1:{port}/v1"), asked
    server.close()


async def test_remote_embedder_that_is_too_slow_is_not_waited_for(
    store: Store, silent: tuple[Endpoint, list[int]]
):
    session = await new_session(store)
    turn = await said(store, session, "The parser.")
    recall = Recall(store, an_embedder("slow:model", slow=silent[0]))
    began = time.perf_counter()
    answer = await search(recall, Query("parser"))
    assert time.perf_counter() - began < LOST_S
    assert ids(answer) == [turn.id]
    assert "150 ms" in answer.limited
    assert not recall.cache
    await recall.questions.close()


class Counting:
    """The shipped embedder, which counts what it is asked. As a remote one it may come late."""

    def __init__(self, *, remote: bool = False) -> None:
        self._inner = an_embedder()
        self.name, self.dimensions, self.usage = self._inner.name, self._inner.dimensions, self._inner.usage
        self.remote = remote
        self.asked: list[str] = []
        self.ready = asyncio.Event()
        self.ready.set()
        self.embed, self.prepare, self.close = self._inner.embed, self._inner.prepare, self._inner.close

    async def embed_query(self, text: str) -> Vector:
        self.asked.append(text)
        await self.ready.wait()
        return await self._inner.embed_query(text)


async def test_answer_that_came_too_late_serves_the_next_time(store: Store):
    session = await new_session(store)
    await said(store, session, "The parser.")
    embedder = Counting(remote=True)
    recall = await embedded(store, embedder)
    embedder.ready.clear()
    assert "did not answer" in (await search(recall, Query("parser"))).limited
    embedder.ready.set()
    await recall.questions.begin(embedder, "parser")
    assert not (await search(recall, Query("parser"))).limited
    assert embedder.asked == ["parser"]


async def test_same_question_is_answered_from_memory_until_anything_is_written(store: Store, tmp_path: Path):
    session = await new_session(store)
    first = await said(store, session, "The parser.")
    recall = await embedded(store)
    asked = Query("parser", project_id=session.project_id)
    before = await search(recall, asked)
    assert (await search(recall, asked)).found is before.found
    elsewhere = await open_store(store.url, machine_dir=tmp_path)
    second = await said(elsewhere, session, "The parser again.", parent=first)
    await elsewhere.close()
    assert set(ids(await search(recall, asked))) == {first.id, second.id}
    third = await said(store, session, "That parser.", parent=second)
    assert third.id in ids(await search(recall, asked))


async def test_cache_of_questions_has_a_limit(store: Store):
    session = await new_session(store)
    await said(store, session, "The parser.")
    recall = await embedded(store)
    for number in range(100):
        await search(recall, Query(f"parser {number}"))
    assert 0 < len(recall.cache) <= 64


@pytest.mark.parametrize("text", ["", "  \n", "*", '"', "AND OR (", "x" * 10_000, "\ud800", "NEAR(", "🦊"])
async def test_any_text_can_be_asked(store: Store, text: str):
    session = await new_session(store)
    await said(store, session, "The parser.")
    answer = await search(await embedded(store), Query(text))
    assert all(hit.score >= 0 for hit in answer.hits)
    if not text.strip():
        assert answer.found == ()


# What went wrong before, by its name.


async def test_vector_search_took_a_global_top_60_and_filtered_by_conversation_afterwards(store: Store):
    other, mine = await new_session(store), await new_session(store)
    for number in range(150):
        await said(store, other, f"The parser reads tokens, number {number}.")
    wanted = await said(store, mine, "Tokens are what the parser reads, roughly.")
    recall = await embedded(store)
    for scope in ({"session_id": mine.id}, {"project_id": mine.project_id}):
        answer = await search(recall, Query("parser reads tokens", **scope))
        assert ids(answer) == [wanted.id]
        assert {why.source for why in answer.found[0].why} >= {HitSource.WORDS, HitSource.MEANING}


async def test_text_search_was_a_stub_returning_nothing(store: Store):
    session = await new_session(store)
    turn = await said(store, session, "The error code is E4711.")
    await said(store, session, "Codes and errors are the same to an embedder.")
    answer = await search(await embedded(store), Query("E4711"))
    assert ids(answer)[0] == turn.id
    assert answer.found[0].why[0].source is HitSource.WORDS


async def test_hits_were_printed_untruncated_with_no_total_budget(store: Store, tmp_path: Path):
    from ragforge.tools import search_history
    from ragforge.tools.search_history import RESULT_CHARS_MAX, SearchHistoryArgs
    from tests.tool_context import Kept, make_context

    session = await new_session(store)
    parent = None
    for number in range(60):
        parent = await said(store, session, f"{number} zebra " + "stripes " * 5_000, parent=parent)
    hits = (await search(Recall(store), Query("zebra", limit=50))).hits
    assert len(hits) == 50
    assert max(len(hit.text) for hit in hits) < 300
    context = make_context(tmp_path, Kept(hits=hits))
    result = await search_history.run(SearchHistoryArgs("zebra", 50), context)
    assert len(result.text) <= RESULT_CHARS_MAX + 100
    assert "more left out" in result.text


async def test_unknown_embedder_is_named():
    with pytest.raises(UsageError, match="nothing:like"):
        an_embedder("nothing:like")


async def test_projects_are_searched_apart(store: Store):
    sessions = [await new_session(store, a_project_of) for a_project_of in await two_projects(store)]
    turns = [await said(store, session, "A marmot.") for session in sessions]
    for session, turn in zip(sessions, turns, strict=True):
        assert ids(await search(Recall(store), Query("marmot", project_id=session.project_id))) == [turn.id]


async def two_projects(store: Store) -> list:
    made = [a_project(), a_project()]
    for project in made:
        await store.projects.add(project)
    return made
