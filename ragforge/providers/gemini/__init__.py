"""Gemini over HTTP. Our tests never call Google: everything specific to it is in this package."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing

from msgspec.structs import replace

from ragforge.domain import timeouts
from ragforge.domain.errors import ModelError, ModelRefusedKey, ModelUnknown
from ragforge.domain.events import ModelEvent, UsageSeen
from ragforge.domain.json import JsonObject
from ragforge.domain.usage import Usage
from ragforge.providers.base import LoadBlob, ModelLimits, ModelRequest, OwnProtocol, Provider, ProviderParts
from ragforge.providers.gemini.client import GeminiClient
from ragforge.providers.gemini.convert import to_body, to_thinking
from ragforge.providers.gemini.errors import KEY_PAGE, Endpoint, explain
from ragforge.providers.gemini.stream import CHARS_PER_TOKEN, Answer
from ragforge.providers.pump import StreamSilent, pump
from ragforge.providers.retry import Retryable, RetryPolicy, retried

BASE_URL = "https://generativelanguage.googleapis.com"
LIMITS_UNKNOWN = ModelLimits(context_tokens_max=1_048_576, output_tokens_max=65_536)
"""Used if the service does not say, as behind some proxies."""
MODEL_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)*", re.ASCII)


class GeminiProvider:
    """A Gemini model. See `Provider` for the contract."""

    name = "gemini"

    def __init__(
        self,
        model: str,
        *,
        api_key: str,
        key_source: str,
        load_blob: LoadBlob,
        base_url: str | None = None,
        thinking_level: str | None = None,
        show_thoughts: bool = True,
        attempts_max: int = 5,
        delay_s_max: float | None = None,
        idle_timeout_s: float = 120.0,
        web_search: bool = False,
    ) -> None:
        self.model = model.removeprefix("models/")
        self._endpoint = Endpoint(self.model, (base_url or BASE_URL).rstrip("/"), key_source, api_key.strip())
        self._load_blob = load_blob
        self._thinking_level = thinking_level
        self._show_thoughts = show_thoughts
        self._web_search = web_search and searches_web(self.model)
        delay_s_max = timeouts.RETRY_DELAY_S_MAX if delay_s_max is None else delay_s_max
        self._policy = RetryPolicy(attempts_max=attempts_max, delay_s_max=delay_s_max)
        self._idle_timeout_s = idle_timeout_s
        self._client = GeminiClient(self._endpoint)
        self._limits: ModelLimits | None = None

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Yield the answer as it arrives; the last event is `AnswerEnded`. Raises ModelError."""
        self._check()
        body = await to_body(
            request,
            provider=self.name,
            model=self.model,
            load_blob=self._load_blob,
            # Nobody reads the thoughts of an answer with a schema.
            thinking=to_thinking(
                self._thinking_level, show_thoughts=self._show_thoughts and request.json_schema is None
            ),
            web_search=self._web_search,
        )
        async with aclosing(retried(lambda: self._attempt(body), self._policy)) as events:
            async for event in events:
                yield event

    async def limits(self) -> ModelLimits:
        if self._limits is None:
            self._check()
            model = await self._client.model()
            self._limits = ModelLimits(
                model.input_token_limit or LIMITS_UNKNOWN.context_tokens_max,
                model.output_token_limit or LIMITS_UNKNOWN.output_tokens_max,
            )
        return self._limits

    async def prepare(self) -> None:
        """Load the library and create the client, in a thread. Raises ModelError."""
        self._check()
        await self._client.open()

    async def verify(self) -> None:
        """Check with one free call that key, endpoint and model work. Raises ModelError."""
        self._check()
        model = await self._client.model()
        if not model.can_chat:
            raise ModelUnknown(f"{self.model} cannot chat. Choose another model with /model.")

    async def models(self) -> list[str]:
        """Return the names of the models that can chat. Raises ModelError."""
        self._check()
        return [
            model.name.removeprefix("models/")
            for model in await self._client.models()
            if model.name and model.can_chat
        ]

    async def close(self) -> None:
        await self._client.close()

    async def _attempt(self, body: JsonObject) -> AsyncGenerator[ModelEvent, None]:
        """Make one attempt. The usage comes before the end, and before an error that cuts an answer."""
        answer = Answer(self.name, self.model)
        source = self._client.chunks(body)
        try:
            async with aclosing(pump(source, idle_timeout_s=self._idle_timeout_s)) as arrived:
                async for chunks in arrived:
                    for chunk in chunks:
                        for event in answer.take(chunk):
                            yield event
        except (ModelError, Retryable, StreamSilent) as error:
            if answer.begun and _is_uncounted(answer):
                yield await self._counted(answer, body)
            raise explain(error, self._endpoint) from error
        if _is_uncounted(answer):
            yield await self._counted(answer, body)
        yield answer.ended()

    async def _counted(self, answer: Answer, body: JsonObject) -> UsageSeen:
        """Return the usage if the stream had none, or broke off before it was complete: never a silent 0."""
        told = answer.usage.usage if answer.usage is not None else Usage()
        written = answer.written()
        try:
            async with asyncio.timeout(timeouts.GEMINI_COUNT_S_MAX):
                read_tokens = told.input_tokens or await self._client.count(body)
                written_tokens = await self._client.count(_as_body(written)) if written else 0
        except (ModelError, TimeoutError):
            read_tokens = told.input_tokens or _rough_tokens(json.dumps(body["contents"]))
            written_tokens = _rough_tokens(written)
        usage = replace(told, input_tokens=read_tokens, output_tokens=written_tokens)
        return UsageSeen(usage, estimated=True)

    def _check(self) -> None:
        """Raise ModelError for a key or name that is invalid without asking a server."""
        key, source = self._endpoint.api_key, self._endpoint.key_source
        if not key:
            raise ModelRefusedKey(
                f"There is no key for Gemini. Set GEMINI_API_KEY, or create a key at {KEY_PAGE}."
            )
        if not (key.isascii() and key.isprintable() and " " not in key):
            raise ModelRefusedKey(
                f"The key{f' ({source})' if source else ''} contains characters that no key contains. Copy "
                f"it again from {KEY_PAGE}."
            )
        if not MODEL_NAME.fullmatch(self.model):
            raise ModelUnknown(f"{self.model!r} is not a model name. Choose one with /model.")


def searches_web(model: str) -> bool:
    """Whether the model accepts Google's search beside other tools: those before Gemini 3 refuse it."""
    generation = re.match(r"(?:models/)?gemini-(\d+)", model)
    return generation is not None and int(generation[1]) >= 3


def _is_uncounted(answer: Answer) -> bool:
    return answer.usage is None or answer.usage.estimated


def _as_body(text: str) -> JsonObject:
    return {"contents": [{"role": "user", "parts": [{"text": text}]}]}


def _rough_tokens(text: str) -> int:
    return -(-len(text) // CHARS_PER_TOKEN)


def _open(model: str, parts: ProviderParts) -> Provider:
    key = parts.find_key("gemini")
    if key is None:
        raise ModelRefusedKey(
            "Gemini needs a key, and none is set. Get one at https://aistudio.google.com/apikey, then set "
            "GEMINI_API_KEY, or paste it where you choose a model in the interface."
        )
    value, source = key
    return GeminiProvider(
        model,
        api_key=value,
        key_source=source,
        load_blob=parts.load_blob,
        base_url=parts.environ.get("GOOGLE_GEMINI_BASE_URL") or None,
        thinking_level=parts.thinking_level,
        show_thoughts=parts.show_thoughts,
        attempts_max=parts.attempts_max,
        delay_s_max=parts.delay_s_max,
        idle_timeout_s=parts.idle_timeout_s,
        web_search=parts.web_search,
    )


PROVIDER = OwnProtocol(_open, searches_web)
