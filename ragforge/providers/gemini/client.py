"""The google-genai client: loaded late, in a thread, kept quiet, and closed by us."""

import asyncio
import logging
import warnings
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast
from urllib.parse import urlsplit

from msgspec import Struct

from ragforge.domain import timeouts
from ragforge.domain.errors import ModelUnreachable
from ragforge.domain.json import JsonObject
from ragforge.providers.gemini.errors import Endpoint, explain
from ragforge.providers.retry import Retryable

if TYPE_CHECKING:  # both are slow to import
    import httpx2
    from google.genai import Client, types

Result = TypeVar("Result")

REPLACED = "."
"""The library wants contents of its own types; the body's own replace them and are sent exactly as they
are, which also is quicker."""
NOTHING_AUTOMATIC: dict[str, Any] = {
    "automatic_function_calling": {"disable": True},
    "automatic_continuation": False,
}
"""On by default, they would run our tools and send further billed requests."""
LOGGERS = ("google_genai", "google", "httpx2", "httpcore2")


class _Opened(Struct, frozen=True):
    client: "Client"
    http: "httpx2.AsyncClient"


class _Generating(Protocol):
    """What we use of the library's AsyncModels, whose own types name packages that are not installed."""

    async def generate_content_stream(
        self, *, model: str, contents: str, config: dict[str, Any]
    ) -> "AsyncIterator[types.GenerateContentResponse]": ...

    async def count_tokens(
        self, *, model: str, contents: str, config: dict[str, Any]
    ) -> "types.CountTokensResponse": ...


class GeminiClient:
    """The service behind one address and key. Raises ModelError and Retryable only."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._opened: _Opened | None = None
        self._opening = asyncio.Lock()

    async def chunks(self, body: JsonObject) -> "AsyncGenerator[types.GenerateContentResponse, None]":
        """The chunks of the answer to a body in the REST shape.

        Leave it by cancelling the task that reads: nothing else ends the HTTP stream at once
        (google-genai 3.4), which is what `pump` is for.
        """
        client = await self._client()
        from ragforge.providers.gemini.http import closing_bodies  # imports httpx2; loaded by now

        try:
            async with closing_bodies():
                stream = await _generating(client).generate_content_stream(
                    model=self._endpoint.model,
                    contents=REPLACED,
                    config={**NOTHING_AUTOMATIC, **_sending(body)},
                )
                async for chunk in stream:
                    yield chunk
        except Exception as error:  # the library raises whatever its parsing meets; explain() reports it
            raise explain(error, self._endpoint) from error

    async def count(self, request: JsonObject) -> int:
        """The tokens of a generateContent request, as the service counts them."""
        model = self._endpoint.model
        whole: JsonObject = {"generateContentRequest": {"model": f"models/{model}", **request}}
        counted = await self._call(
            lambda client: _generating(client).count_tokens(
                model=model, contents=REPLACED, config=_sending(whole)
            )
        )
        return counted.total_tokens or 0

    async def model(self) -> "types.Model":
        """What the service says of the model."""
        return await self._call(lambda client: client.aio.models.get(model=self._endpoint.model))

    async def models(self) -> "list[types.Model]":
        """All models of the service."""

        async def listed(client: "Client") -> "list[types.Model]":
            pages = await client.aio.models.list(config={"page_size": 1000, "query_base": True})
            return [model async for model in pages]

        return await self._call(listed)

    async def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        async with self._opening:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.client.close()
            await opened.http.aclose()

    async def _call(self, make: "Callable[[Client], Awaitable[Result]]") -> Result:
        client = await self._client()
        try:
            async with asyncio.timeout(timeouts.GEMINI_CALL_S_MAX):
                return await make(client)
        except TimeoutError as error:
            raise ModelUnreachable(
                f"Gemini at {self._endpoint.url} did not answer within {timeouts.GEMINI_CALL_S_MAX:g} s. "
                "Check the network and try again."
            ) from error
        except Exception as error:  # as in chunks()
            explained = explain(error, self._endpoint)
            raise (explained.error if isinstance(explained, Retryable) else explained) from error

    async def _client(self) -> "Client":
        async with self._opening:
            if self._opened is None:
                # Importing takes 0.4 s, which would freeze the screen.
                self._opened = await asyncio.to_thread(_open, self._endpoint)
            return self._opened.client


def _generating(client: "Client") -> _Generating:
    return cast(_Generating, client.aio.models)


def _sending(body: JsonObject) -> dict[str, Any]:
    return {"http_options": {"extra_body": body}}


def _open(endpoint: Endpoint) -> _Opened:
    """The client, built. To be called in a thread."""
    _keep_quiet()
    from google.genai import Client

    from ragforge.providers.gemini.http import new_options
    from ragforge.providers.gemini.warm import build_types

    build_types()
    try:
        _ = urlsplit(endpoint.url).port  # raises ValueError for a bad port
        options, http = new_options(endpoint)
        client = Client(api_key=endpoint.api_key, vertexai=False, http_options=options)
    except (ValueError, ImportError, OSError) as error:
        said = str(error).rstrip(".")
        raise ModelUnreachable(
            f"The connection to {endpoint.url} cannot be set up ({said}). Check the address, the proxy "
            "variables, SSL_CERT_FILE and GOOGLE_GENAI_HTTP_CLIENT."
        ) from error
    return _Opened(client, http)


def _keep_quiet() -> None:
    """What the libraries log or warn of must not reach the terminal, which belongs to the screen."""
    for name in LOGGERS:
        logger = logging.getLogger(name)
        if not logger.handlers:
            # A logger without any handler falls back to printing warnings.
            logger.addHandler(logging.NullHandler())
    warnings.filterwarnings("ignore", module=r"google\.(genai|auth)\b")
    warnings.filterwarnings("ignore", module=r"httpx2\b")
