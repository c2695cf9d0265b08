"""Answers of chat completions services, streamed over real HTTP from a stand-in."""

import asyncio
import codecs
import json
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from ragforge.domain.errors import AnswerUnusable, ModelUnreachable
from ragforge.domain.events import FinishReason, ModelEvent, TextDelta, ThoughtDelta, UsageSeen
from ragforge.domain.usage import Usage
from ragforge.providers.base import ModelRequest
from ragforge.providers.openai_compatible import OpenAICompatibleProvider
from ragforge.providers.validity import WellFormedProvider
from tests.flow.openai_asking import READ, ask, calls, ended, load_blob, provider_for, say
from tests.standins.openai import End, OpenAIStandIn, Raw, Reply, delta, sse


@pytest.fixture
async def server() -> AsyncIterator[OpenAIStandIn]:
    async with OpenAIStandIn() as started:
        yield started


@pytest.fixture
async def provider(server: OpenAIStandIn) -> AsyncIterator[OpenAICompatibleProvider]:
    made = provider_for(server)
    yield made
    await made.close()


async def test_text_and_thoughts_arrive_piece_by_piece_and_end_with_the_usage(server, provider):
    server.script(Reply(thoughts=("Let me", " see."), text=("Hal", "lo ", "wörld")))
    events = await ask(provider, say("hi"), system="Be brief.")
    assert events[:5] == [
        ThoughtDelta("Let me"),
        ThoughtDelta(" see."),
        TextDelta("Hal"),
        TextDelta("lo "),
        TextDelta("wörld"),
    ]
    assert events[5] == UsageSeen(
        Usage(input_tokens=100, cached_tokens=60, output_tokens=15, thought_tokens=5)
    )
    assert ended(events).finish is FinishReason.STOP
    assert ended(events).message.text == "Hallo wörld"
    assert ended(events).message.thoughts == "Let me see."
    assert server.chats[0]["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hi"},
    ]


@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        ("stop", FinishReason.STOP),
        ("length", FinishReason.LENGTH),
        ("content_filter", FinishReason.BLOCKED),
        ("tool_calls", FinishReason.MALFORMED),
        ("eos", FinishReason.STOP),
        ("abort", FinishReason.INCOMPLETE),
        (None, FinishReason.INCOMPLETE),
    ],
)
async def test_every_finish_reason_has_a_word_of_ours(server, provider, finish, reason):
    server.script(Reply(text=("some",), finish=finish))
    assert ended(await ask(provider, say("go"))).finish is reason


async def test_a_stream_that_stops_early_but_well_formed_is_incomplete(server, provider):
    server.script(Reply(text=("half of it",), finish=None, usage=None, done=False))
    end = ended(await ask(provider, say("go")))
    assert (end.finish, end.message.text) == (FinishReason.INCOMPLETE, "half of it")


@pytest.mark.parametrize("end", [End.CLEAN, End.CUT, End.RESET])
async def test_after_the_finish_reason_a_missing_end_loses_nothing(server, provider, end):
    server.script(Reply(text=("whole",), usage=None, done=False, end=end))
    events = await ask(provider, say("go"))
    assert ended(events).finish is FinishReason.STOP
    assert ended(events).message.text == "whole"


@pytest.mark.parametrize("done", [True, False])
async def test_a_server_that_forgets_to_hang_up_does_not_spoil_its_answer(server, done):
    provider = provider_for(server, idle_timeout_s=60.0 if done else 3.0)
    server.script(Reply(text=("whole",), done=done, end=End.HANG))
    events = await asyncio.wait_for(ask(provider, say("go")), 50.0)
    assert ended(events).finish is FinishReason.STOP
    await server.wait_for(lambda seen: seen.hangups == 1)


async def test_steps_share_a_connection():
    ports: set[int] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ports.add(writer.get_extra_info("peername")[1])
        while head := await reader.readuntil(b"\r\n\r\n"):
            await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]))
            body = sse(delta("stop", content="hi")) + sse("[DONE]")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n")
            writer.write(b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(body), body))

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listening:
        url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
        steady = OpenAICompatibleProvider(
            "m", name="x", base_url=url, api_key=None, key_source="", load_blob=load_blob
        )
        for _ in range(3):
            assert ended(await ask(steady, say("go"))).message.text == "hi"
        assert len(ports) == 1
        await steady.close()


@pytest.mark.parametrize("end", [End.CUT, End.RESET])
async def test_a_connection_that_breaks_amid_the_answer_is_an_error_and_is_not_tried_again(
    server, provider, end
):
    server.script(Reply(text=("half",), finish=None, usage=None, done=False, end=end))
    seen: list[ModelEvent] = []

    async def collect() -> None:
        async with aclosing(provider.stream(ModelRequest("", (say("go"),)))) as stream:
            async for event in stream:
                seen.append(event)

    with pytest.raises(ModelUnreachable, match="broke off"):
        await collect()
    assert seen == [TextDelta("half")]
    assert len(server.chats) == 1


async def test_without_usage_it_is_estimated_and_says_so(server, provider):
    server.script(Reply(text=("x" * 400,), usage=None))
    events = await ask(provider, say("y" * 4000), tools=[READ])
    [usage] = [event for event in events if isinstance(event, UsageSeen)]
    assert usage.estimated
    assert 1000 <= usage.usage.input_tokens < 1100
    assert usage.usage.output_tokens == 100


async def test_comments_crlf_and_borders_within_characters_change_nothing(server, provider):
    text = ": keep-alive\r\n\r\n" + "".join(
        f"event: x\r\ndata:{json.dumps(delta(content=piece), ensure_ascii=False)}\r\n\r\n: again\r\n\r\n"
        for piece in ("Grüße \u2028", "aus 東京 ", "🙂")
    )
    text += f"data: {json.dumps(delta(finish='stop'))}\r\n\r\ndata: [DONE]"
    raw = text.encode()
    server.script(Raw([raw[at : at + 1] for at in range(len(raw))]))
    assert ended(await ask(provider, say("go"))).message.text == "Grüße \u2028aus 東京 🙂"


async def test_a_byte_order_mark_before_the_first_event_changes_nothing(server, provider):
    chunks = [f"data: {json.dumps(each)}\n\n" for each in (delta(content="Hi"), delta(finish="stop"))]
    server.script(Raw([codecs.BOM_UTF8 + "".join(chunks).encode()]))
    assert ended(await ask(provider, say("go"))).message.text == "Hi"


async def test_content_may_be_a_list_of_parts(server, provider):
    parts = [{"type": "text", "text": "Good "}, {"type": "text", "text": "day"}, {"type": "image_url"}, 7]
    server.script(Raw([sse(json.dumps(delta(content=parts))), sse(json.dumps(delta(finish="stop")))]))
    assert ended(await ask(provider, say("go"))).message.text == "Good day"


async def test_halves_of_a_pair_in_two_pieces_are_one_character(server, provider):
    pieces = [delta(content="so \ud83d"), delta(content="\ude00!"), delta(finish="stop")]
    server.script(Raw([sse(json.dumps(piece)) for piece in pieces]))
    events = await ask(WellFormedProvider(provider), say("go"))
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["so ", "😀!"]
    assert ended(events).message.text == "so 😀!"


async def test_a_server_that_does_not_stream_is_understood(server, provider):
    call = {"id": "c", "type": "function", "function": {"name": "read", "arguments": "{}"}}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": {"content": "Hi", "tool_calls": [call]}}
    server.script(Raw([json.dumps({"choices": [choice]}).encode()], content_type="application/json"))
    events = await ask(provider, say("go"))
    assert ended(events).message.text == "Hi"
    assert calls(events)[0].name == "read"


@pytest.mark.parametrize("payload", ["{broken", "[]", "null", "[" * 100_000])
async def test_a_stream_of_something_else_is_an_unusable_answer(server, provider, payload):
    server.script(Raw([sse(payload)]))
    with pytest.raises(AnswerUnusable, match="answer contains"):
        await ask(provider, say("go"))


@pytest.mark.parametrize(
    "chunk", [{"choices": None}, {"choices": [None, 3]}, {"choices": [{"delta": None}]}, {}]
)
async def test_chunks_that_say_nothing_are_passed_over(server, provider, chunk):
    server.script(Raw([sse(chunk), sse(delta(content="ok", tool_calls=None)), sse(delta(finish="stop"))]))
    assert ended(await ask(provider, say("go"))).message.text == "ok"


async def test_closing_the_stream_hangs_up_at_once(server, provider):
    server.script(Reply(text=("first",), end=End.HANG, finish=None, done=False))
    async with aclosing(provider.stream(ModelRequest("", (say("go"),)))) as stream:
        assert await anext(stream) == TextDelta("first")
    await server.wait_for(lambda seen: seen.hangups == 1)


async def test_cancelling_hangs_up_at_once_even_before_the_first_piece(server, provider):
    server.script(Raw([], end=End.HANG))
    task = asyncio.create_task(ask(provider, say("go")))
    await server.wait_for(lambda seen: len(seen.chats) == 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await server.wait_for(lambda seen: seen.hangups == 1)


async def test_silence_ends_the_stream_and_a_comment_is_no_silence(server):
    provider = provider_for(server, idle_timeout_s=3.0)
    server.script(Raw([b": thinking\n\n"], end=End.HANG))
    with pytest.raises(ModelUnreachable, match="nothing for 3 s"):
        await ask(provider, say("go"))
    await server.wait_for(lambda seen: seen.hangups == 1)
    # Comments for longer than the limit, then an answer.
    server.script(
        Raw(
            [*[b": thinking\n\n"] * 20, *map(sse, (delta(content="late"), delta(finish="stop")))], pause_s=0.2
        )
    )
    assert ended(await ask(provider, say("go"))).message.text == "late"
