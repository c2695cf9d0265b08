"""Models behind the chat completions protocol: OpenAI, OpenRouter, Ollama, llama-server, vLLM, LM Studio.

Nothing here was tried against those services themselves: it follows their documentation, and is tested
against a stand-in. Their differences are handled in errors.py and limits.py.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from functools import partial
from urllib.parse import urlsplit

import msgspec

from ragforge.domain import timeouts
from ragforge.domain.errors import AnswerUnusable, ModelError, ModelRefusedKey, UsageError
from ragforge.domain.events import ModelEvent
from ragforge.domain.messages import TextPart, UserMessage
from ragforge.domain.urls import is_this_machine
from ragforge.providers.base import LoadBlob, ModelLimits, ModelRequest, Provider, ProviderParts
from ragforge.providers.connections import encode
from ragforge.providers.openai_compatible.answer import DONE, Answer, StreamError
from ragforge.providers.openai_compatible.convert import chars_of, to_chat
from ragforge.providers.openai_compatible.errors import (
    Service,
    failed_in_stream,
    no_stream,
    refused,
    silent,
)
from ragforge.providers.openai_compatible.http import Http, read
from ragforge.providers.openai_compatible.limits import ask_window, limits_of
from ragforge.providers.pump import StreamSilent, pump
from ragforge.providers.retry import Retryable, RetryPolicy, retried
from ragforge.providers.sse import EventDecoder, EventTooLong


class OpenAICompatibleProvider:
    """A model of one endpoint. `context_tokens_max` is the user's setting for its window."""

    def __init__(
        self,
        model: str,
        *,
        name: str,
        base_url: str,
        api_key: str | None,
        key_source: str,
        load_blob: LoadBlob,
        context_tokens_max: int | None = None,
        attempts_max: int = 5,
        delay_s_max: float | None = None,
        idle_timeout_s: float = 120.0,
        search_tool: str = "",
    ) -> None:
        self.name = name
        self.model = model
        self._base_url = base_url.rstrip("/")
        self._service = Service(
            name,
            self._base_url,
            model,
            (api_key or "").strip() or None,
            key_source,
            is_local(name, self._base_url),
        )
        self._http = Http(self._service)
        self._load_blob = load_blob
        self._context_tokens_max = context_tokens_max
        delay_s_max = timeouts.RETRY_DELAY_S_MAX if delay_s_max is None else delay_s_max
        self._policy = RetryPolicy(attempts_max, delay_s_max)
        self._idle_timeout_s = idle_timeout_s
        self._limits: ModelLimits | None = None
        self._limits_are_told = False
        self._takes_schema = True
        self._search_tool = search_tool

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Yield the answer as it arrives. Retries only before the first event."""
        return retried(partial(self._attempt, request), self._policy)

    async def limits(self) -> ModelLimits:
        """Return the server's limits, the configured ones, or a careful guess.

        A guess is kept until the model has answered: Ollama only reports once the model is loaded.
        """
        if self._limits is None:
            window = await ask_window(self._http.ask, self._base_url, self.model)
            is_local = self._service.is_local
            self._limits = limits_of(window, configured=self._context_tokens_max, is_local=is_local)
            self._limits_are_told = window.told is not None
        return self._limits

    async def prepare(self) -> None:
        """Load the library and create the client, in a thread. Raises ModelError."""
        await self._http.open()

    async def verify(self) -> None:
        """Ask for a word and hang up at the first piece: lists of models are often served without any key."""
        request = ModelRequest("", (UserMessage((TextPart("Say: ok"),)),))
        try:
            async with aclosing(self._attempt(request)) as events:
                async for _ in events:
                    return
        except Retryable as failure:
            raise failure.error from failure

    async def models(self) -> list[str]:
        """Return the names that the server lists."""
        listed = await self._http.ask(f"{self._base_url}/models", needed=True)
        entries = listed.get("data")
        # Ollama without any model says null.
        named = (
            [item.get("id") for item in entries if isinstance(item, dict)]
            if isinstance(entries, list)
            else []
        )
        return sorted(name for name in named if isinstance(name, str))

    async def close(self) -> None:
        await self._http.close()

    async def _attempt(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Make one attempt. Raises Retryable if another may help.

        If a service rejects a schema, it is asked again with the schema in words, and from then on so.
        """
        begun, in_words = False, not self._takes_schema
        try:
            async with aclosing(self._ask(request, takes_schema=not in_words)) as events:
                async for event in events:
                    begun = True
                    yield event
            return
        except ModelError as error:
            # Its plain kind is a request that the service rejects for an unknown reason.
            if type(error) is not ModelError or begun or in_words or request.json_schema is None:
                raise
        async with aclosing(self._ask(request, takes_schema=False)) as events:
            async for event in events:
                # Only an answer shows that the schema was the reason.
                self._takes_schema = False
                yield event

    async def _ask(self, request: ModelRequest, *, takes_schema: bool) -> AsyncGenerator[ModelEvent, None]:
        body = await to_chat(
            request,
            provider=self.name,
            model=self.model,
            load_blob=self._load_blob,
            takes_schema=takes_schema,
            search_tool=self._search_tool,
        )
        data = await asyncio.to_thread(encode, body)
        answer = Answer(provider=self.name, model=self.model, request_chars=chars_of(body))
        try:
            async with aclosing(pump(self._payloads(data), idle_timeout_s=self._idle_timeout_s)) as arrived:
                async for payloads in arrived:
                    for payload in payloads:
                        for event in answer.take(payload):
                            yield event
        # Whatever ends the stream after the stop reason loses no word.
        except StreamSilent as error:
            if not answer.finished:
                raise silent(self._service, error.idle_timeout_s) from error
        except Retryable:
            if not answer.finished:
                raise
        except StreamError as error:
            raise failed_in_stream(self._service, error.body) from error
        if not self._limits_are_told:
            self._limits = None
        for event in answer.end():
            yield event

    async def _payloads(self, data: bytes) -> AsyncIterator[list[str]]:
        """Yield the contents of the stream, one list per network read; an empty one is a sign of life."""
        url = f"{self._base_url}/chat/completions"
        async with self._http.request("POST", url, data, timeout_s=None) as response:
            if response.status_code >= 300:
                text = await read(response)
                raise refused(self._service, response.status_code, text, response.headers)
            content_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if content_type not in ("text/event-stream", ""):
                yield [self._whole_answer(content_type, await read(response))]
                return
            decoder, chunks = EventDecoder(), response.aiter_bytes()
            try:
                async for chunk in chunks:
                    payloads = decoder.feed(chunk)
                    yield payloads
                    if DONE in payloads:
                        break
            except EventTooLong as error:
                raise AnswerUnusable(f"{self.name} sent a piece of an answer too long to read.") from error
            yield decoder.flush()
            # A connection that is read to its end serves the next step too; but not every server ends it.
            with suppress(TimeoutError):
                async with asyncio.timeout(timeouts.OPENAI_END_S_MAX):
                    async for _ in chunks:
                        pass

    def _whole_answer(self, content_type: str, body: str) -> str:
        """Return the body, if a server without streaming sent the answer, or an error, in one piece."""
        try:
            found = msgspec.json.decode(body)
        except (msgspec.DecodeError, RecursionError) as error:
            raise no_stream(self._service, content_type, body) from error
        if not (isinstance(found, dict) and ("choices" in found or "error" in found)):
            raise no_stream(self._service, content_type, body)
        return body


def is_local(name: str, base_url: str) -> bool:
    """Whether the endpoint is on this machine. Raises UsageError if it is not a URL."""
    try:
        url = urlsplit(base_url)
        host, _ = url.hostname or "", url.port
    except ValueError:
        url, host = urlsplit(""), ""
    if url.scheme not in ("http", "https") or not host:
        raise UsageError(
            f"base_url of the endpoint {name} is {base_url!r}; it must be like http://localhost:8080/v1."
        )
    return is_this_machine(host)


def open_endpoint(name: str, model: str, parts: ProviderParts) -> Provider:
    """Return the model of this endpoint. Raises ModelRefusedKey if it needs a key and has none."""
    endpoint = parts.endpoints[name]
    key = None
    # An endpoint that needs no key gets none, even if one is stored under its name.
    if endpoint.key_env:
        value = parts.environ.get(endpoint.key_env, "").strip()
        key = parts.find_key(name) or ((value, endpoint.key_env) if value else None)
    if endpoint.key_env and key is None:
        raise ModelRefusedKey(
            f"{name} needs a key for {endpoint.base_url}, and none is set. Set {endpoint.key_env} in the "
            "environment, or choose the model with /model and enter one."
        )
    value, source = key or (None, "")
    return OpenAICompatibleProvider(
        model,
        name=name,
        base_url=endpoint.base_url,
        api_key=value,
        key_source=source,
        load_blob=parts.load_blob,
        context_tokens_max=endpoint.context_tokens_max,
        attempts_max=parts.attempts_max,
        delay_s_max=parts.delay_s_max,
        idle_timeout_s=parts.idle_timeout_s,
        search_tool=(endpoint.search_tool or "") if parts.web_search else "",
    )
