"""Answers of chat completions services, streamed over real HTTP from a stand-in."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any

import pytest

from ragforge.domain.errors import AnswerUnusable, ModelUnreachable, StoreUnavailable
from ragforge.domain.events import (
    AnswerEnded,
    CallSeen,
    FinishReason,
    ModelEvent,
    TextDelta,
    ThoughtDelta,
    UsageSeen,
)
from ragforge.domain.messages import (
    CallRequest,
    CallResult,
    ImagePart,
    Message,
    ModelMessage,
    TextPart,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from ragforge.domain.usage import Usage
from ragforge.providers.base import ModelRequest
from ragforge.providers.openai_compatible import OpenAICompatibleProvider
from tests.standins.openai import Call, End, Flavour, OpenAIStandIn, Raw, Reply, delta, sse

PIXEL = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
READ = ToolSpec("read", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}})


async def load_blob(digest: str) -> bytes:
    if digest != "pixel":
        raise StoreUnavailable("no such blob")
    return PIXEL


def provider_for(server: OpenAIStandIn, *, name: str = "openai", model: str = "test-model", **options: Any):
    return OpenAICompatibleProvider(
        model,
        name=name,
        base_url=server.base_url,
        api_key=server.key,
        key_source="OPENAI_API_KEY",
        load_blob=load_blob,
        **options,
    )


@pytest.fixture
async def server() -> AsyncIterator[OpenAIStandIn]:
    async with OpenAIStandIn() as started:
        yield started


@pytest.fixture
async def provider(server: OpenAIStandIn) -> AsyncIterator[OpenAICompatibleProvider]:
    made = provider_for(server)
    yield made
    await made.close()


def say(text: str) -> UserMessage:
    return UserMessage((TextPart(text),))


async def ask(
    provider: OpenAICompatibleProvider, *messages: Message, system: str = "", tools: Sequence[ToolSpec] = ()
) -> list[ModelEvent]:
    async with aclosing(provider.stream(ModelRequest(system, messages, tuple(tools)))) as stream:
        return [event async for event in stream]


def ended(events: list[ModelEvent]) -> AnswerEnded:
    assert isinstance(events[-1], AnswerEnded)
    return events[-1]


def calls(events: list[ModelEvent]) -> list[CallRequest]:
    seen = [event.call for event in events if isinstance(event, CallSeen)]
    assert tuple(seen) == ended(events).message.calls
    return seen


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


async def test_parallel_calls_in_fragments_are_put_together(server, provider):
    server.script(
        Reply(
            text=("Looking.",),
            calls=(
                Call("read", '{"path": "a.py"}', id="call_a", fragments=5),
                Call("read", '{"path": "b ü.py"}', id="call_b", fragments=9),
            ),
        )
    )
    events = await ask(provider, say("read both"), tools=[READ])
    first, second = calls(events)
    assert (first.args, first.provider_id) == ({"path": "a.py"}, "call_a")
    assert (second.args, second.provider_id) == ({"path": "b ü.py"}, "call_b")
    assert first.id != second.id
    assert ended(events).finish is FinishReason.CALLS
    assert server.chats[0]["tools"][0]["function"]["name"] == "read"


async def test_calls_of_ollama_come_whole_and_all_with_index_0():
    async with OpenAIStandIn(Flavour.OLLAMA) as server:
        server.script(
            Reply(
                thoughts=("hm",),
                calls=(
                    Call("read", '{"path": "a"}', id="call_x"),
                    Call("read", '{"path": "b"}', id="call_y"),
                ),
                finish="stop",
            )
        )
        events = await ask(provider_for(server, name="ollama"), say("go"), tools=[READ])
    assert [call.args for call in calls(events)] == [{"path": "a"}, {"path": "b"}]
    assert ended(events).finish is FinishReason.CALLS
    assert ended(events).message.thoughts == "hm"


@pytest.mark.parametrize(
    "pieces",
    [
        # Neither index nor id.
        [
            [{"function": {"name": "a", "arguments": "{}"}}],
            [{"function": {"name": "b", "arguments": '{"x": 1}'}}],
        ],
        # Two in one piece of the stream, arguments as an object.
        [[{"function": {"name": "a", "arguments": {}}}, {"function": {"name": "b", "arguments": {"x": 1}}}]],
        # The same name, index and no id, each call whole.
        [
            [{"index": 0, "function": {"name": "a", "arguments": "{}"}}],
            [{"index": 0, "function": {"name": "b", "arguments": '{"x": 1}'}}],
        ],
        # The name and the id repeated with each fragment.
        [
            [{"index": 0, "id": "1", "function": {"name": "a", "arguments": ""}}],
            [{"index": 1, "id": "2", "function": {"name": "b", "arguments": '{"x"'}}],
            [{"index": 1, "id": "2", "function": {"name": "b", "arguments": ": 1}"}}],
        ],
        # One id for both.
        [
            [{"index": 0, "id": "1", "function": {"name": "a", "arguments": "{}"}}],
            [{"index": 1, "id": "1", "function": {"name": "b", "arguments": '{"x": 1}'}}],
        ],
    ],
)
async def test_calls_told_in_odd_ways_are_the_same_two_calls_with_ids_that_differ(server, provider, pieces):
    chunks = [sse(delta(tool_calls=piece)) for piece in pieces]
    server.script(Raw([*chunks, sse(delta(finish="tool_calls")), sse("[DONE]")]))
    events = await ask(provider, say("go"), tools=[READ])
    first, second = calls(events)
    assert [(call.name, call.args, call.malformed) for call in (first, second)] == [
        ("a", {}, ""),
        ("b", {"x": 1}, ""),
    ]
    # Going on works with a server that wants ids, each answered.
    results = tuple(
        CallResult(call.id, call.name, "done", provider_id=call.provider_id) for call in calls(events)
    )
    again = await ask(provider, say("go"), ended(events).message, ToolMessage(results), say("and?"))
    assert ended(again).message.text == "You said: and?"
    assert len({message.get("tool_call_id") for message in server.chats[1]["messages"]} - {None}) == 2


@pytest.mark.parametrize("index", [{"index": 0}, {}])
async def test_two_whole_calls_of_one_tool_without_ids_are_two(server, provider, index):
    functions = [{"name": "read", "arguments": json.dumps({"path": path})} for path in ("a", "b")]
    chunks = [sse(delta(tool_calls=[{**index, "function": function}])) for function in functions]
    server.script(Raw([*chunks, sse(delta("tool_calls")), sse("[DONE]")]))
    events = await ask(provider, say("go"), tools=[READ])
    assert [call.args for call in calls(events)] == [{"path": "a"}, {"path": "b"}]


async def test_two_calls_without_arguments_under_one_index_are_told_by_their_ids(server, provider):
    function = {"name": "list", "arguments": ""}
    chunks = [sse(delta(tool_calls=[{"index": 0, "id": call_id, "function": function}])) for call_id in "ab"]
    server.script(Raw([*chunks, sse(delta("tool_calls")), sse("[DONE]")]))
    assert [call.provider_id for call in calls(await ask(provider, say("go")))] == ["a", "b"]


@pytest.mark.parametrize("arguments", ['{"path": ', "[1]", "nonsense", '"text"', "[" * 100_000])
async def test_arguments_that_are_no_json_object_are_malformed_and_the_conversation_goes_on(
    server, provider, arguments
):
    server.script(Reply(calls=(Call("read", arguments, fragments=3),)))
    events = await ask(provider, say("go"), tools=[READ])
    [call] = calls(events)
    assert call.args == {}
    assert "JSON" in call.malformed
    result = CallResult(call.id, call.name, call.malformed, failed=True)
    again = await ask(provider, say("go"), ended(events).message, ToolMessage((result,)))
    assert ended(again).finish is FinishReason.STOP


async def test_no_arguments_are_an_empty_object(server, provider):
    server.script(Reply(calls=(Call("list", ""),)))
    [call] = calls(await ask(provider, say("go"), tools=[READ]))
    assert (call.args, call.malformed) == ({}, "")


async def test_its_own_message_goes_back_verbatim_and_anyone_elses_is_made_anew(server, provider):
    extra = {"google": {"thought_signature": "c2ln"}}
    piece = {"index": 0, "id": "call_1", "function": {"name": "read", "arguments": '{ "path":"a"}'}}
    server.script(
        Raw(
            [
                sse(delta(reasoning_content="because")),
                sse(delta(tool_calls=[{**piece, "extra_content": extra}])),
                sse(delta(finish="tool_calls")),
                sse("[DONE]"),
            ]
        )
    )
    message = ended(await ask(provider, say("go"), tools=[READ])).message
    result = ToolMessage((CallResult(message.calls[0].id, "read", "text of a"),))
    await ask(provider, say("go"), message, result)
    sent = server.chats[1]["messages"]
    assert sent[1]["reasoning_content"] == "because"
    assert sent[1]["tool_calls"][0]["extra_content"] == extra
    assert sent[1]["tool_calls"][0]["function"]["arguments"] == '{ "path":"a"}'
    assert sent[2] == {"role": "tool", "tool_call_id": "call_1", "content": "text of a"}

    other = ModelMessage(
        "gemini", "test-model", message.text, message.calls, {"role": "model"}, "secret thoughts"
    )
    await ask(provider, say("go"), other, result)
    sent = server.chats[2]["messages"]
    assert sent[1]["tool_calls"] == [
        {
            "id": message.calls[0].id,
            "type": "function",
            "function": {"name": "read", "arguments": '{"path": "a"}'},
        }
    ]
    assert sent[2]["tool_call_id"] == message.calls[0].id
    assert "secret" not in json.dumps(sent)


async def test_a_history_with_gaps_is_sent_in_a_form_that_a_strict_server_takes(server, provider):
    asked = tuple(CallRequest(f"id-{n}", "read", {"path": str(n)}) for n in range(3))
    await ask(
        provider,
        say("one"),
        say("two"),
        ModelMessage("gemini", "g", ""),
        say("three"),
        ModelMessage("gemini", "g", "cut"),
        ModelMessage("gemini", "g", "here", asked),
        ToolMessage((CallResult("id-1", "read", "text"), CallResult("gone", "grep", "found"))),
        ModelMessage("gemini", "g", "next", (CallRequest("id-9", "read", {}),)),
        say("go on"),
    )
    roles = [(m["role"], m["content"]) for m in server.chats[0]["messages"]]
    assert roles[0] == ("user", "one\n\ntwo\n\nthree")
    assert roles[1] == ("assistant", "cut\n\nhere")
    assert [role for role, _ in roles[2:5]] == ["tool"] * 3
    assert roles[2] == ("tool", "text")
    assert "no result" in roles[3][1]
    assert roles[5] == ("user", "Result of grep:\nfound")


async def test_images_go_as_data_urls_after_the_tools_that_made_them(server, provider):
    asked = CallRequest("id-1", "read", {"path": "shot.png"})
    image = ImagePart("pixel", "image/gif", "shot.png")
    await ask(
        provider,
        UserMessage((TextPart("what is this?"), image, ImagePart("lost", "image/png", "lost.png"))),
        ModelMessage("gemini", "g", "", (asked,)),
        ToolMessage((CallResult("id-1", "read", "an image", images=(image,)),)),
    )
    sent = server.chats[0]["messages"]
    url = f"data:image/gif;base64,{base64.b64encode(PIXEL).decode()}"
    assert sent[0]["content"][1] == {"type": "image_url", "image_url": {"url": url}}
    assert "no longer stored" in sent[0]["content"][2]["text"]
    assert sent[2]["content"] == "an image"
    assert sent[3]["content"][1]["image_url"]["url"] == url


async def test_half_a_surrogate_does_not_stop_the_request(server, provider):
    events = await ask(provider, say("file \udc80name"))
    assert ended(events).message.text == "You said: file ?name"


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
    provider = provider_for(server, idle_timeout_s=30.0 if done else 0.5)
    server.script(Reply(text=("whole",), done=done, end=End.HANG))
    events = await asyncio.wait_for(ask(provider, say("go")), 20.0)
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
    with pytest.raises(AnswerUnusable, match="answer holds something"):
        await ask(provider, say("go"))


@pytest.mark.parametrize(
    "chunk", [{"choices": None}, {"choices": [None, 3]}, {"choices": [{"delta": None}]}, {}]
)
async def test_chunks_that_say_nothing_are_passed_over(server, provider, chunk):
    server.script(Raw([sse(chunk), sse(delta(content="ok", tool_calls=None)), sse(delta(finish="stop"))]))
    assert ended(await ask(provider, say("go"))).message.text == "ok"


async def test_signed_thoughts_of_openrouter_come_back_whole():
    async with OpenAIStandIn(Flavour.OPENROUTER) as server:
        provider = provider_for(server, name="openrouter")
        details = [
            {"type": "reasoning.text", "index": 0, "text": "Let me", "signature": None},
            {"type": "reasoning.text", "index": 0, "text": " see", "signature": None},
            {"type": "reasoning.text", "index": 0, "text": "", "signature": "sig"},
        ]
        chunks = [delta(reasoning_details=[detail]) for detail in details]
        call = delta(tool_calls=[{"index": 0, "id": "c", "function": {"name": "read", "arguments": "{}"}}])
        server.script(Raw([*map(sse, chunks), sse(call), sse(delta(finish="tool_calls"))]))
        message = ended(await ask(provider, say("go"))).message
        await ask(provider, say("go"), message, ToolMessage((CallResult(message.calls[0].id, "read", "x"),)))
    assert server.chats[1]["messages"][1]["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "text": "Let me see", "signature": "sig"}
    ]


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
    provider = provider_for(server, idle_timeout_s=1.5)
    server.script(Raw([b": thinking\n\n"], end=End.HANG))
    with pytest.raises(ModelUnreachable, match=r"nothing for 1\.5 s"):
        await ask(provider, say("go"))
    await server.wait_for(lambda seen: seen.hangups == 1)
    # Comments for longer than the limit, then an answer.
    server.script(
        Raw(
            [*[b": thinking\n\n"] * 20, *map(sse, (delta(content="late"), delta(finish="stop")))], pause_s=0.1
        )
    )
    assert ended(await ask(provider, say("go"))).message.text == "late"
