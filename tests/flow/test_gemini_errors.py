"""What goes wrong with Gemini, and what the user hears of it."""

import asyncio
import time
from contextlib import aclosing
from typing import Any

import pytest

from ragforge.domain.errors import (
    AnswerUnusable,
    ContextTooLong,
    ModelError,
    ModelOverloaded,
    ModelRefusedKey,
    ModelUnknown,
    ModelUnreachable,
)
from ragforge.domain.events import ModelEvent, RetryWaiting, TextDelta, UsageSeen
from ragforge.providers.base import ModelRequest
from tests.flow.gemini_asking import FLASH, READ, ask, asked, asking, open_provider, said, text_of
from tests.standins.gemini import (
    Cut,
    ErrorInStream,
    Failure,
    GeminiStandIn,
    Hang,
    HtmlError,
    QuotaPerDay,
    RateLimited,
    Raw,
    ServerError,
    Text,
)


async def events_until_error(server: GeminiStandIn, **options: Any) -> tuple[list[ModelEvent], ModelError]:
    """What came before the error, and the error."""
    events: list[ModelEvent] = []
    async with open_provider(server, **options) as provider:
        try:
            async for event in asking(provider, "hello"):
                events.append(event)
        except ModelError as error:
            return events, error
    pytest.fail("there was no error")


async def test_a_wrong_key_names_where_it_came_from_but_not_itself(gemini: GeminiStandIn) -> None:
    events, error = await events_until_error(gemini, api_key="AIza-wrong-secret")
    assert isinstance(error, ModelRefusedKey)
    assert not events
    assert "GEMINI_API_KEY" in str(error)
    assert "aistudio.google.com" in str(error)
    assert "AIza" not in str(error)


async def test_a_key_that_the_server_repeats_is_left_out(gemini: GeminiStandIn) -> None:
    gemini.script(Failure(403, "PERMISSION_DENIED", f"The key {gemini.key} was reported as leaked."))
    _, error = await events_until_error(gemini)
    assert isinstance(error, ModelRefusedKey)
    assert "The key [key] was reported as leaked" in str(error)


@pytest.mark.parametrize("key", ["", " \n", "schlüssel", "two words", "a\nb", "a\0b"])
async def test_what_cannot_be_a_key_asks_nobody(gemini: GeminiStandIn, key: str) -> None:
    _, error = await events_until_error(gemini, api_key=key)
    assert isinstance(error, ModelRefusedKey)
    assert "aistudio.google.com" in str(error)
    assert not gemini.requests


@pytest.mark.parametrize("model", ["", "models/", "a b", "x?key=1", "../x", "größe", "a//b", "a:b"])
async def test_what_cannot_be_a_model_asks_nobody_or_is_unknown(gemini: GeminiStandIn, model: str) -> None:
    _, error = await events_until_error(gemini, model=model)
    assert isinstance(error, ModelUnknown)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("ALL_PROXY", "socks5://127.0.0.1:1", "proxy"),
        ("HTTP_PROXY", "nonsense://127.0.0.1:1", "proxy"),
        ("HTTP_PROXY", "http://127.0.0.1:1", "proxy"),
        ("SSL_CERT_FILE", "/nowhere.pem", "SSL_CERT_FILE"),
    ],
)
async def test_an_environment_that_does_not_work_is_told(
    gemini: GeminiStandIn, monkeypatch: pytest.MonkeyPatch, name: str, value: str, told: str
) -> None:
    monkeypatch.setenv(name, value)
    scheme = "https" if name == "SSL_CERT_FILE" else "http"
    async with open_provider(gemini, base_url=f"{scheme}://example.invalid") as provider:
        with pytest.raises(ModelUnreachable, match=told) as refused:
            await provider.verify()
    assert "/retry" not in str(refused.value), "a check of the key is no turn"


async def test_verification_tells_a_wrong_key_from_an_unknown_model(gemini: GeminiStandIn) -> None:
    async with open_provider(gemini, api_key="wrong") as provider:
        with pytest.raises(ModelRefusedKey):
            await provider.verify()
    async with open_provider(gemini, "gemini-9-none") as provider:
        with pytest.raises(ModelUnknown, match="gemini-9-none"):
            await provider.verify()
    async with open_provider(gemini, "gemini-embedding-2") as provider:
        with pytest.raises(ModelUnknown, match="cannot chat"):
            await provider.verify()


async def test_an_unknown_model_is_told(gemini: GeminiStandIn) -> None:
    _, error = await events_until_error(gemini, model="gemini-9-none")
    assert isinstance(error, ModelUnknown)
    assert "gemini-9-none" in str(error)


async def test_a_request_too_long_is_told_apart(gemini: GeminiStandIn) -> None:
    gemini.models[FLASH] = (100, 10)
    async with open_provider(gemini) as provider:
        with pytest.raises(ContextTooLong):
            await ask(provider, "x" * 4000)
    assert len(gemini.requests) == 1


async def test_a_request_that_is_refused_is_not_repeated(gemini: GeminiStandIn) -> None:
    gemini.script(Failure(400, "INVALID_ARGUMENT", "Something is odd."))
    _, error = await events_until_error(gemini)
    assert type(error) is ModelError
    assert "Something is odd" in str(error)
    assert len(gemini.requests) == 1


async def test_retry_info_is_waited_for_and_told(gemini: GeminiStandIn) -> None:
    gemini.script(RateLimited(0.2), RateLimited(0.1), Text("At last."))
    async with open_provider(gemini) as provider:
        begun = time.monotonic()
        events = await ask(provider)
        took_s = time.monotonic() - begun
    waits = [event for event in events if isinstance(event, RetryWaiting)]
    assert waits == [RetryWaiting("429", 0.2, 2, 5), RetryWaiting("429", 0.1, 3, 5)]
    assert took_s >= 0.3
    assert text_of(events) == "At last."


async def test_attempts_end(gemini: GeminiStandIn) -> None:
    gemini.script(*[RateLimited(0.01)] * 3)
    events, error = await events_until_error(gemini, attempts_max=3)
    assert isinstance(error, ModelOverloaded)
    assert "Tried 3 times" in str(error)
    assert "try again with /retry," in str(error)
    assert len(events) == 2
    assert len(gemini.requests) == 3


async def test_a_wait_longer_than_the_limit_is_not_begun(gemini: GeminiStandIn) -> None:
    gemini.script(RateLimited(61))
    events, error = await events_until_error(gemini)
    assert isinstance(error, ModelOverloaded)
    assert "wait 61 s" in str(error)
    assert not events


async def test_a_wait_of_a_day_is_said_in_hours(gemini: GeminiStandIn) -> None:
    gemini.script(RateLimited(86_400))
    events, error = await events_until_error(gemini)
    assert "asks to wait 24 hours, which is longer" in str(error)
    assert "the limit of 1 minute (retry.delay_s_max)" in str(error)
    assert not events
    assert len(asked(gemini)) == 1


async def test_cancelling_ends_the_wait_and_sends_nothing_more(gemini: GeminiStandIn) -> None:
    gemini.script(RateLimited(50))
    waiting = asyncio.Event()

    async def run() -> None:
        async with open_provider(gemini) as provider:
            async for event in asking(provider):
                assert isinstance(event, RetryWaiting)
                waiting.set()

    task = asyncio.create_task(run())
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 30)
    assert len(gemini.requests) == 1


async def test_the_quota_of_the_day_is_final(gemini: GeminiStandIn) -> None:
    gemini.script(QuotaPerDay())
    events, error = await events_until_error(gemini)
    assert isinstance(error, ModelOverloaded)
    assert "/model" in str(error)
    assert "PerDay" in str(error)
    assert not events


@pytest.mark.parametrize(
    "reply", [ServerError(), ServerError(503, "UNAVAILABLE", "overloaded"), HtmlError(502)]
)
async def test_a_server_that_fails_is_asked_again(gemini: GeminiStandIn, reply: Failure | HtmlError) -> None:
    gemini.script(reply, Text("Now."))
    async with open_provider(gemini) as provider:
        events = await ask(provider)
    [wait] = [event for event in events if isinstance(event, RetryWaiting)]
    assert wait.reason == str(reply.code)
    assert 0.5 <= wait.delay_s <= 1.0
    assert text_of(events) == "Now."


async def test_a_page_of_html_is_not_shown(gemini: GeminiStandIn) -> None:
    gemini.script(HtmlError(502))
    _, error = await events_until_error(gemini, attempts_max=1)
    assert isinstance(error, ModelOverloaded)
    assert "HTML" in str(error)
    assert "<" not in str(error)


async def test_an_error_at_the_head_of_a_stream_is_retried(gemini: GeminiStandIn) -> None:
    gemini.script(ErrorInStream(), Text("Now."))
    async with open_provider(gemini) as provider:
        events = await ask(provider)
    assert isinstance(events[0], RetryWaiting)
    assert text_of(events) == "Now."


async def test_an_error_within_a_stream_is_not_retried(gemini: GeminiStandIn) -> None:
    gemini.script((Text("Half"), ErrorInStream()))
    events, error = await events_until_error(gemini)
    assert isinstance(error, ModelOverloaded)
    assert "overloaded" in str(error)
    assert text_of(events) == "Half"
    assert len(asked(gemini)) == 1


@pytest.mark.parametrize("how", ["rst", "fin"])
async def test_a_cut_stream_tells_what_it_cost(gemini: GeminiStandIn, how: str) -> None:
    gemini.script((Text("Half of an answer"), Cut(how)))
    events, error = await events_until_error(gemini)
    assert isinstance(error, ModelUnreachable)
    assert "Tried" not in str(error)
    assert text_of(events) == "Half of an answer"
    last = events[-1]
    assert isinstance(last, UsageSeen)
    assert last.estimated
    assert last.usage.input_tokens > 0
    assert last.usage.output_tokens == 5
    assert len(asked(gemini)) == 1


async def test_a_connection_cut_before_the_answer_is_tried_again(gemini: GeminiStandIn) -> None:
    gemini.script(Cut("rst"), Text("Now."))
    async with open_provider(gemini) as provider:
        events = await ask(provider)
    assert isinstance(events[0], RetryWaiting)
    assert text_of(events) == "Now."


@pytest.mark.parametrize(
    "chunk",
    ["{no json", {"error": "text"}, {"candidates": [{"content": "text"}]}],
)
async def test_an_unreadable_chunk_ends_the_answer_and_the_connection(
    gemini: GeminiStandIn, chunk: Any
) -> None:
    gemini.script((Text("Half"), Raw(chunk), Hang()))
    events, error = await events_until_error(gemini)
    assert isinstance(error, AnswerUnusable)
    assert [event for event in events if isinstance(event, TextDelta)] == [TextDelta("Half")]
    await asyncio.wait_for(asked(gemini)[0].hung_up.wait(), 30)


@pytest.mark.parametrize("reply", [Hang(), (Text("Half"), Hang())])
async def test_silence_ends(gemini: GeminiStandIn, reply: Any) -> None:
    async with open_provider(gemini, idle_timeout_s=1.0) as provider:
        # Loading the library and connecting count as silence too: on a busy machine nothing would be sent.
        await provider.verify()
        gemini.script(reply)
        with pytest.raises(ModelUnreachable, match="nothing for 1 s"):
            await ask(provider)
    await asyncio.wait_for(asked(gemini)[0].hung_up.wait(), 30)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://127.0.0.1:1", "Nothing answers at http://127.0.0.1:1"),
        ("https://host.invalid", "cannot be resolved"),
        ("ftp://example.org", "is not a server's address"),
        ("no url", "is not a server's address"),
        ("http://[broken", "could not be set up"),
        ("http://127.0.0.1:99999", "could not be set up"),
    ],
)
async def test_an_address_that_does_not_work_is_told(gemini: GeminiStandIn, url: str, told: str) -> None:
    async with open_provider(gemini, base_url=url) as provider:
        with pytest.raises(ModelUnreachable, match=told):
            await provider.verify()


async def test_a_server_without_tls_is_told(gemini: GeminiStandIn) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with open_provider(gemini, base_url=f"https://127.0.0.1:{port}") as provider:
            with pytest.raises(ModelUnreachable, match="No secure connection"):
                await provider.verify()


async def test_a_network_that_is_down_is_tried_three_times(gemini: GeminiStandIn) -> None:
    events, error = await events_until_error(gemini, base_url="http://127.0.0.1:1")
    assert isinstance(error, ModelUnreachable)
    assert [event.attempt for event in events if isinstance(event, RetryWaiting)] == [2, 3]
    assert "then try again with /retry. Tried 3 times" in str(error)


async def test_what_the_service_would_refuse_is_told(gemini: GeminiStandIn) -> None:
    odd = READ.__class__("not a name!", "d")
    async with open_provider(gemini) as provider:
        with pytest.raises(ModelError, match="Invalid function name"):
            await ask(provider, tools=(odd,))


async def test_the_stream_can_be_left_before_it_is_begun(gemini: GeminiStandIn) -> None:
    async with open_provider(gemini) as provider, aclosing(provider.stream(ModelRequest("", (said("hi"),)))):
        pass
    assert not gemini.requests
