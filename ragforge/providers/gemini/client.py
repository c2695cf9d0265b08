"""The Gemini API over HTTP: one client, loaded and opened in a thread, and its answers.

Implements Google's documentation (https://ai.google.dev/api) without google-genai: that library takes
0.4 s and 40 MB to import, builds its types during the first call, and leaves the connection of an
interrupted answer open.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain import timeouts
from ragforge.domain.errors import ModelUnreachable
from ragforge.domain.json import JsonObject
from ragforge.domain.urls import is_encrypted
from ragforge.providers.connections import encode, load_connections, read_body
from ragforge.providers.gemini.errors import Endpoint, ServiceRefused, explain
from ragforge.providers.retry import Retryable
from ragforge.providers.sse import EventDecoder

if TYPE_CHECKING:  # slow to import
    import httpx2

Result = TypeVar("Result")

API_VERSION = "v1beta"
"""Newer fields are documented only there."""
PAGE_SIZE = 1_000


class Content(Struct, frozen=True):
    """The content of an answer. Its parts stay as they came: they are sent back."""

    parts: list[JsonObject] | None = None


class FoundPage(Struct, frozen=True):
    """A page of Google's search."""

    uri: str = ""
    title: str = ""


class GroundingChunk(Struct, frozen=True):
    """A source of the answer; only pages are used."""

    web: FoundPage | None = None


class GroundingMetadata(Struct, frozen=True, rename="camel"):
    """What Google searched for, and found."""

    web_search_queries: list[str] | None = None
    grounding_chunks: list[GroundingChunk] | None = None


class AnswerCandidate(Struct, frozen=True, rename="camel"):
    """One answer; there is only one."""

    content: Content | None = None
    finish_reason: str | None = None
    grounding_metadata: GroundingMetadata | None = None


class PromptFeedback(Struct, frozen=True, rename="camel"):
    """The service's verdict on the request."""

    block_reason: str | None = None


class UsageMetadata(Struct, frozen=True, rename="camel"):
    """Tokens so far, as reported: see `tokens_told`."""

    prompt_token_count: object = None
    tool_use_prompt_token_count: object = None
    cached_content_token_count: object = None
    candidates_token_count: object = None
    thoughts_token_count: object = None


class Chunk(Struct, frozen=True, rename="camel"):
    """A piece of an answer, or the error that ends it. Unknown fields are ignored."""

    candidates: list[AnswerCandidate] | None = None
    prompt_feedback: PromptFeedback | None = None
    usage_metadata: UsageMetadata | None = None
    error: JsonObject | None = None


class ModelFacts(Struct, frozen=True, rename="camel"):
    """The service's description of a model."""

    name: str = ""
    input_token_limit: int | None = None
    output_token_limit: int | None = None
    supported_generation_methods: list[str] | None = None

    @property
    def can_chat(self) -> bool:
        """Whether it answers; one without a description may."""
        methods = self.supported_generation_methods
        return not methods or "generateContent" in methods


class _Page(Struct, frozen=True, rename="camel"):
    models: list[ModelFacts] | None = None
    next_page_token: str = ""


class _Counted(Struct, frozen=True, rename="camel"):
    total_tokens: int | None = None


class GeminiClient:
    """The service behind one address and key. Raises only ModelError and Retryable."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client: httpx2.AsyncClient | None = None
        self._opening = asyncio.Lock()

    async def open(self) -> None:
        """Load the library and create the client, so that the first call need not. Raises ModelError."""
        await self._ready()

    async def chunks(self, body: JsonObject) -> AsyncGenerator[list[Chunk], None]:
        """Yield the answer to a body, one list per network read; an empty one is a sign of life."""
        data = await asyncio.to_thread(encode, body)
        path = f"{self._model}:streamGenerateContent?alt=sse"
        try:
            async with self._request("POST", path, data) as response:
                kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
                if kind not in ("text/event-stream", ""):
                    raise ValueError(f"{kind}: {(await read_body(response)).decode('utf-8', 'replace')}")
                decoder = EventDecoder()
                async with aclosing(response.aiter_bytes()) as pieces:
                    async for piece in pieces:
                        yield [_chunk(payload) for payload in decoder.feed(piece)]
                yield [_chunk(payload) for payload in decoder.flush()]
        except Exception as error:  # any error while reading; explain() reports it
            raise explain(error, self._endpoint) from error

    async def count(self, request: JsonObject) -> int:
        """Return the tokens of a generateContent request, as the service counts them."""
        whole: JsonObject = {"generateContentRequest": {"model": self._model, **request}}
        counted = await self._call(lambda: self._ask(_Counted, "POST", f"{self._model}:countTokens", whole))
        return counted.total_tokens or 0

    async def model(self) -> ModelFacts:
        """Return the description of the model."""
        return await self._call(lambda: self._ask(ModelFacts, "GET", self._model))

    async def models(self) -> list[ModelFacts]:
        """Return all models of the service."""

        async def listed() -> list[ModelFacts]:
            found, token = list[ModelFacts](), ""
            while True:
                after = f"&pageToken={token}" if token else ""
                page = await self._ask(_Page, "GET", f"models?pageSize={PAGE_SIZE}{after}")
                found += page.models or []
                token = page.next_page_token
                if not token:
                    return found

        return await self._call(listed)

    async def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        async with self._opening:
            client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    @property
    def _model(self) -> str:
        """Return the model as in paths."""
        name = self._endpoint.model
        return name if name.startswith("tunedModels/") else f"models/{name}"

    async def _ask(
        self, kind: type[Result], method: str, path: str, body: JsonObject | None = None
    ) -> Result:
        """Return the JSON at a path."""
        async with self._request(method, path, None if body is None else encode(body)) as response:
            return msgspec.json.decode(await read_body(response), type=kind)

    @asynccontextmanager
    async def _request(
        self, method: str, path: str, data: bytes | None
    ) -> "AsyncGenerator[httpx2.Response, None]":
        """Open a successful response, its body unread; close it at the end. Raises ServiceRefused."""
        client = await self._ready()
        url = f"{self._endpoint.url}/{API_VERSION}/{path}"
        async with client.stream(method, url, content=data) as response:
            if response.status_code >= 300:
                raise ServiceRefused(response.status_code, await read_body(response))
            yield response

    async def _call(self, make: Callable[[], Awaitable[Result]]) -> Result:
        try:
            await self._ready()
            async with asyncio.timeout(timeouts.GEMINI_CALL_S_MAX):
                return await make()
        except TimeoutError as error:
            raise ModelUnreachable(
                f"Gemini at {self._endpoint.url} did not answer within {timeouts.GEMINI_CALL_S_MAX:g} s. "
                "Check the network and try again."
            ) from error
        except Exception as error:  # as in chunks()
            explained = explain(error, replace(self._endpoint, retry=""))
            raise (explained.error if isinstance(explained, Retryable) else explained) from error

    async def _ready(self) -> "httpx2.AsyncClient":
        async with self._opening:
            if self._client is None:
                # Importing and reading certificates take 0.2 s, which would freeze the screen.
                self._client = await asyncio.to_thread(_open, self._endpoint)
            return self._client


def _chunk(payload: str) -> Chunk:
    # Not with msgspec first: it rejects half a surrogate, which a model may write.
    chunk = msgspec.convert(json.loads(payload), Chunk)
    if chunk.error is not None:
        raise ServiceRefused(0, payload.encode())
    return chunk


def _open(endpoint: Endpoint) -> "httpx2.AsyncClient":
    """Create the client; call it in a thread. Raises ModelUnreachable."""
    import httpx2

    headers = {"Content-Type": "application/json", "x-goog-api-key": endpoint.api_key}
    # An answer may take long to start: its reader checks for silence.
    timeout = httpx2.Timeout(None, connect=timeouts.GEMINI_CONNECT_S_MAX)
    try:
        _ = urlsplit(endpoint.url).port  # raises ValueError for a bad port
        load_connections()
        return httpx2.AsyncClient(headers=headers, timeout=timeout, verify=is_encrypted(endpoint.url))
    except (ValueError, ImportError, OSError, httpx2.InvalidURL) as error:
        said = str(error).rstrip(".")
        raise ModelUnreachable(
            f"The connection to {endpoint.url} could not be set up ({said}). Check the address, the proxy "
            "variables and SSL_CERT_FILE."
        ) from error
