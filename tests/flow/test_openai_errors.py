"""What a user hears when a chat completions service refuses, over real HTTP."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from ragforge.domain.errors import (
    AnswerUnusable,
    ContextTooLong,
    ModelError,
    ModelOverloaded,
    ModelRefusedKey,
    ModelUnknown,
    ModelUnreachable,
    UsageError,
)
from ragforge.domain.events import AnswerEnded, ModelEvent, RetryWaiting, TextDelta
from ragforge.domain.messages import TextPart, UserMessage
from ragforge.providers.base import ModelRequest
from ragforge.providers.openai_compatible import OpenAICompatibleProvider
from tests.standins.openai import End, Failure, Flavour, OpenAIStandIn, Raw, Reply, delta, sse

REQUEST = ModelRequest("", (UserMessage((TextPart("hi"),)),))
SOON = (("Retry-After", "0.01"),)


async def no_blob(digest: str) -> bytes:
    raise AssertionError(digest)


def provider_at(
    base_url: str,
    *,
    name: str = "openai",
    model: str = "test-model",
    key: str | None = None,
    attempts_max: int = 3,
) -> OpenAICompatibleProvider:
    return OpenAICompatibleProvider(
        model,
        name=name,
        base_url=base_url,
        api_key=key,
        key_source="OPENAI_API_KEY",
        load_blob=no_blob,
        attempts_max=attempts_max,
        delay_s_max=5.0,
    )


async def events_of(provider: OpenAICompatibleProvider) -> list[ModelEvent]:
    try:
        return [event async for event in provider.stream(REQUEST)]
    finally:
        await provider.close()


def said(message: str, **fields: object) -> dict[str, object]:
    return {"error": {"message": message, **fields}}


async def test_a_wrong_key_is_named_by_its_source_and_never_shown():
    async with OpenAIStandIn(key="right") as server:
        with pytest.raises(ModelRefusedKey, match=r"refused the key from OPENAI_API_KEY \(401\)"):
            await events_of(provider_at(server.base_url, key="wrong"))
        with pytest.raises(ModelRefusedKey, match="needs a key, and none is set"):
            await events_of(provider_at(server.base_url))
        with pytest.raises(ModelRefusedKey, match="refused the key"):
            await provider_at(server.base_url, key="wrong").verify()
        with pytest.raises(ModelRefusedKey, match="refused the key"):
            await provider_at(server.base_url, key="wrong").models()
        assert len(server.requests) == 4


async def test_a_key_that_the_server_repeats_is_hidden():
    async with OpenAIStandIn() as server:
        server.script(Failure(403, said("No access for sk-secret-123")))
        with pytest.raises(ModelRefusedKey) as caught:
            await events_of(provider_at(server.base_url, key="sk-secret-123"))
    assert "sk-secret-123" not in str(caught.value)
    assert "No access for ***" in str(caught.value)


@pytest.mark.parametrize("key", ["with space", "two\nlines", "schlüssel"])
async def test_a_key_that_cannot_be_one_is_refused_before_anything_is_sent(key):
    async with OpenAIStandIn() as server:
        with pytest.raises(ModelRefusedKey, match="Paste the whole key") as caught:
            await events_of(provider_at(server.base_url, key=key))
        assert not server.requests
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    ("flavour", "hint"),
    [
        (Flavour.OPENAI, "does not exist"),
        (Flavour.OPENROUTER, "not a valid model"),
        (Flavour.OLLAMA, "ollama pull nope:8b"),
        (Flavour.VLLM, "does not exist"),
    ],
)
async def test_an_unknown_model_says_so_and_how_to_get_one(flavour, hint):
    async with OpenAIStandIn(flavour) as server:
        with pytest.raises(ModelUnknown, match=hint):
            await events_of(provider_at(server.base_url, name=flavour.value, model="nope:8b"))


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, said("This model's maximum context length is 8192 tokens.", code="context_length_exceeded")),
        (400, said("Your input exceeds the limit", code="context_length_exceeded")),
        (
            400,
            said(
                "request (9412 tokens) exceeds the available context size (8192 tokens), try increasing it",
                type="exceed_context_size_error",
                n_ctx=8192,
            ),
        ),
        (
            400,
            {
                "object": "error",
                "message": "This model's maximum context length is 16384 tokens. You asked for 122946",
                "code": 400,
            },
        ),
        (400, said("The decoder prompt (length 9000) is longer than the maximum model length of 4096.")),
        (400, {"error": "Trying to keep 5043 tokens, but the context length is only 4096"}),
        (413, {"detail": "prompt is too long"}),
    ],
)
async def test_a_request_that_is_too_long_is_known_by_any_servers_words(status, body):
    async with OpenAIStandIn() as server:
        server.script(Failure(status, body))
        with pytest.raises(ContextTooLong, match="longer than test-model accepts"):
            await events_of(provider_at(server.base_url))
        server.script(Raw([sse(body)] if "error" in body else [sse({"error": body})]))
        with pytest.raises(ContextTooLong):
            await events_of(provider_at(server.base_url))
        assert len(server.chats) == 2


async def test_busy_is_tried_again_as_the_server_asks_and_then_answered():
    async with OpenAIStandIn() as server:
        soon = format_datetime(datetime.now(UTC) - timedelta(seconds=5), usegmt=True)
        server.script(
            Failure(429, said("slow down"), SOON),
            Failure(503, said("Loading model"), (("Retry-After", soon),)),
            Reply(text=("here",)),
        )
        events = await events_of(provider_at(server.base_url))
    assert events[:3] == [
        RetryWaiting("429", 0.01, 2, 3),
        RetryWaiting("503", 0.0, 3, 3),
        TextDelta("here"),
    ]
    assert isinstance(events[-1], AnswerEnded)


async def test_busy_for_longer_than_anyone_waits_is_an_error_at_once():
    async with OpenAIStandIn() as server:
        server.script(Failure(429, said("come back tomorrow"), (("Retry-After", "3600"),)))
        with pytest.raises(ModelOverloaded, match="come back tomorrow"):
            await events_of(provider_at(server.base_url))
        assert len(server.chats) == 1


@pytest.mark.parametrize(
    ("wait", "words"),
    [("86400", "24 hours"), ("3600", "1 hour"), ("61", "61 s"), ("200", "4 minutes"), ("inf", "many days")],
)
async def test_a_long_wait_is_said_and_not_begun(wait: str, words: str):
    async with OpenAIStandIn() as server:
        server.script(Failure(429, said("slow down"), (("Retry-After", wait),)))
        with pytest.raises(ModelOverloaded, match=f"asks to wait {words}, which is longer"):
            await events_of(provider_at(server.base_url))
        assert len(server.chats) == 1


async def test_busy_to_the_end_says_how_often_it_was_tried():
    async with OpenAIStandIn() as server:
        server.script(*[Failure(500, said("oops"), SOON)] * 3)
        with pytest.raises(ModelOverloaded, match=r"oops.*Tried 3 times"):
            await events_of(provider_at(server.base_url))


async def test_a_used_up_quota_is_not_tried_again():
    async with OpenAIStandIn() as server:
        server.script(Failure(429, said("You exceeded your current quota", code="insufficient_quota"), SOON))
        server.script(Failure(402, said("Insufficient credits")))
        for _ in range(2):
            with pytest.raises(ModelOverloaded, match=r"paid|quota"):
                await events_of(provider_at(server.base_url))
        assert len(server.chats) == 2


async def test_an_error_within_the_stream_is_tried_again_only_before_the_first_piece():
    async with OpenAIStandIn() as server:
        broken = sse(said("Provider returned error", code=502))
        server.script(Raw([sse(delta(role="assistant", content="")), broken]), Reply(text=("ok",)))
        events = await events_of(provider_at(server.base_url))
        assert isinstance(events[0], RetryWaiting)
        assert events[1] == TextDelta("ok")
        server.script(Raw([sse(delta(content="some")), broken]))
        with pytest.raises(ModelOverloaded, match="Provider returned error"):
            await events_of(provider_at(server.base_url))
        assert len(server.chats) == 3


async def test_a_web_page_is_told_by_its_title_not_shown():
    page = (
        "<!DOCTYPE html><html><head><title>Bad Gateway</title></head><body>" + "x" * 5000 + "</body></html>"
    )
    async with OpenAIStandIn() as server:
        server.script(Failure(502, page, SOON))
        with pytest.raises(ModelOverloaded, match=r"\(502\).*a web page called 'Bad Gateway'") as caught:
            await events_of(provider_at(server.base_url, attempts_max=1))
        assert len(str(caught.value)) < 300
        server.script(Raw([page.encode()], content_type="text/html"))
        with pytest.raises(AnswerUnusable, match="usually ends in /v1"):
            await events_of(provider_at(server.base_url))


async def test_a_base_url_without_its_version_says_what_is_missing():
    async with OpenAIStandIn(Flavour.OLLAMA) as server:
        with pytest.raises(ModelUnreachable, match="usually ends in /v1"):
            await events_of(provider_at(server.base_url.removesuffix("/v1"), name="ollama"))
        with pytest.raises(ModelUnreachable, match="usually ends in /v1"):
            await provider_at(server.base_url + "/v2", name="ollama").models()


async def test_a_redirect_is_told_not_followed_with_the_key():
    async with OpenAIStandIn() as server:
        elsewhere = "https://elsewhere.example/v1/chat/completions"
        server.script(
            *(
                Failure(308, "", (("Location", place),))
                for place in (elsewhere, "/v1/chat/completions", "file:///x")
            )
        )
        with pytest.raises(
            ModelUnreachable, match=r"redirects to .*set base_url of .* to https://elsewhere\.example/v1\.$"
        ):
            await events_of(provider_at(server.base_url, key="k"))
        for _ in range(2):
            with pytest.raises(ModelUnreachable, match=r"redirects to .*usually ends in /v1"):
                await events_of(provider_at(server.base_url, key="k"))


async def test_any_other_refusal_repeats_the_servers_words():
    async with OpenAIStandIn() as server:
        server.script(Failure(422, {"detail": [{"loc": ["body"], "msg": "image input is not supported"}]}))
        with pytest.raises(ModelError, match=r"refused the request \(422\).*image input is not supported"):
            await events_of(provider_at(server.base_url))


async def test_a_server_that_does_not_run_is_asked_once_and_the_error_says_how_to_start_it():
    server = OpenAIStandIn()
    await server.start()
    await server.stop()
    with pytest.raises(
        ModelUnreachable, match=r"Cannot reach ollama at .*is it running.*ollama serve"
    ) as caught:
        await events_of(provider_at(server.base_url, name="ollama"))
    assert "Tried" not in str(caught.value)
    with pytest.raises(ModelUnreachable, match="is it running"):
        await provider_at(server.base_url, name="mine").limits()


async def test_a_connection_closed_without_a_word_is_tried_again():
    asked = 0

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        asked += 1
        await reader.readuntil(b"\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ModelUnreachable, match=r"broke off.*Tried 2 times"):
            await events_of(provider_at(f"http://127.0.0.1:{port}/v1", attempts_max=2))
    assert asked == 2


@pytest.mark.parametrize(
    "url", ["", "localhost:8080", "ftp://x/v1", "http://", "http://[bad/v1", "http://h:port/"]
)
def test_a_base_url_that_is_none_is_refused_at_once(url):
    with pytest.raises(UsageError, match="must be like http://localhost:8080/v1"):
        provider_at(url)


async def test_bytes_that_are_no_utf8_and_a_body_without_end_do_no_harm():
    async with OpenAIStandIn() as server:
        server.script(Raw([b"\xff\xfe" * 100], content_type="application/json"))
        with pytest.raises(AnswerUnusable):
            await events_of(provider_at(server.base_url))
        endless = [b"x" * 1_000_000] * 20
        server.script(Raw(endless))
        with pytest.raises(AnswerUnusable, match="too long to read"):
            await events_of(provider_at(server.base_url))
        server.script(Raw(endless, content_type="application/json"))
        with pytest.raises(AnswerUnusable):
            await events_of(provider_at(server.base_url))


async def test_verify_hangs_up_after_the_first_piece_and_tries_once():
    async with OpenAIStandIn() as server:
        server.script(Reply(text=("ok",), finish=None, done=False, end=End.HANG))
        provider = provider_at(server.base_url)
        await provider.verify()
        await server.wait_for(lambda seen: seen.hangups == 1)
        server.script(Failure(500, said("down"), SOON))
        with pytest.raises(ModelOverloaded, match="down"):
            await provider.verify()
        assert len(server.chats) == 2
        assert json.dumps(server.chats[0]["messages"]) == '[{"role": "user", "content": "Say: ok"}]'
        await provider.close()


async def test_a_server_on_this_machine_is_asked_past_any_proxy(monkeypatch):
    closed = OpenAIStandIn()
    await closed.start()
    await closed.stop()
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{closed.port}")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    async with OpenAIStandIn() as server:
        assert isinstance((await events_of(provider_at(server.base_url)))[-1], AnswerEnded)


async def test_a_remote_service_that_cannot_be_reached_is_tried_again(monkeypatch):
    closed = OpenAIStandIn()
    await closed.start()
    await closed.stop()
    # A proxy that is away is a network that is away, without asking any name server.
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{closed.port}")
    provider = provider_at("http://models.example/v1", attempts_max=2)
    waits: list[ModelEvent] = []

    async def collect() -> None:
        async for event in provider.stream(REQUEST):
            waits.append(event)

    with pytest.raises(ModelUnreachable, match=r"Check the network.*Tried 2 times"):
        await collect()
    assert [type(event) for event in waits] == [RetryWaiting]
    await provider.close()
