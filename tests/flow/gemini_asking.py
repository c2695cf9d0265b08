"""Asking the Gemini provider, for tests."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

from ragforge.domain.errors import StoreUnavailable
from ragforge.domain.events import AnswerEnded, ModelEvent, TextDelta
from ragforge.domain.messages import Message, TextPart, ToolSpec, UserMessage
from ragforge.providers.base import ModelRequest
from ragforge.providers.gemini import GeminiProvider
from tests.standins.gemini import GeminiStandIn, Recorded

FLASH = "gemini-3.8-flash"
CARBON = "gemini-4-carbon"
PNG = b"\x89PNG\r\n\x1a\n\xfb\xff\xbe"
READ = ToolSpec(
    "read",
    "Reads a file.",
    {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)
LIST = ToolSpec("list", "Lists a folder.")


async def load_blob(digest: str) -> bytes:
    if digest != "png":
        raise StoreUnavailable(f"no blob {digest}")
    return PNG


@asynccontextmanager
async def open_provider(
    server: GeminiStandIn, model: str = FLASH, **options: Any
) -> AsyncIterator[GeminiProvider]:
    settings: dict[str, Any] = {
        "api_key": server.key,
        "key_source": "GEMINI_API_KEY",
        "load_blob": load_blob,
        "base_url": server.url,
        **options,
    }
    provider = GeminiProvider(model, **settings)
    try:
        yield provider
    finally:
        await provider.close()


def said(text: str) -> UserMessage:
    return UserMessage((TextPart(text),))


async def ask(
    provider: GeminiProvider, *messages: Message | str, system: str = "", tools: tuple[ToolSpec, ...] = ()
) -> list[ModelEvent]:
    """All events of an answer."""
    return [event async for event in asking(provider, *messages, system=system, tools=tools)]


async def asking(
    provider: GeminiProvider, *messages: Message | str, system: str = "", tools: tuple[ToolSpec, ...] = ()
) -> AsyncIterator[ModelEvent]:
    whole = tuple(said(message) if isinstance(message, str) else message for message in messages)
    async with aclosing(provider.stream(ModelRequest(system, whole or (said("hello"),), tools))) as events:
        async for event in events:
            yield event


def end_of(events: list[ModelEvent]) -> AnswerEnded:
    ended = events[-1]
    assert isinstance(ended, AnswerEnded)
    return ended


def text_of(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def asked(server: GeminiStandIn) -> list[Recorded]:
    return server.asked("streamGenerateContent")
