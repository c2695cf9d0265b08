"""The stand-in itself: it refuses what the real service refuses, and can be run as a process."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.flow.gemini_asking import FLASH, ask, end_of, open_provider, text_of
from tests.standins.gemini import Call, Calls, GeminiStandIn, Recorded, Text
from tests.standins.gemini_replies import items_of, reply_from_json

USER = {"role": "user", "parts": [{"text": "hi"}]}
MODEL = {"role": "model", "parts": [{"text": "hello"}]}
SKIP = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="


def call(name: str = "f", call_id: str = "1", **part: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "id": call_id}, **part}


def answer(name: str = "f", call_id: str = "1") -> dict[str, Any]:
    return {"functionResponse": {"name": name, "id": call_id, "response": {}}}


def turns(*contents: Any) -> dict[str, Any]:
    return {"contents": list(contents)}


def declared(**schema: Any) -> dict[str, Any]:
    function = {"name": "f", "description": "d", "parametersJsonSchema": schema}
    return {**turns(USER), "tools": [{"functionDeclarations": [function]}]}


def model_says(*parts: Any) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def user_says(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


@pytest.fixture
async def http(gemini: GeminiStandIn) -> AsyncIterator[httpx2.AsyncClient]:
    headers = {"x-goog-api-key": gemini.key}
    async with httpx2.AsyncClient(base_url=gemini.url, headers=headers, trust_env=False) as client:
        yield client


async def post(
    http: httpx2.AsyncClient, body: Any, *, model: str = FLASH, action: str = "generateContent"
) -> Any:
    return await http.post(f"/v1beta/models/{model}:{action}", json=body)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (turns(), "not specified"),
        (turns(USER, USER), "alternate"),
        (turns(MODEL, USER), "alternate"),
        (turns(USER, MODEL), "end with a user"),
        (turns({"role": "function", "parts": [{"text": ""}]}), "valid role"),
        (turns({"role": "user", "parts": []}), "must not be empty"),
        (turns({"role": "user", "parts": [{"thought": True}]}), "oneof"),
        (turns({"role": "user", "parts": [{"txt": "x"}]}), "Unknown name"),
        ({**turns(USER), "unheard": {}}, "Unknown name"),
        (turns(USER, model_says(call(thoughtSignature=SKIP)), USER), "number of function response"),
        (turns(USER, model_says(call(thoughtSignature=SKIP)), user_says(answer("g"))), "ids and names"),
        (
            turns(USER, model_says(call(thoughtSignature=SKIP)), user_says(answer(call_id="2"))),
            "ids and names",
        ),
        (turns(USER, MODEL, user_says(answer())), "number of function response"),
        (turns(USER, model_says(call()), user_says(answer())), "missing a thought_signature"),
        (turns(USER, model_says(call(thoughtSignature="AAAA")), user_says(answer())), "not valid"),
        (turns(USER, model_says(call(thoughtSignature="!")), user_says(answer())), "Base64"),
        (declared(type="object", properties={"a": {"type": "text"}}), "unknown schema type"),
        (declared(type="object", required=["a"]), "not defined"),
        (declared(type="array", items={}), "OBJECT"),
        (declared(type="object", properties={"a": {"type": "array"}}), "items"),
        ({**turns(USER), "tools": [{"functionDeclarations": [{"name": "f"}]}]}, "description"),
        (
            {**turns(USER), "generationConfig": {"thinkingConfig": {"thinkingLevel": "a lot"}}},
            "thinking_level",
        ),
    ],
)
async def test_what_the_service_refuses_is_refused(http: httpx2.AsyncClient, body: Any, told: str) -> None:
    refused = await post(http, body)
    assert refused.status_code == 400
    assert refused.json()["error"]["status"] == "INVALID_ARGUMENT"
    assert told in refused.json()["error"]["message"]


async def test_both_spellings_are_understood(gemini: GeminiStandIn, http: httpx2.AsyncClient) -> None:
    snake = {**turns(USER), "system_instruction": {"parts": [{"text": "s"}]}}
    snake["tools"] = [
        {
            "function_declarations": [
                {"name": "f", "description": "d", "parameters_json_schema": {"type": "object"}}
            ]
        }
    ]
    assert (await post(http, snake)).status_code == 200
    assert "systemInstruction" in gemini.requests[0].body


async def test_an_old_turn_may_lack_its_signature(http: httpx2.AsyncClient) -> None:
    body = turns(USER, model_says(call()), user_says(answer()), MODEL, USER)
    assert (await post(http, body)).status_code == 200


async def test_signatures_must_come_back_whole_and_unmoved(
    gemini: GeminiStandIn, http: httpx2.AsyncClient
) -> None:
    gemini.script((Text("a", signature="AAAA"), Calls(Call("f", {"x": 1}, id="1", signature="BBBB"))))
    await post(http, turns(USER))
    text = {"text": "a", "thoughtSignature": "AAAA"}
    asked = {"functionCall": {"name": "f", "id": "1", "args": {"x": 1}}, "thoughtSignature": "BBBB"}
    moved = {"functionCall": {"name": "f", "id": "1", "args": {"x": 2}}, "thoughtSignature": "BBBB"}
    bare = {"text": "a"}
    for parts, status in (((text, asked), 200), ((bare, asked), 400), ((text, moved), 400)):
        answered = await post(http, turns(USER, model_says(*parts), user_says(answer())))
        assert answered.status_code == status
    other = await post(
        http, turns(USER, model_says(text, asked), user_says(answer())), model="gemini-4-carbon"
    )
    assert other.status_code == 400


async def test_keys_models_and_batches(gemini: GeminiStandIn, http: httpx2.AsyncClient) -> None:
    http.headers["x-goog-api-key"] = "wrong"
    assert (await post(http, turns(USER))).json()["error"]["details"][0]["reason"] == "API_KEY_INVALID"
    http.headers["x-goog-api-key"] = gemini.key
    assert (await post(http, turns(USER), model="none")).status_code == 404
    one = {
        "model": "models/gemini-embedding-2",
        "content": {"parts": [{"text": "a b"}]},
        "outputDimensionality": 8,
    }
    for count, status in ((100, 200), (101, 400)):
        answered = await post(
            http, {"requests": [one] * count}, model="gemini-embedding-2", action="batchEmbedContents"
        )
        assert answered.status_code == status
    pages: list[str] = []
    token = ""
    while True:
        page = (await http.get(f"/v1beta/models?pageSize=2&pageToken={token or 0}")).json()
        pages += [model["name"] for model in page["models"]]
        token = page.get("nextPageToken")
        if not token:
            break
    assert pages == [f"models/{name}" for name in gemini.models]


async def test_the_same_words_embed_to_the_same_vector(http: httpx2.AsyncClient) -> None:
    async def vector(text: str) -> list[float]:
        body = {"content": {"parts": [{"text": text}]}}
        answered = await post(http, body, model="gemini-embedding-001", action="embedContent")
        return answered.json()["embedding"]["values"]

    one = await vector("the quick fox")
    assert len(one) == 3072
    assert sum(value * value for value in one) == pytest.approx(1)
    assert await vector("Fox, the quick") == one
    assert await vector("something else") != one


async def test_without_a_script_it_repeats_what_was_said(gemini: GeminiStandIn) -> None:
    async with open_provider(gemini) as provider:
        assert text_of(await ask(provider, "good morning")) == "You said: good morning"


async def test_a_reply_may_depend_on_the_request(gemini: GeminiStandIn) -> None:
    def shout(request: Recorded) -> Text:
        return Text(request.last_text.upper())

    gemini.script(shout)
    gemini.when("secret", Text("I know."))
    async with open_provider(gemini) as provider:
        assert text_of(await ask(provider, "a secret")) == "I know."
        assert text_of(await ask(provider, "hey")) == "HEY"


async def test_as_a_process_it_serves_a_script(tmp_path: Path) -> None:
    script, log = tmp_path / "script.json", tmp_path / "log.jsonl"
    script.write_text(
        json.dumps(
            {
                "key": "my-key",
                "models": {"gemini-demo": {"input": 5000}},
                "when": [{"contains": "bye", "reply": "Good bye."}],
                "replies": [
                    [{"thought": ["Hm."]}, {"calls": [{"name": "list", "args": {"path": "."}}]}],
                    [
                        {"text": ["Two ", "chunks."]},
                        {"finish": "STOP", "usage": {"prompt": 9, "candidates": 2}},
                    ],
                ],
            }
        )
    )
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.standins.gemini", "--script", str(script), "--log", str(log)),
        cwd=Path(__file__).parents[2],
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        url = (await asyncio.wait_for(process.stdout.readline(), 60)).decode().strip()
        async with (
            GeminiStandIn() as unused,
            open_provider(unused, "gemini-demo", base_url=url, api_key="my-key") as provider,
        ):
            assert (await provider.limits()).context_tokens_max == 5000
            assert end_of(await ask(provider, "go")).message.calls[0].name == "list"
            assert text_of(await ask(provider, "go")) == "Two chunks."
            assert text_of(await ask(provider, "bye now")) == "Good bye."
        async with asyncio.timeout(60):  # a request is logged once its answer has ended
            while log.read_text().count("\n") < 4:
                await asyncio.sleep(0.01)
    finally:
        process.terminate()
        await process.wait()
    actions = [json.loads(line)["action"] for line in log.read_text().splitlines()]
    assert actions == ["models"] + ["streamGenerateContent"] * 3


@pytest.mark.parametrize(
    "written",
    [
        {"pause_s": 0.5},
        {"hang": True},
        {"no_finish": True},
        {"blocked": "SAFETY"},
        {"cut": "rst"},
        {"error_in_stream": {"code": 503, "status": "UNAVAILABLE", "message": "m"}},
        {"raw": {"a": 1}},
        {"rate_limited": 2.0},
        {"quota_per_day": True},
        {"html_error": 502},
        {"server_error": {"code": 500}},
        {"signature": "AAAA"},
        {"finish": "STOP", "usage": None},
    ],
)
def test_every_reply_can_be_written_in_a_file(written: Any) -> None:
    assert items_of(reply_from_json(written))


def test_a_reply_that_is_none_is_told() -> None:
    with pytest.raises(ValueError, match="not a reply"):
        reply_from_json({"txet": "a"})
