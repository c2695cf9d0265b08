"""Asking a provider of the chat completions protocol, for tests."""

import base64
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

from ragforge.domain.errors import StoreUnavailable
from ragforge.domain.events import AnswerEnded, CallSeen, ModelEvent
from ragforge.domain.messages import CallRequest, Message, TextPart, ToolSpec, UserMessage
from ragforge.providers.base import ModelRequest
from ragforge.providers.openai_compatible import OpenAICompatibleProvider
from tests.standins.openai import OpenAIStandIn

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
