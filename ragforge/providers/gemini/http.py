"""The HTTP client under google-genai, which can close what the library leaves open.

Imports httpx2 and google.genai at its top, so it is itself imported late, in a thread.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any, cast

import httpx2
from google.genai import types

from ragforge.domain import timeouts
from ragforge.domain.urls import is_encrypted
from ragforge.providers.gemini.errors import Endpoint

API_VERSION = "v1beta"
"""Newer fields are documented there only."""

_bodies: ContextVar["list[_Body] | None"] = ContextVar("_bodies", default=None)


def new_options(endpoint: Endpoint) -> tuple[types.HttpOptions, httpx2.AsyncClient]:
    """The library's HTTP options with a client of ours, which is to be closed by whoever takes it.

    It has no time limits but for connecting. Without it the library takes aiohttp where that happens to
    be installed, whose time limits and cancellation behave differently.
    """
    # Certificates are read once, not once a client and once for websockets.
    tls = httpx2.create_ssl_context(verify=is_encrypted(endpoint.url))
    hooks = {"request": [_limit_connecting], "response": [_keep_body]}
    http = httpx2.AsyncClient(verify=tls, timeout=None, event_hooks=hooks)
    options = types.HttpOptions(
        base_url=endpoint.url,
        api_version=API_VERSION,
        httpx_async_client=cast(Any, http),
        httpx_client=cast(Any, httpx2.Client(verify=tls)),
        async_client_args={"ssl": tls},
    )
    return options, http


@asynccontextmanager
async def closing_bodies() -> AsyncGenerator[None, None]:
    """Close, at the end of the block, every response whose request this task sent within it.

    After an error within a stream the library leaves its generators where they stand, and with them the
    connection, until a garbage collection.
    """
    bodies: list[_Body] = []
    _bodies.set(bodies)
    try:
        yield
    finally:
        _bodies.set(None)
        for body in bodies:
            await body.aclose()


class _Body(httpx2.AsyncByteStream):
    """A response's body that can be closed from outside while its reader is suspended."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream
        self._pieces: AsyncIterator[bytes] | None = None
        self._closed = False

    # Not generators themselves: these would be left suspended just as the others are.
    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if self._closed:
            raise StopAsyncIteration
        if self._pieces is None:
            self._pieces = aiter(self._stream)
        return await anext(self._pieces)

    async def aclose(self) -> None:
        if self._closed:
            return
        self._closed = True
        end = cast(Callable[[], Awaitable[None]] | None, getattr(self._pieces, "aclose", None))
        if end is not None:
            await end()
        await self._stream.aclose()


async def _limit_connecting(request: httpx2.Request) -> None:
    # The library passes timeout=None with each request, which would wait for ever.
    request.extensions["timeout"] = {"connect": timeouts.GEMINI_CONNECT_S_MAX}


async def _keep_body(response: httpx2.Response) -> None:
    bodies = _bodies.get()
    if bodies is not None and isinstance(response.stream, httpx2.AsyncByteStream):
        body = _Body(response.stream)
        response.stream = body
        bodies.append(body)
