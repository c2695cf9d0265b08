"""Answers of Gemini: the real client over real HTTP, against the stand-in."""

import base64
import json
import re

import pytest

from ragforge.domain.events import (
    CallSeen,
    FinishReason,
    TextDelta,
    ThoughtDelta,
    UsageSeen,
)
from ragforge.domain.messages import (
    CallResult,
    ImagePart,
    Message,
    ModelMessage,
    TextPart,
    ToolMessage,
    UserMessage,
)
from ragforge.domain.usage import Usage
from ragforge.providers.gemini.convert import SKIP_SIGNATURE
from tests.flow.gemini_asking import (
    CARBON,
    FLASH,
    LIST,
    PNG,
    READ,
    ask,
    asked,
    end_of,
    open_provider,
    said,
    text_of,
)
from tests.standins.gemini import (
    Blocked,
    Call,
    Calls,
    Finish,
    GeminiStandIn,
    NoFinishReason,
    Raw,
    Signature,
    Text,
    Thought,
    Tokens,
)


def results_for(message: ModelMessage) -> ToolMessage:
    return ToolMessage(
        tuple(CallResult(call.id, call.name, f"result of {call.name}") for call in message.calls)
    )


async def test_text_thoughts_and_end_arrive_in_order(gemini: GeminiStandIn) -> None:
    gemini.script((Thought("Let me ", "think."), Text("Good ", "day ✓")))
    async with open_provider(gemini) as provider:
        events = await ask(provider)
    shown = [event for event in events if not isinstance(event, UsageSeen)]
    assert shown[:-1] == [
        ThoughtDelta("Let me "),
        ThoughtDelta("think."),
        TextDelta("Good "),
        TextDelta("day ✓"),
    ]
    ended = end_of(events)
    assert (ended.finish, ended.message.text, ended.message.thoughts) == (
        FinishReason.STOP,
        "Good day ✓",
        "Let me think.",
    )
    assert ended.message.native == {
        "role": "model",
        "parts": [{"text": "Let me think.", "thought": True}, {"text": "Good day ✓"}],
    }


async def test_bytes_that_come_one_by_one_make_the_same_answer() -> None:
    async with GeminiStandIn(write_bytes_max=1) as server, open_provider(server) as provider:
        server.script(Text("Grüße, ", "世界 🎉"))
        assert text_of(await ask(provider)) == "Grüße, 世界 🎉"


async def test_the_request_is_what_the_service_documents(gemini: GeminiStandIn) -> None:
    async with open_provider(gemini, thinking_level="low") as provider:
        await ask(provider, "hi", system="Be brief.", tools=(READ, LIST))
    [request] = asked(gemini)
    assert request.path == f"/v1beta/models/{FLASH}:streamGenerateContent?alt=sse"
    assert json.loads(request.raw) == {
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "read",
                        "description": "Reads a file.",
                        "parametersJsonSchema": dict(READ.parameters),
                    },
                    {
                        "name": "list",
                        "description": "Lists a folder.",
                        "parametersJsonSchema": {"type": "object", "properties": {}},
                    },
                ]
            }
        ],
        "generationConfig": {"thinkingConfig": {"includeThoughts": True, "thinkingLevel": "LOW"}},
    }
    assert "x-server-timeout" not in request.headers


async def test_parallel_calls_and_signatures_go_back_exactly(gemini: GeminiStandIn) -> None:
    gemini.script(
        (
            Text("I look.", signature="+/+/"),
            Calls(
                Call("read", {"path": "a", "old_text": None, "n": 1.0, "deep": {"snake_case": [1]}}),
                Call("list", {}),
            ),
            Signature(),
        ),
        (Text("Done."),),
    )
    async with open_provider(gemini) as provider:
        first = await ask(provider, "look", tools=(READ, LIST))
        message = end_of(first).message
        calls = [event.call for event in first if isinstance(event, CallSeen)]
        assert end_of(first).finish is FinishReason.CALLS
        assert tuple(calls) == message.calls
        assert [call.name for call in calls] == ["read", "list"]
        assert calls[0].args == {"path": "a", "old_text": None, "n": 1.0, "deep": {"snake_case": [1]}}
        assert calls[0].id != calls[0].provider_id != ""
        answer = results_for(message)
        second = await ask(provider, said("look"), message, answer, tools=(READ, LIST))
    assert text_of(second) == "Done."
    _, model, results = asked(gemini)[1].body["contents"]
    assert model == message.native
    assert [sorted(part) for part in model["parts"]] == [
        ["text", "thoughtSignature"],
        ["functionCall", "thoughtSignature"],
        ["functionCall"],
        ["text", "thoughtSignature"],
    ]
    assert model["parts"][-1]["text"] == ""
    assert [part["functionResponse"] for part in results["parts"]] == [
        {"id": calls[0].provider_id, "name": "read", "response": {"output": "result of read"}},
        {"id": calls[1].provider_id, "name": "list", "response": {"output": "result of list"}},
    ]


async def test_calls_without_ids_are_answered_without_ids(gemini: GeminiStandIn) -> None:
    gemini.script(Calls(Call("list", id=""), Call("list", {"path": "b"}, id="")))
    async with open_provider(gemini) as provider:
        message = end_of(await ask(provider, "go", tools=(LIST,))).message
        assert end_of(
            await ask(provider, said("go"), message, results_for(message), tools=(LIST,))
        ).message.text
    answers = [part["functionResponse"] for part in asked(gemini)[1].body["contents"][2]["parts"]]
    assert [sorted(answer) for answer in answers] == [["name", "response"]] * 2


async def test_results_and_the_next_words_make_one_content(gemini: GeminiStandIn) -> None:
    gemini.script(Calls(Call("list")))
    async with open_provider(gemini) as provider:
        message = end_of(await ask(provider, "go", tools=(LIST,))).message
        await ask(provider, said("go"), message, results_for(message), said("and hurry"), tools=(LIST,))
    contents = asked(gemini)[1].body["contents"]
    assert [content["role"] for content in contents] == ["user", "model", "user"]
    assert [sorted(part) for part in contents[2]["parts"]] == [["functionResponse"], ["text"]]


async def test_a_failed_call_is_told_as_an_error(gemini: GeminiStandIn) -> None:
    gemini.script(Calls(Call("list")))
    async with open_provider(gemini) as provider:
        message = end_of(await ask(provider, "go", tools=(LIST,))).message
        failed = ToolMessage((CallResult(message.calls[0].id, "list", "no such folder", failed=True),))
        await ask(provider, said("go"), message, failed, tools=(LIST,))
    [part] = asked(gemini)[1].body["contents"][2]["parts"]
    assert part["functionResponse"]["response"] == {"error": "no such folder"}


async def test_another_model_gets_the_history_without_foreign_signatures(gemini: GeminiStandIn) -> None:
    gemini.script((Text("I look."), Calls(Call("read", {"path": "a"}), Call("list"))))
    async with open_provider(gemini, FLASH) as flash:
        message = end_of(await ask(flash, "look", tools=(READ, LIST))).message
    async with open_provider(gemini, CARBON) as carbon:
        events = await ask(carbon, said("look"), message, results_for(message), tools=(READ, LIST))
    assert end_of(events).finish is FinishReason.STOP
    parts = asked(gemini)[1].body["contents"][1]["parts"]
    assert [part.get("thoughtSignature") for part in parts] == [None, SKIP_SIGNATURE, None]
    assert parts[0] == {"text": "I look."}


async def test_the_message_of_another_provider_is_made_anew(gemini: GeminiStandIn) -> None:
    foreign = ModelMessage("ollama", "llama", "Fine.", native={"role": "assistant", "content": "Fine."})
    async with open_provider(gemini) as provider:
        await ask(provider, said("how is it"), foreign, said("good"))
    assert asked(gemini)[0].body["contents"][1] == {"role": "model", "parts": [{"text": "Fine."}]}


async def test_images_of_the_user_and_of_tools_are_sent_inline(gemini: GeminiStandIn) -> None:
    gemini.script(Calls(Call("read", {"path": "shot.png"})))
    image = ImagePart("png", "image/png", "shot.png")
    async with open_provider(gemini) as provider:
        message = end_of(await ask(provider, "go", tools=(READ,))).message
        seen = ToolMessage((CallResult(message.calls[0].id, "read", "an image", images=(image,)),))
        lost = UserMessage((TextPart("and this"), ImagePart("gone", "image/png", "old.png")))
        await ask(provider, UserMessage((TextPart("go"), image)), message, seen, lost, tools=(READ,))
    first, _, last = asked(gemini)[1].body["contents"]
    inline = {"inlineData": {"mimeType": "image/png", "data": base64.b64encode(PNG).decode()}}
    assert first["parts"] == [{"text": "go"}, inline]
    assert last["parts"][1:] == [
        {"text": "Image from read:"},
        inline,
        {"text": "and this"},
        {"text": "[image old.png: no longer stored]"},
    ]


async def test_half_a_surrogate_does_not_make_the_request_unreadable(gemini: GeminiStandIn) -> None:
    async with open_provider(gemini) as provider:
        await ask(provider, "name \udcff.txt", system="sys \ud800")
    assert asked(gemini)[0].last_text == "name ?.txt"


FINISHES = {
    "MAX_TOKENS": FinishReason.LENGTH,
    "SAFETY": FinishReason.BLOCKED,
    "RECITATION": FinishReason.BLOCKED,
    "LANGUAGE": FinishReason.BLOCKED,
    "BLOCKLIST": FinishReason.BLOCKED,
    "PROHIBITED_CONTENT": FinishReason.BLOCKED,
    "SPII": FinishReason.BLOCKED,
    "MALFORMED_FUNCTION_CALL": FinishReason.MALFORMED,
    "UNEXPECTED_TOOL_CALL": FinishReason.MALFORMED,
    "TOO_MANY_TOOL_CALLS": FinishReason.MALFORMED,
    "MISSING_THOUGHT_SIGNATURE": FinishReason.MALFORMED,
    "OTHER": FinishReason.INCOMPLETE,
    "CONTINUATION": FinishReason.INCOMPLETE,
    "SOMETHING_NEWER_THAN_THE_LIBRARY": FinishReason.INCOMPLETE,
}


@pytest.mark.parametrize(("reason", "finish"), FINISHES.items())
async def test_every_finish_reason_is_told(gemini: GeminiStandIn, reason: str, finish: FinishReason) -> None:
    gemini.script((Text("Part"), Finish(reason)))
    async with open_provider(gemini) as provider:
        ended = end_of(await ask(provider))
    assert (ended.finish, ended.detail) == (finish, reason)
    assert ended.message.text == "Part"
    assert len(asked(gemini)) == 1


async def test_a_blocked_prompt_is_told(gemini: GeminiStandIn) -> None:
    gemini.script(Blocked("PROHIBITED_CONTENT"))
    async with open_provider(gemini) as provider:
        ended = end_of(await ask(provider))
    assert (ended.finish, ended.detail) == (FinishReason.BLOCKED, "the prompt, PROHIBITED_CONTENT")


async def test_a_stream_without_finish_reason_is_incomplete(gemini: GeminiStandIn) -> None:
    gemini.script((Text("Half an"), NoFinishReason()))
    async with open_provider(gemini) as provider:
        ended = end_of(await ask(provider))
    assert (ended.finish, ended.message.text) == (FinishReason.INCOMPLETE, "Half an")


async def test_an_empty_answer_has_no_message_to_send_back(gemini: GeminiStandIn) -> None:
    gemini.script(Finish("STOP"), Text("Better."))
    async with open_provider(gemini) as provider:
        empty = end_of(await ask(provider))
        assert (empty.finish, empty.message.text, empty.message.native) == (FinishReason.STOP, "", None)
        again = end_of(await ask(provider, said("hello"), empty.message, said("again?")))
    assert again.message.text == "Better."


async def test_fields_that_are_not_known_yet_do_no_harm(gemini: GeminiStandIn) -> None:
    part = {"text": "Hi", "newField": {"a": 1}}
    gemini.script(
        (Raw({"candidates": [{"content": {"role": "model", "parts": [part]}, "x": 1}], "y": 2}), Finish())
    )
    async with open_provider(gemini) as provider:
        assert end_of(await ask(provider)).message.text == "Hi"


async def test_the_last_usage_counts_and_thoughts_are_apart(gemini: GeminiStandIn) -> None:
    tokens = Tokens(prompt=100, cached=60, candidates=7, thoughts=30, tool_use=5)
    gemini.script((Thought("Hm."), Text("Yes."), Finish(usage=tokens)))
    async with open_provider(gemini) as provider:
        events = await ask(provider)
    seen = [event for event in events if isinstance(event, UsageSeen)]
    assert seen[-1] == UsageSeen(Usage(105, 60, 7, 30))
    assert not gemini.asked("countTokens")


@pytest.mark.parametrize("end", [Finish(usage=None), NoFinishReason()])
async def test_usage_is_counted_where_the_stream_brings_none(
    gemini: GeminiStandIn, end: Finish | NoFinishReason
) -> None:
    gemini.script((Text("abcdefgh" * 10), Calls(Call("list")), end))
    async with open_provider(gemini) as provider:
        events = await ask(provider, "x" * 400, system="s" * 40, tools=(READ, LIST))
    [seen] = [event for event in events if isinstance(event, UsageSeen)]
    assert seen.estimated
    assert seen.usage.input_tokens > 110  # the tools count too
    assert 20 < seen.usage.output_tokens < 30
    assert isinstance(events[-2], UsageSeen)
    counted = gemini.asked("countTokens")[0].body["generateContentRequest"]
    assert sorted(counted) == ["contents", "generationConfig", "model", "systemInstruction", "tools"]


async def test_limits_models_and_verification(gemini: GeminiStandIn) -> None:
    gemini.models["gemini-small"] = (32_000, 2_000)
    async with open_provider(gemini, "models/gemini-small") as provider:
        limits = await provider.limits()
        assert await provider.limits() is limits
        assert (limits.context_tokens_max, limits.output_tokens_max) == (32_000, 2_000)
        await provider.verify()
        names = await provider.models()
    assert FLASH in names
    assert "gemini-small" in names
    assert not [name for name in names if re.search("embedding|^models/", name)]
    assert [request.action for request in gemini.requests] == ["models"] * 3


async def test_a_history_of_four_hundred_turns_goes_out_as_it_is(gemini: GeminiStandIn) -> None:
    history: list[Message] = []
    for index in range(400):
        native = {"role": "model", "parts": [{"text": f"answer {index} " * 50}]}
        history.append(said(f"question {index}"))
        history.append(ModelMessage("gemini", FLASH, f"answer {index} " * 50, native=native))
    async with open_provider(gemini) as provider:
        await ask(provider, *history, said("last"))
    contents = json.loads(asked(gemini)[0].raw)["contents"]
    assert len(contents) == 801
    assert contents[1] == {"role": "model", "parts": [{"text": "answer 0 " * 50}]}
