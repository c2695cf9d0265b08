"""What the work beside the conversation may cost, and that it is told."""

import asyncio
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from ragforge.domain import timeouts
from ragforge.domain.events import TurnStarted
from ragforge.domain.memories import MemoryFilter
from ragforge.domain.messages import TextPart
from ragforge.domain.summaries import SummaryMethod
from ragforge.domain.usage import Purpose
from ragforge.session.background.model import Purse
from ragforge.session.turn import interrupt, submit
from tests.flow.beside import (
    MANY_TOKENS,
    beside,
    by_the_model,
    done,
    summaries_of,
)
from tests.flow.running import User, environ, say
from tests.standins.gemini import (
    Finish,
    GeminiStandIn,
    Hang,
    Tokens,
)


def spent_rows(rows: list[Any]) -> list[Any]:
    return [row for row in rows if row.purpose is Purpose.SUMMARY]


async def test_an_answer_of_no_use_is_paid_for_all_the_same(tmp_path: Path, gemini: GeminiStandIn) -> None:
    gemini.always_structured(Finish("SAFETY", usage=Tokens(prompt=900)))
    env = environ(tmp_path, gemini, RAGFORGE_RETRY_ATTEMPTS_MAX="1")
    async with beside(tmp_path, env) as session:
        await say(session, "hello there")
        await done(session)
        [row] = spent_rows(await session.workspace.store.usage.by_model())
        assert row.usage.input_tokens == 900 * row.calls > 0


async def test_memory_work_spending_hundreds_of_dollars_unseen(tmp_path: Path, gemini: GeminiStandIn) -> None:
    """The day's limit holds across turns and starts; what was spent stands apart from the chat's."""
    gemini.always_structured(by_the_model(tokens=MANY_TOKENS))
    env = environ(tmp_path, gemini, RAGFORGE_MEMORY_COST_USD_PER_DAY_MAX="0.5")
    for start in range(2):
        async with beside(tmp_path, env) as session:
            await say(session, "one")
            await say(session, "two")
            await done(session)
            methods = [each.method for each in await summaries_of(session)]
            assert methods == [
                SummaryMethod.EXTRACTIVE if start else SummaryMethod.MODEL,
                SummaryMethod.EXTRACTIVE,
            ]
            assert "0.5 USD" in session.workspace.background.progress.note
            [row] = spent_rows(await session.workspace.store.usage.by_model())
            assert (row.calls, row.cost_usd) == (1, pytest.approx(0.55))
    assert len(gemini.structured()) == 1


async def test_a_limit_of_nothing_means_no_call(tmp_path: Path, gemini: GeminiStandIn) -> None:
    env = environ(tmp_path, gemini, RAGFORGE_MEMORY_COST_USD_PER_DAY_MAX="0")
    async with beside(tmp_path, env) as session:
        await say(session, "one")
        await done(session)
        assert gemini.structured() == []


async def test_what_the_store_does_not_count_yet_is_spent_all_the_same(
    tmp_path: Path, gemini: GeminiStandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A payment may be made while the store counts, or wait for its server."""
    monkeypatch.setattr(timeouts, "SPENT_COUNT_EVERY_S", -1.0)
    async with beside(tmp_path, environ(tmp_path, gemini)) as session:
        purse, store, person = Purse(), session.workspace.store, session.workspace.person
        assert not await purse.is_empty(store, person, 0.5)
        purse.cost_usd += 0.55
        assert await purse.is_empty(store, person, 0.5)


async def test_several_calls_at_once_do_not_exceed_the_limit_together() -> None:
    purse, most, under_way = Purse(), 0, 0

    async def asked() -> None:
        nonlocal most, under_way
        async with purse.call(1.0):
            if purse.cost_usd >= 1.0:
                return
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0)
            purse.charge(0.3)
            under_way -= 1

    await asyncio.gather(*(asked() for _ in range(9)))
    assert purse.cost_usd == pytest.approx(1.2), "the last one began below the limit"
    assert most == 2, "the first alone, and as many at once as the rest is enough for"


async def test_a_model_without_a_price_is_not_asked_without_limit(
    tmp_path: Path, gemini: GeminiStandIn
) -> None:
    gemini.models["gemini-unpriced"] = (1000, 1000)
    env = environ(tmp_path, gemini, RAGFORGE_MEMORY_MODEL="gemini:gemini-unpriced")
    async with beside(tmp_path, env) as session:
        await say(session, "one")
        await done(session)
        assert gemini.structured() == []
        assert "price of gemini:gemini-unpriced is unknown" in session.workspace.background.progress.note
        [summary] = await summaries_of(session)
        assert summary.method is SummaryMethod.EXTRACTIVE


async def test_a_turn_that_came_to_nothing_costs_nothing(tmp_path: Path, gemini: GeminiStandIn) -> None:
    gemini.script(Hang())
    async with beside(tmp_path, environ(tmp_path, gemini)) as session:
        async with aclosing(submit(session, (TextPart("We use MySQL."),), User().approve)) as events:
            started = await anext(events)
            assert isinstance(started, TurnStarted)
            await gemini.wait_for_requests(1, action="streamGenerateContent")
            await interrupt(session)
            assert [event async for event in events]
        await done(session)
        [summary] = await summaries_of(session)
        assert (summary.covers, summary.method) == ((started.turn.id,), SummaryMethod.EXTRACTIVE)
        assert gemini.structured() == []
        found = await session.workspace.store.memories.find(
            MemoryFilter(project_id=session.workspace.project.id)
        )
        assert found == []
