"""What is made of turns beside the conversation: how often the model is asked, when, and what is kept."""

import asyncio
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ragforge.domain.memories import MemoryFilter
from ragforge.domain.records import RecordKind
from ragforge.domain.search import HitKind, Query
from ragforge.domain.summaries import Summary, SummaryMethod
from ragforge.domain.turns import TurnStatus
from ragforge.domain.usage import Purpose
from ragforge.memory.recall.results import HitSource, SearchResults
from ragforge.memory.recall.search import search
from ragforge.session.embedder_change import change_embedder
from ragforge.session.open import close_session, new_session
from ragforge.session.state import Session
from tests.contract import builders
from tests.contract.builders import NOON, a_turn, an_end, said
from tests.flow.beside import (
    QUICK,
    WAIT_S,
    a_memory,
    all_embedded,
    beside,
    by_the_model,
    done,
    summaries_of,
    until,
)
from tests.flow.running import ended, environ, say
from tests.standins.gemini import (
    Call,
    Calls,
    GeminiStandIn,
    Hang,
    Text,
    Until,
)


def spent_rows(rows: list[Any]) -> list[Any]:
    return [row for row in rows if row.purpose is Purpose.SUMMARY]


async def test_each_turn_has_its_summary_and_memories_by_one_call_of_a_cheaper_model(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    gemini.always_structured(by_the_model("PostgreSQL it is.", a_memory("The project uses PostgreSQL.")))
    async with beside(tmp_path, environ(tmp_path, gemini)) as session:
        first = ended(await say(session, "We use PostgreSQL."))
        second = ended(await say(session, "And now the tables."))
        await done(session)
        store = session.workspace.store
        summaries = await summaries_of(session)
        assert [summary.covers for summary in summaries] == [(first.id,), (second.id,)]
        assert {(each.text, each.method) for each in summaries} == {
            ("PostgreSQL it is.", SummaryMethod.MODEL)
        }
        assert {request.model for request in gemini.structured()} == {"gemini-3.5-flash-lite"}
        assert len(gemini.structured()) == session.workspace.background.progress.payments == 2
        [memory] = await store.memories.find(MemoryFilter(project_id=session.workspace.project.id))
        assert memory.content == "The project uses PostgreSQL."
        assert set(memory.turns) == {first.id, second.id}
        await until(partial(all_embedded, session))
        [row] = spent_rows(await store.usage.by_model(session_id=session.id))
        assert (row.model, row.calls) == ("gemini:gemini-3.5-flash-lite", 2)
        assert row.cost_usd > 0


async def test_summarising_was_awaited_on_the_critical_path(tmp_path: Path, gemini: GeminiStandIn) -> None:
    """Whole turns run, and the program ends, while the background call hangs."""
    gemini.always_structured(Hang())
    # Whoever waited for the call would wait ten times as long as any of this may take.
    timing = replace(QUICK, call_s_max=10 * WAIT_S)
    async with beside(tmp_path, environ(tmp_path, gemini), timing=timing) as session:
        async with asyncio.timeout(WAIT_S):
            for text in ("one", "two", "three"):
                assert ended(await say(session, text)).status is TurnStatus.FINISHED
        [call, *_] = await gemini.wait_for_structured(1)
        assert not call.ended.is_set()
        before = asyncio.get_running_loop().time()
        await session.workspace.background.finish(timeout_s=0.1)
        assert session.workspace.background.progress.turns == 3
    assert asyncio.get_running_loop().time() - before < WAIT_S
    async with asyncio.timeout(WAIT_S):
        await call.hung_up.wait()


async def test_a_short_run_catches_up_on_what_earlier_ones_left(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    """It ends before the delayed work would begin; were that not hurried, nobody would ever do it."""
    gemini.always_structured(by_the_model("PostgreSQL it is."))
    env = environ(tmp_path, gemini)
    async with beside(tmp_path, env) as session:
        await session.workspace.background.close()
        left = [ended(await say(session, text)).id for text in ("one", "two")]
        assert await summaries_of(session) == []
    async with beside(tmp_path, env, timing=replace(QUICK, start_s=10 * WAIT_S)) as session:
        own = ended(await say(session, "three")).id
        await session.workspace.background.finish(timeout_s=WAIT_S)
        covering = await session.workspace.store.summaries.covering([*left, own])
        assert [len(covering.get(turn_id, ())) for turn_id in (*left, own)] == [1, 1, 1]


async def test_a_run_that_ends_begins_nothing_else_before_its_own_turn_is_summarised(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    """On a busy server all else would be asked of it at the same time, and be cut off with it."""
    go_on = asyncio.Event()
    gemini.script_structured(lambda request: (Until(go_on), by_the_model("PostgreSQL it is.")(request)))
    async with beside(tmp_path, environ(tmp_path, gemini)) as session:
        background, store = session.workspace.background, session.workspace.store
        await say(session, "We use PostgreSQL.")
        finishing = asyncio.create_task(background.finish(timeout_s=WAIT_S))
        await gemini.wait_for_structured(1)
        written = builders.a_memory(session.workspace.project, "Answers are short.")
        await store.memories.save(written)
        background.wake()
        embedder = session.workspace.recall.embedder
        assert embedder is not None
        for _ in range(50):
            lacking = await store.vectors.lacking(embedder.name)
            assert written.id in {owner.id for owner in lacking}
            await asyncio.sleep(0.01)
        go_on.set()
        await finishing
        await until(partial(all_embedded, session))


async def test_a_turn_that_came_during_summarising_was_dropped(tmp_path: Path, gemini: GeminiStandIn) -> None:
    go_on = asyncio.Event()
    gemini.script_structured(lambda request: (Until(go_on), by_the_model("The first.")(request)))
    gemini.always_structured(by_the_model("A later one."))
    async with beside(tmp_path, environ(tmp_path, gemini)) as session:
        await say(session, "one")
        await gemini.wait_for_structured(1)
        await say(session, "two")
        await say(session, "three")
        go_on.set()
        await done(session)
        texts = [summary.text for summary in await summaries_of(session)]
        assert texts == ["The first.", "A later one.", "A later one."]


async def test_what_an_earlier_run_left_is_done_when_the_project_is_next_opened(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    gemini.script_structured(Hang())
    gemini.always_structured(by_the_model())
    env = environ(tmp_path, gemini)
    async with beside(tmp_path, env) as session:
        left = ended(await say(session, "remember me"))
        await gemini.wait_for_structured(1)
    async with beside(tmp_path, env) as later:

        async def summarised() -> bool:
            return bool((await later.workspace.store.summaries.covering([left.id]))[left.id])

        async def loaded() -> bool:
            return any(query.text == "remember me" for query in later.workspace.recall.cache)

        await until(summarised)
        assert len(gemini.structured()) == 2
        await until(loaded)


async def test_not_yet_summarised_returned_everything_recent(tmp_path: Path, gemini: GeminiStandIn) -> None:
    """What has its summary is not asked for again, however often the project is opened."""
    gemini.always_structured(by_the_model())
    env = environ(tmp_path, gemini)
    async with beside(tmp_path, env) as session:
        await say(session, "one")
        await say(session, "two")
        await done(session)
    for count in (3, 4):
        async with beside(tmp_path, env) as session:
            await say(session, "another")
            await done(session)
            await until(partial(all_embedded, session))
            assert len(gemini.structured()) == count


async def test_a_turn_whose_end_is_stored_and_not_yet_told_is_paid_once(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    """Between the two it is found out what became of the files, which may take a while."""
    gemini.always_structured(by_the_model())
    async with beside(tmp_path, environ(tmp_path, gemini)) as session:
        workspace, running = session.workspace, await new_session(session.workspace)
        await say(running, "one")
        await done(running)
        stored, tell = asyncio.Event(), asyncio.Event()

        async def another_turn() -> str:
            workspace.background.turn_begins(running)
            turn = a_turn(running.live.record, "two")
            await workspace.store.turns.start(turn)
            running.change(head=turn.id)
            await workspace.store.turns.end(an_end(turn))
            stored.set()
            await tell.wait()
            workspace.background.turn_ended(running, turn.id)
            return turn.id

        task = asyncio.create_task(another_turn())
        await stored.wait()
        # One that an earlier run left: once it has its summary, all that lacks one has been looked through.
        earlier = await said(workspace.store, running.live.record, "left")
        await say(session, "three")
        await until(partial(summary_of, session, earlier.id))
        tell.set()
        turn_id = await task
        await until(partial(summary_of, session, turn_id))
        await done(session)
        assert len(gemini.structured()) == 4
        await close_session(running)


async def summary_of(session: Session, turn_id: str) -> list[Summary]:
    return (await session.workspace.store.summaries.covering([turn_id]))[turn_id]


async def test_parallel_tool_calls_collided_because_state_was_keyed_by_tool_name(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    gemini.always_structured(by_the_model())
    async with beside(tmp_path, environ(tmp_path, gemini)) as session:
        for name in ("a.txt", "b.txt"):
            (session.cwd / name).write_text(f"what {name} holds\n")
        both = Calls(Call("read", {"path": "a.txt"}), Call("read", {"path": "b.txt"}))
        gemini.script(both, Text("Read."))
        await say(session, "read both")
        await done(session)
        [request] = gemini.structured()
        assert "what a.txt holds" in request.last_text
        assert "what b.txt holds" in request.last_text
        [summary] = await summaries_of(session)
        assert summary.tools == ("read",)
        assert {"a.txt", "b.txt"} <= set(summary.files)


async def test_facts_stored_with_the_run_s_date(tmp_path: Path, gemini: GeminiStandIn) -> None:
    gemini.always_structured(by_the_model("Long ago.", a_memory("The project uses PostgreSQL.")))
    async with beside(tmp_path, environ(tmp_path, gemini)) as session:
        await say(session, "Hello.")
        await done(session)
        long_ago = NOON - timedelta(days=400)
        old = await said(
            session.workspace.store,
            replace(session.live.record, last_activity_at=long_ago),
            "We use PostgreSQL.",
            started_at=long_ago,
        )
        session.workspace.background.turn_ended(session, old.id)
        await done(session)
        found = await session.workspace.store.memories.find(MemoryFilter(sort="recent"))
        assert min(memory.created_at for memory in found) == long_ago
        [summary] = [each for each in await summaries_of(session) if each.covers == (old.id,)]
        assert summary.at == long_ago


async def test_near_simultaneous_duplicates(tmp_path: Path, gemini: GeminiStandIn) -> None:
    """Two processes open what was left behind at once: each turn is paid once, and stands there once."""
    env = environ(tmp_path, gemini)
    gemini.always_structured(Hang())
    async with beside(tmp_path, env) as session:
        for text in ("one", "two", "three"):
            await say(session, text)
        await gemini.wait_for_structured(1)
        project_id, record = session.workspace.project.id, session.live.record
    asked = len(gemini.structured())
    gemini.always_structured(by_the_model("Once.", a_memory("The project uses PostgreSQL.")))
    # A turn is longer in hand than a busy machine takes for it.
    timing = replace(QUICK, lease_s=WAIT_S)
    async with beside(tmp_path, env, timing=timing) as first, beside(tmp_path, env, timing=timing) as second:
        store = first.workspace.store

        async def summarised() -> bool:
            return len(await store.summaries.of_session(record.id, level=1)) == 3

        await until(summarised)
        for each in (first, second):
            await until(partial(all_embedded, each))
        found = await store.memories.find(MemoryFilter(project_id=project_id))
        assert [memory.content for memory in found] == ["The project uses PostgreSQL."]
    assert len(gemini.structured()) - asked == 3


async def answered(session: Session) -> tuple[str, set[HitSource], str]:
    """What is found first of the table of symbols, by what, and what is said of it."""
    looked_for = Query("the table of symbols", kinds=(HitKind.TURN, HitKind.SUMMARY))

    async def in_time() -> SearchResults | None:
        # A question's vector that comes too late is there when the same is asked again.
        answer = await search(session.workspace.recall, looked_for)
        return None if "did not answer" in answer.limited else answer

    answer = await until(in_time)
    best = answer.found[0]
    return best.hit.text, {why.source for why in best.why}, answer.limited


async def test_a_model_change_breaking_the_collection(tmp_path: Path, gemini: GeminiStandIn) -> None:
    """Another embedder, of other dimensions: until everything is embedded anew words answer, and nothing is
    compared with what the old one made."""
    env = environ(tmp_path, gemini, RAGFORGE_MEMORY_MODEL="local")
    async with beside(tmp_path, env) as session:
        await say(session, "The parser keeps a table of symbols.")
        await say(session, "Bread needs an oven.")
        await done(session)
        await until(partial(all_embedded, session))
        owners = await session.workspace.store.vectors.lacking("another model")
        _, sources, limited = await answered(session)
        assert (HitSource.MEANING in sources, limited) == (True, "")
    env["RAGFORGE_MEMORY_EMBEDDER"] = "gemini:gemini-embedding-001"
    gemini.script_embeddings(Hang())
    async with beside(tmp_path, env) as meanwhile:
        await gemini.wait_for_requests(1, action="batchEmbedContents")
        words, sources, limited = await answered(meanwhile)
        assert "parser" in words
        assert HitSource.MEANING not in sources
        assert "there are no vectors here yet" in limited
    async with beside(tmp_path, env) as later:
        store, embedder = later.workspace.store, later.workspace.recall.embedder
        assert embedder is not None
        await until(partial(all_embedded, later))
        stored = await store.vectors.get(owners)
        assert {(each.model, len(each.vector)) for each in stored} == {(embedder.name, embedder.dimensions)}
        assert len(stored) == len(owners) >= 4
        # The store is told: a server's index has to be made for these dimensions.
        told = (await store.status()).details["embedder"]
        assert told == f"{embedder.name}, 3072 dimensions"
        words, sources, limited = await answered(later)
        assert "parser" in words
        assert (HitSource.MEANING in sources, limited) == (True, "")

        async def paid() -> list[Any]:
            rows = await store.usage.by_model()
            return [row for row in rows if row.purpose is Purpose.EMBEDDING]

        [row] = await until(paid)
        assert row.model == "gemini:gemini-embedding-001"
        assert row.cost_usd > 0


async def test_memory_that_is_switched_off_asks_and_keeps_nothing(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    async with beside(tmp_path, environ(tmp_path, gemini, RAGFORGE_MEMORY_ENABLED="false")) as session:
        await say(session, "one")
        await done(session)
        await until(partial(all_embedded, session))
        assert gemini.structured() == []
        assert await summaries_of(session) == []


async def test_a_store_that_others_share_is_embedded_by_what_it_names_alone(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    async with beside(tmp_path, environ(tmp_path, gemini, RAGFORGE_MEMORY_MODEL="local")) as session:
        workspace = session.workspace
        await until(workspace.store.vectors.in_use)  # this machine's, which has the file to itself so far
        await workspace.store.vectors.use("ollama:other", 256)
        shared = replace(workspace, person=replace(workspace.person, alone=False))
        other = await new_session(shared)
        gemini.script(Text("Yes."))
        await say(other, "The parser keeps a table of symbols.")

        async def told() -> bool:
            return "`ragforge db embedder NAME`" in shared.background.progress.note

        await until(told)
        assert "ollama:other" in shared.background.progress.note
        assert await workspace.store.vectors.in_use() == "ollama:other"
        assert not (await workspace.store.archive.counts())[RecordKind.EMBEDDING]
        await change_embedder(shared, workspace.store, "static")
        await until(partial(all_embedded, session))
        await close_session(other)
