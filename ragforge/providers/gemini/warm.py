"""Building the library's types before the event loop needs them.

google-genai leaves its pydantic models unbuilt until they are first used: 0.1 s of computing within the first
call, while nobody could type. Here a call is made to nobody, in a thread, after which all are built.

Imports httpx2 and google.genai at its top, so it is itself imported late, in a thread.
"""

import asyncio
import json
import logging
from functools import cache
from typing import Any, cast

import httpx2
from google.genai import Client, types

log = logging.getLogger(__name__)

NOWHERE = "http://127.0.0.1:1"
"""Never connected to: the answers come from here."""
CHUNK: dict[str, Any] = {
    "candidates": [
        {
            "content": {
                "role": "model",
                "parts": [
                    {"text": ".", "thought": True, "thoughtSignature": "AA=="},
                    {"functionCall": {"name": "read", "args": {"path": "."}}},
                ],
            },
            "finishReason": "STOP",
            "safetyRatings": [{"category": "HARM_CATEGORY_HARASSMENT", "probability": "NEGLIGIBLE"}],
        }
    ],
    "promptFeedback": {"safetyRatings": []},
    "usageMetadata": {"promptTokenCount": 1, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 1}]},
    "modelVersion": "m",
    "responseId": "1",
}
MODEL = {"name": "models/m", "inputTokenLimit": 1, "supportedGenerationMethods": ["generateContent"]}


@cache
def build_types() -> None:
    """Let all that a chat needs be built, once a process. To be called in a thread. Never raises."""
    try:
        asyncio.run(_call_nobody())
    except Exception as error:  # whatever another version of the library makes of it
        log.info("The types of google-genai are built when they are first used: %s", error)


async def _call_nobody() -> None:
    async with httpx2.AsyncClient(transport=httpx2.MockTransport(_answer)) as http:
        options = types.HttpOptions(
            base_url=NOWHERE,
            httpx_async_client=cast(Any, http),
            httpx_client=cast(Any, httpx2.Client(transport=httpx2.MockTransport(_answer))),
            async_client_args={"ssl": False},
        )
        # The library's own types name packages that are not installed.
        models = cast(Any, Client(api_key="none", vertexai=False, http_options=options).aio.models)
        config: dict[str, Any] = {"http_options": {"extra_body": {"contents": []}}}
        await models.get(model="m")
        async for _ in await models.generate_content_stream(model="m", contents=".", config=config):
            pass


def _answer(request: httpx2.Request) -> httpx2.Response:
    if "streamGenerateContent" in request.url.path:
        return httpx2.Response(
            200, headers={"Content-Type": "text/event-stream"}, text=f"data: {json.dumps(CHUNK)}\r\n\r\n"
        )
    return httpx2.Response(200, json=MODEL)
