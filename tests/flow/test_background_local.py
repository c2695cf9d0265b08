"""A server on this machine answers one request at a time: background work leaves it to the user."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ragforge.domain.summaries import SummaryMethod
from ragforge.domain.usage import Purpose
from ragforge.session.turn import interrupt
from tests.flow.beside import all_embedded, an_answer, beside, done, summaries_of, until
from tests.flow.running import environ, say
from tests.standins.openai import End, OpenAIStandIn, Raw, Reply, Seen, json_reply


@pytest.fixture
async def server() -> AsyncIterator[OpenAIStandIn]:
    async with OpenAIStandIn() as server:
        yield server


def env_of(tmp_path: Path, server: OpenAIStandIn) -> dict[str, str]:
    """An environment in which the server is an endpoint of the settings."""
    config = tmp_path / "config" / "config.toml"
    config.parent.mkdir(exist_ok=True)
    config.write_text(f'[endpoints.here]\nbase_url = "{server.base_url}"\n')
    return environ(tmp_path, RAGFORGE_MODEL=f"here:{server.models[0]}")


def understood(seen: Seen) -> Reply:
    assert seen.schema is not None
    return json_reply(an_answer(seen.schema, "Understood."))


def turns_in(body: dict[str, Any]) -> int:
    """Of how many turns the request asks."""
    schema = body["response_format"]["json_schema"]["schema"]
    return len(schema["properties"]["turns"]["items"]["properties"]["id"]["enum"])


async def test_what_was_left_behind_waits_while_a_turn_runs_there(
    tmp_path: Path, server: OpenAIStandIn
) -> None:
    env = env_of(tmp_path, server)
    server.always_structured(Raw((), end=End.HANG))
    async with beside(tmp_path, env) as session:
        await say(session, "first question")
        await say(session, "second question")
        left = session.id
    server.requests.clear()
    server.always_structured(understood)
    server.script(Raw((), end=End.HANG))
    async with beside(tmp_path, env) as session:
        store = session.workspace.store
        turn = asyncio.create_task(say(session, "third question"))
        await server.wait_for(lambda it: len(it.chats) == 1)
        # The other lanes have come round by now, and the model was left alone.
        await until(partial(all_embedded, session))
        assert server.structured == []
        await interrupt(session)
        await turn

        async def summarised() -> bool:
            summaries = await store.summaries.of_session(left, level=1)
            return [each.method for each in summaries] == [SummaryMethod.MODEL] * 2

        await until(summarised)
        assert [turns_in(body) for body in server.structured] == [2]


async def test_a_new_message_cancels_what_runs_there_and_what_waits_goes_in_one_call(
    tmp_path: Path, server: OpenAIStandIn
) -> None:
    server.script_structured(Raw((), end=End.HANG))
    server.always_structured(understood)
    async with beside(tmp_path, env_of(tmp_path, server)) as session:
        await say(session, "first question")
        await server.wait_for(lambda it: len(it.structured) == 1)
        assert server.hangups == 0
        await say(session, "second question")
        await server.wait_for(lambda it: it.hangups == 1)
        await done(session)
        assert [turns_in(body) for body in server.structured] == [1, 2]
        assert [each.method for each in await summaries_of(session)] == [SummaryMethod.MODEL] * 2


async def test_what_it_is_asked_is_counted_at_a_price_that_is_unknown(
    tmp_path: Path, server: OpenAIStandIn
) -> None:
    server.always_structured(understood)
    async with beside(tmp_path, env_of(tmp_path, server)) as session:
        await say(session, "first question")
        await done(session)
        rows = await session.workspace.store.usage.by_model()
        [row] = [row for row in rows if row.purpose is Purpose.SUMMARY]
        assert (row.model, row.calls, row.cost_usd) == (f"here:{server.models[0]}", 1, None)
        assert row.usage.input_tokens > 0
