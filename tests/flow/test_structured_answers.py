"""Answers of a schema: the real clients against stand-ins that are strict about what they are asked."""

import json
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from ragforge.domain.errors import AnswerUnusable, ModelError, ModelUnknown
from ragforge.domain.events import FinishReason, ModelEvent
from ragforge.domain.json import JsonObject
from ragforge.domain.messages import TextPart, UserMessage
from ragforge.domain.search import Hit
from ragforge.providers.base import ModelRequest, Provider
from ragforge.providers.local import LocalProvider
from ragforge.providers.openai_compatible import OpenAICompatibleProvider
from ragforge.providers.openai_compatible.json_answers import ASKED
from tests.flow.gemini_asking import READ, end_of, load_blob, open_provider, text_of
from tests.standins.gemini import Finish, GeminiStandIn, JsonText, RateLimited, Text
from tests.standins.openai import Failure, OpenAIStandIn, Reply, json_reply

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "summary": {"type": "string"},
        "topics": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["summary", "topics"],
    "additionalProperties": False,
}
SUMMARY = {"summary": "They chose « SQLite ».", "topics": ["storage"]}


async def fill(
    provider: Provider, *, schema: JsonObject | None = SCHEMA, system: str = ""
) -> list[ModelEvent]:
    request = ModelRequest(system, (UserMessage((TextPart("Which store?"),)),), (READ,), schema)
    async with aclosing(provider.stream(request)) as events:
        return [event async for event in events]


def open_openai(server: OpenAIStandIn, model: str = "test-model") -> OpenAICompatibleProvider:
    return OpenAICompatibleProvider(
        model,
        name="openai",
        base_url=server.base_url,
        api_key=server.key,
        key_source="OPENAI_API_KEY",
        load_blob=load_blob,
        delay_s_max=1.0,
    )


@pytest.fixture
async def openai() -> AsyncIterator[OpenAIStandIn]:
    async with OpenAIStandIn() as server:
        yield server


async def test_gemini_is_asked_for_json_without_tools(gemini: GeminiStandIn) -> None:
    gemini.script_structured(JsonText(SUMMARY))
    async with open_provider(gemini) as provider:
        events = await fill(provider)
    assert json.loads(text_of(events)) == SUMMARY
    assert end_of(events).finish is FinishReason.STOP
    [request] = gemini.structured()
    config = request.body["generationConfig"]
    assert config["responseMimeType"] == "application/json"
    assert config["responseJsonSchema"] == SCHEMA
    assert "includeThoughts" not in config.get("thinkingConfig", {})
    assert "tools" not in request.body


async def test_gemini_is_asked_again_for_json_when_it_is_busy(gemini: GeminiStandIn) -> None:
    gemini.script_structured(RateLimited(0.0), JsonText(SUMMARY))
    async with open_provider(gemini) as provider:
        assert json.loads(text_of(await fill(provider))) == SUMMARY
    assert len(gemini.structured()) == 2


async def test_json_that_was_cut_is_given_as_far_as_it_came(gemini: GeminiStandIn) -> None:
    gemini.script_structured((Text('{"summary": "They ch'), Finish("MAX_TOKENS")))
    async with open_provider(gemini) as provider:
        events = await fill(provider)
    assert text_of(events) == '{"summary": "They ch'
    assert end_of(events).finish is FinishReason.LENGTH


async def test_background_calls_leave_the_script_of_the_conversation_alone(gemini: GeminiStandIn) -> None:
    gemini.script(Text("One."), Text("Two."))
    gemini.when("store", Text("By a rule."))
    gemini.always_structured(lambda request: JsonText({**SUMMARY, "summary": request.last_text}))
    async with open_provider(gemini) as provider:
        assert json.loads(text_of(await fill(provider)))["summary"] == "Which store?"
        assert text_of(await fill(provider, schema=None)) == "By a rule."
        gemini.rules.clear()
        assert text_of(await fill(provider, schema=None)) == "One."
        assert json.loads(text_of(await fill(provider)))["summary"] == "Which store?"
        assert text_of(await fill(provider, schema=None)) == "Two."
    assert len(await gemini.wait_for_requests(3, action="streamGenerateContent")) == 3
    assert len(await gemini.wait_for_structured(2)) == 2


async def test_without_a_script_the_least_that_fits_is_answered(
    gemini: GeminiStandIn, openai: OpenAIStandIn
) -> None:
    async with open_provider(gemini) as provider:
        assert json.loads(text_of(await fill(provider))) == {"summary": "", "topics": []}
    service = open_openai(openai)
    assert json.loads(text_of(await fill(service))) == {"summary": "", "topics": []}
    await service.close()


async def test_openai_is_asked_strictly_where_the_schema_allows(openai: OpenAIStandIn) -> None:
    openai.always_structured(json_reply(SUMMARY))
    provider = open_openai(openai)
    assert json.loads(text_of(await fill(provider))) == SUMMARY
    await fill(provider, schema={**SCHEMA, "required": ["summary"]})
    await provider.close()
    strict, loose = openai.structured
    assert strict["response_format"]["json_schema"] == {"name": "answer", "schema": SCHEMA, "strict": True}
    assert loose["response_format"]["json_schema"]["strict"] is False
    assert "tools" not in strict
    assert openai.chats == []


async def test_a_server_that_knows_no_schemas_is_told_in_words() -> None:
    async with OpenAIStandIn(takes_schema=False) as server:
        server.always_structured(json_reply(SUMMARY))
        server.script(Reply(text=("Hello.",)))
        provider = open_openai(server)
        assert json.loads(text_of(await fill(provider, system="Summarise."))) == SUMMARY
        assert json.loads(text_of(await fill(provider))) == SUMMARY
        assert text_of(await fill(provider, schema=None)) == "Hello."
        await provider.close()
    refused, told, later = server.structured
    assert "response_format" in refused
    for body in (told, later):  # what it refused once it is not asked again
        assert "response_format" not in body
        assert json.dumps(SCHEMA) in body["messages"][0]["content"]
    assert told["messages"][0]["content"].startswith(f"Summarise.\n\n{ASKED}")
    assert ASKED not in json.dumps(server.chats)


async def test_a_request_that_is_refused_for_another_reason_is_refused_twice_and_then_told(
    openai: OpenAIStandIn,
) -> None:
    wrong = Failure(400, {"error": {"message": "messages are too odd"}})
    openai.script_structured(wrong, wrong, json_reply(SUMMARY))
    provider = open_openai(openai)
    with pytest.raises(ModelError, match="too odd"):
        await fill(provider)
    # It is not held to be one without schemas: nothing showed that.
    assert json.loads(text_of(await fill(provider))) == SUMMARY
    assert "response_format" in openai.structured[-1]
    await provider.close()


async def test_a_missing_model_is_not_asked_for_twice(openai: OpenAIStandIn) -> None:
    provider = open_openai(openai, "none")
    with pytest.raises(ModelUnknown):
        await fill(provider)
    await provider.close()
    assert len(openai.structured) == 1


async def test_without_a_model_nothing_is_put_into_a_form() -> None:
    async def search(_: str, __: int) -> list[Hit]:
        return []

    with pytest.raises(AnswerUnusable, match="/model"):
        await fill(LocalProvider(search))


@pytest.mark.parametrize(
    "body",
    [
        {"generationConfig": {"responseJsonSchema": SCHEMA}},
        {"generationConfig": {"responseMimeType": "json"}},
        {
            "generationConfig": {
                "responseMimeType": "application/json",
                "responseJsonSchema": {"type": "thing"},
            }
        },
        {
            "generationConfig": {"responseMimeType": "application/json"},
            "tools": [{"functionDeclarations": [{"name": "read", "description": "Reads."}]}],
        },
    ],
)
async def test_the_stand_in_refuses_what_the_service_refuses(gemini: GeminiStandIn, body: JsonObject) -> None:
    import httpx2

    contents = [{"role": "user", "parts": [{"text": "hi"}]}]
    async with httpx2.AsyncClient() as client:
        answer = await client.post(
            f"{gemini.url}/v1beta/models/gemini-3.8-flash:generateContent",
            json={"contents": contents, **body},
            headers={"x-goog-api-key": gemini.key},
        )
    assert answer.status_code == 400
