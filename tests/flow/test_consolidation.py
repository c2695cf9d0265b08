"""Archived sessions are consolidated: one summary of each, whatever is cut off on the way."""

import asyncio
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from msgspec.structs import replace

from ragforge.domain.errors import StoreUnavailable
from ragforge.domain.ids import now
from ragforge.domain.memories import MemoryFilter, MemoryType
from ragforge.domain.summaries import Summary, SummaryMethod
from ragforge.domain.turns import ConversationSession, Turn
from ragforge.memory.derive.consolidation import count_archived, read_summaries
from ragforge.session.background.model import NO_MODEL
from ragforge.session.consolidation import Consolidated, consolidate, expense_of
from ragforge.session.state import Session
from ragforge.store.base import keep_project
from ragforge.store.open import open_store
from tests.contract import builders
from tests.contract.builders import a_session, conversation, said
from tests.cut_off import cut_off
from tests.flow.beside import a_memory, beside, by_the_model, until
from tests.flow.running import environ
from tests.standins.gemini import GeminiStandIn, Recorded, ServerError

ANSWER = "The walrus eats at noon, and all of it is in order now. "


async def archived(session: Session, turns: int) -> str:
    """The id of an archived session with so many turns that nobody summarised yet."""
    store, project = session.workspace.store, session.workspace.project
    await keep_project(store, project)
    another = a_session(project.id)
    await store.sessions.add(another)
    said_there = await conversation(store, another, turns, answer=ANSWER)
    await store.sessions.set_archived(another.id, now())
    session.workspace.background.turn_ended(session, said_there[0].id)
    return another.id


async def digest(session: Session, of: str) -> Summary:
    async def found() -> Summary | None:
        lacking = (await count_archived(session.workspace.store))[1]
        return None if lacking else (await read_summaries(session.workspace.store, [of])).get(of)

    return await until(found)


async def test_an_archived_session_has_one_summary_of_all_its_turns_and_another_after_it_went_on(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    env = environ(tmp_path, gemini, RAGFORGE_MEMORY_MODEL=NO_MODEL)
    async with beside(tmp_path, env) as session:
        store = session.workspace.store
        of, alone = await archived(session, 14), await archived(session, 1)
        whole, single = await digest(session, of), await digest(session, alone)
        assert (whole.turn_count, whole.method) == (14, SummaryMethod.EXTRACTIVE)
        assert (single.turn_count, single.level) == (1, 1)
        assert [each.id for each in await store.summaries.of_session(of, uncovered=True)] == [whole.id]
        old = await store.sessions.get(of)
        assert old is not None
        head = await store.turns.get(old.head or "")
        new = await said(store, old, "one more", parent=head, answer=ANSWER, started_at=now())
        await store.sessions.set_archived(of, now())
        assert (await count_archived(store))[1] == 1
        session.workspace.background.turn_ended(session, new.id)
        assert (await digest(session, of)).turn_count == 15
        assert await store.check() == []


async def test_what_is_cancelled_at_every_other_call_is_gone_on_with_and_nothing_is_made_twice(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    asked = asyncio.Event()

    def reply(request: Recorded) -> object:
        asked.set()
        return by_the_model("All about walruses.")(request)

    gemini.always_structured(reply)
    async with beside(tmp_path, environ(tmp_path, gemini)) as session:
        await session.workspace.background.close()
        store, of = session.workspace.store, await archived(session, 3)
        expense = await expense_of(session.workspace, await listed(session))
        assert (expense.calls, expense.cost_usd and expense.cost_usd > 0) == (3 + 1 + 1, True)
        cuts = 0
        while (await count_archived(store))[1]:
            asked.clear()
            running = asyncio.create_task(consolidate(session))
            waiting = asyncio.create_task(asked.wait())
            await asyncio.wait((running, waiting), return_when=asyncio.FIRST_COMPLETED)
            # At every other call; the one in hand is asked again.
            if asked.is_set() and (cuts := cuts + 1) % 2:
                running.cancel()
            waiting.cancel()
            with suppress(asyncio.CancelledError):
                await running
        assert cuts > 1
        whole = await digest(session, of)
        assert (whole.text, whole.turn_count, whole.method) == ("All about walruses.", 3, SummaryMethod.MODEL)
        levels = [each.level for each in await store.summaries.of_session(of)]
        assert levels == [1, 1, 1, 2]
        calls = len(gemini.structured())
        assert (await consolidate(session)).done == 0
        assert len(gemini.structured()) == calls


async def test_an_archived_session_is_read_again_for_what_its_turns_do_not_show_one_by_one(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    """Only preferences and decisions, in the user's words, with who said them; once."""
    wish = "use tabs and never spaces"

    def reply(request: Recorded) -> object:
        assert request.schema
        turns = request.schema["properties"].get("turns")
        reads_again = turns and "summary" not in turns["items"]["properties"]
        found = [
            a_memory(wish, "preference"),
            a_memory("It is late.", "fact"),
        ]
        return by_the_model("All about tabs.", *(found if reads_again else ()))(request)

    gemini.always_structured(reply)
    async with beside(tmp_path, environ(tmp_path, gemini)) as session:
        await session.workspace.background.close()
        store, of = session.workspace.store, await archived(session, 2)
        old = await store.sessions.get(of)
        assert old
        head = await store.turns.get(old.head or "")
        await said(store, old, f"Well, {wish}.", parent=head, answer=ANSWER, person="ada@example.org")
        assert (await consolidate(session)).done == 1
        wanted = MemoryFilter(session.workspace.project.id, person="ada@example.org")
        assert [(each.content, each.owner) for each in await store.memories.find(wanted)] == [
            (wish, "ada@example.org")
        ]
        calls = len(gemini.structured())
        assert calls == 3, "for the turns, above them, and once more"
        assert (await consolidate(session)).done == 0
        assert len(gemini.structured()) == calls


async def test_what_an_archived_session_says_is_compared_with_what_was_said_since(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    old_words, new_words = "We use PostgreSQL for the orders.", "We now use MySQL instead of PostgreSQL."

    def reply(request: Recorded) -> object:
        assert request.schema
        turns = request.schema["properties"].get("turns")
        reads_again = turns and "summary" not in turns["items"]["properties"]
        found = (a_memory(old_words, "decision"),) if reads_again else ()
        return by_the_model("All about orders.", *found)(request)

    gemini.always_structured(reply)
    async with beside(tmp_path, environ(tmp_path, gemini)) as session:
        await session.workspace.background.close()
        store, of = session.workspace.store, await archived(session, 1)
        old = await store.sessions.get(of)
        assert old
        head = await store.turns.get(old.head or "")
        await said(store, old, old_words, parent=head, answer=ANSWER)
        another = a_session(session.workspace.project.id)
        await store.sessions.add(another)
        since = await said(store, another, new_words, started_at=now())
        newer = builders.a_memory(
            another, new_words, since, type=MemoryType.DECISION, created_at=now(), updated_at=now()
        )
        await store.memories.save(newer)
        assert (await consolidate(session)).done == 1
        wanted = MemoryFilter(session.workspace.project.id, replaced=True)
        found = {each.content: each.replaced for each in await store.memories.find(wanted)}
        assert found == {old_words: True, new_words: False}


async def test_what_an_outage_of_the_store_cuts_short_at_any_write_is_gone_on_with(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    env = environ(tmp_path, gemini, RAGFORGE_MEMORY_MODEL=NO_MODEL)
    async with beside(tmp_path, env) as session:
        await session.workspace.background.close()
        store, writes, failed = session.workspace.store, 0, True
        while failed:
            await archived(session, 3)
            away = cut_off(store, writes, StoreUnavailable("The store is away."))
            failed = True
            with suppress(StoreUnavailable):
                await consolidate(replace(session, workspace=replace(session.workspace, store=away)))
                failed = False
            await consolidate(session)
            writes += 1
            assert await count_archived(store) == (writes, 0)
        assert writes > 5
        assert await store.check() == []


async def test_what_an_outage_of_the_store_cuts_short_at_any_write_is_paid_for_once(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    """Three calls, wherever it is cut short: the turns, the summary above them, the session read again."""
    gemini.always_structured(by_the_model("All about walruses.", a_memory("use tabs", "preference")))
    async with beside(tmp_path, environ(tmp_path, gemini)) as session:
        await session.workspace.background.close()
        store, writes, failed = session.workspace.store, 0, True
        while failed:
            calls = len(gemini.structured())
            of = await archived(session, 3)
            away = cut_off(store, writes, StoreUnavailable("The store is away."))
            failed = True
            with suppress(StoreUnavailable):
                await consolidate(replace(session, workspace=replace(session.workspace, store=away)))
                failed = False
            await consolidate(session)
            assert len(gemini.structured()) - calls == 3, writes
            whole = (await read_summaries(store, [of]))[of]
            assert (whole.text, whole.method) == ("All about walruses.", SummaryMethod.MODEL)
            writes += 1
        assert writes > 5


async def test_without_a_model_that_answers_an_archived_session_is_consolidated_all_the_same(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    gemini.always_structured(lambda request: ServerError())
    async with beside(tmp_path, environ(tmp_path, gemini, RAGFORGE_RETRY_ATTEMPTS_MAX="1")) as session:
        of = await archived(session, 2)
        assert (await digest(session, of)).method is SummaryMethod.EXTRACTIVE


async def test_a_session_that_nobody_touched_for_a_week_is_consolidated_like_an_archived_one(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    env = environ(tmp_path, gemini, RAGFORGE_MEMORY_MODEL=NO_MODEL)
    async with beside(tmp_path, env) as session:
        store, project = session.workspace.store, session.workspace.project
        await keep_project(store, project)
        ages = {timedelta(days=6): a_session(project.id), timedelta(days=8): a_session(project.id)}
        turns = list[Turn]()
        for age, each in ages.items():
            at = now() - age
            await store.sessions.add(replace(each, started_at=at, last_activity_at=at))
            turns += [await said(store, each, "One.", answer=ANSWER, started_at=at)]
            turns += [await said(store, each, "Two.", parent=turns[-1], answer=ANSWER, started_at=at)]
        session.workspace.background.turn_ended(session, turns[0].id)
        fresh, old = (each.id for each in ages.values())

        async def found() -> dict[str, Summary]:
            return await read_summaries(store, [fresh, old])

        assert (await until(found))[old].turn_count == 2
        assert list(await found()) == [old]
        assert (await count_archived(store)) == (0, 0)


async def test_consolidating_at_once_waits_for_no_lease_that_a_killed_process_left(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    gemini.always_structured(by_the_model("All about walruses."))
    async with beside(tmp_path, environ(tmp_path, gemini)) as session:
        await session.workspace.background.close()
        store, of = session.workspace.store, await archived(session, 2)
        other = await open_store(store.url, machine_dir=tmp_path / "another")
        for turn in await store.turns.path((await store.sessions.get(of)).head):
            assert await other.leases.take(f"summary:{turn.id}", seconds=3_600)
        await other.close()
        assert await consolidate(session) == Consolidated(done=1, lacking=0)


async def listed(session: Session) -> list[ConversationSession]:
    rows = await session.workspace.store.sessions.recent(archived=True)
    return [row.session for row in rows]
