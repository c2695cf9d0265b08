"""Calls of tools in the chat completions protocol, and how a conversation with them is sent again."""

import base64
import json
from collections.abc import AsyncIterator

import pytest

from ragforge.domain.events import FinishReason
from ragforge.domain.messages import (
    CallRequest,
    CallResult,
    ImagePart,
    ModelMessage,
    TextPart,
    ToolMessage,
    UserMessage,
)
from ragforge.providers.openai_compatible import OpenAICompatibleProvider
from tests.flow.openai_asking import PIXEL, READ, ask, calls, ended, provider_for, say
from tests.standins.openai import Call, Flavour, OpenAIStandIn, Raw, Reply, delta, sse


@pytest.fixture
async def server() -> AsyncIterator[OpenAIStandIn]:
    async with OpenAIStandIn() as started:
        yield started


@pytest.fixture
async def provider(server: OpenAIStandIn) -> AsyncIterator[OpenAICompatibleProvider]:
    made = provider_for(server)
    yield made
    await made.close()


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
