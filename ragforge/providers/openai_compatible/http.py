"""The connection to a chat completions service: one client, made on first use, and its failures."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import msgspec

from ragforge.domain import timeouts
from ragforge.domain.errors import ModelRefusedKey
from ragforge.domain.json import JsonObject, JsonValue
from ragforge.domain.urls import is_encrypted
from ragforge.providers.connections import encode, load_connections, read_body
from ragforge.providers.openai_compatible.errors import (
    Service,
    broken_off,
    no_stream,
    refused,
    silent,
    unreachable,
)
from ragforge.providers.retry import Retryable

if TYPE_CHECKING:
    import httpx2


class Http:
    """Requests to one service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._client: httpx2.AsyncClient | None = None
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def request(
        self, method: str, url: str, data: bytes | None, *, timeout_s: float | None
    ) -> AsyncGenerator["httpx2.Response", None]:
        """Open a response of any status, its body unread; close it at the end.

        Raises ModelError, or Retryable if another attempt may help, for failures within the block too.
        """
        client = await self._ready()
        import httpx2  # slow the first time, but `_ready` has done so in a thread

        try:
            timeout = httpx2.Timeout(timeout_s, connect=timeouts.OPENAI_CONNECT_S_MAX)
            async with client.stream(method, url, content=data, timeout=timeout) as response:
                yield response
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            failure = unreachable(self._service, _reason(error))
            if self._service.is_local:
                raise failure from error
            raise Retryable(
                failure, reason="no connection", attempts_max=timeouts.OPENAI_CONNECT_ATTEMPTS_MAX
            ) from error
        except httpx2.RequestError as error:
            broken = broken_off(self._service, _reason(error))
            raise Retryable(broken, reason="connection lost") from error

    async def ask(self, url: str, body: JsonObject | None = None, *, needed: bool = False) -> JsonObject:
        """Return the JSON object at an address: GET, or POST if there is a body. Raises ModelError.

        Empty if the server has no such address, unless it is required.
        """
        method, data = ("GET", None) if body is None else ("POST", encode(body))
        try:
            async with (
                asyncio.timeout(timeouts.OPENAI_QUESTION_S_MAX),
                self.request(method, url, data, timeout_s=None) as response,
            ):
                text = await read(response)
                if response.status_code in (401, 403) or (needed and response.status_code >= 300):
                    raise refused(self._service, response.status_code, text, response.headers)
        except TimeoutError as error:
            raise silent(self._service, timeouts.OPENAI_QUESTION_S_MAX) from error
        except Retryable as failure:
            raise failure.error from failure
        if response.status_code >= 300:
            return {}
        try:
            found: JsonValue = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError) as error:
            if needed:
                raise no_stream(self._service, "something that is not JSON", text) from error
            return {}
        return found if isinstance(found, dict) else {}

    async def open(self) -> None:
        """Load the library and create the client, so that the first request need not. Raises ModelError."""
        await self._ready()

    async def close(self) -> None:
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()

    async def _ready(self) -> "httpx2.AsyncClient":
        async with self._lock:
            if self._client is None:
                self._client = await asyncio.to_thread(_make_client, self._service)
            return self._client


async def read(response: "httpx2.Response") -> str:
    """Return the body as text, as far as it is read."""
    return (await read_body(response)).decode("utf-8", "replace")


def _make_client(service: Service) -> "httpx2.AsyncClient":
    """Slow (importing, reading certificates): call it in a thread."""
    import httpx2

    load_connections()
    headers = {"Content-Type": "application/json"}
    if service.key is not None:
        if not (service.key.isascii() and service.key.isprintable() and " " not in service.key):
            raise ModelRefusedKey(
                f"The key from {service.key_source} contains characters that no key has. Paste the whole key "
                "again."
            )
        headers["Authorization"] = f"Bearer {service.key}"
    verify = is_encrypted(service.base_url)
    # A proxy, or a .netrc, is meant for the network, not for a server on this machine.
    return httpx2.AsyncClient(headers=headers, trust_env=not service.is_local, verify=verify)


def _reason(error: Exception) -> str:
    """Return its message; a timeout has none."""
    return str(error) or f"no answer within {timeouts.OPENAI_CONNECT_S_MAX:g} s"
