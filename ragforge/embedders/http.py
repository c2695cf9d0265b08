"""One request to an embedding service over HTTP: its key, its client, and retries."""

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from msgspec import Struct

from ragforge.domain import timeouts
from ragforge.domain.errors import ModelError, ModelRefusedKey, ModelUnreachable, RagforgeError
from ragforge.domain.urls import is_encrypted
from ragforge.embedders.refusals import Refusal, Service, read_refusal

if TYPE_CHECKING:  # slow to import
    import httpx2

BODY_BYTES_MAX = 64 * 1024 * 1024

FindKey = Callable[[], tuple[str, str] | None]
"""The key and where it was found; may be slow."""


class _Opened(Struct, frozen=True):
    client: "httpx2.AsyncClient"
    service: Service


class Connection:
    """The service at one address. key_header: the header of the key, with `key_prefix` before it."""

    def __init__(
        self, service: Service, *, find_key: FindKey, key_header: str, key_prefix: str = "", needs_key: bool
    ) -> None:
        self._service = service
        self._find_key = find_key
        self._key_header = key_header
        self._key_prefix = key_prefix
        self._needs_key = needs_key
        self._opening: asyncio.Task[_Opened] | None = None

    async def post(self, path: str, body: bytes, *, attempts_max: int | None = None) -> bytes:
        """Return the body of a successful answer. Raises ModelError."""
        attempts_max = timeouts.EMBEDDER_ATTEMPTS_MAX if attempts_max is None else attempts_max
        number = 1
        while True:
            try:
                return await self._attempt(path, body)
            except Refusal as refusal:
                if isinstance(refusal.error, ModelRefusedKey):
                    await self.close()  # the next request looks for a better one
                delay_s = _delay_s(refusal, number)
                if not refusal.may_pass or number >= attempts_max or delay_s > timeouts.EMBEDDER_DELAY_S_MAX:
                    raise _given_up(refusal.error, number) from refusal
            await asyncio.sleep(delay_s)
            number += 1

    async def prepare(self) -> None:
        """Load the library and find the key, which takes half a second once. Raises ModelError."""
        try:
            await self._ready()
        except Refusal as refusal:
            raise refusal.error from refusal

    async def close(self) -> None:
        """Release connections; a later request opens new ones."""
        opening, self._opening = self._opening, None
        if opening is not None:
            with suppress(Refusal, RagforgeError):
                await (await opening).client.aclose()

    async def _attempt(self, path: str, body: bytes) -> bytes:
        opened = await self._ready()
        import httpx2  # loaded by now, in a thread

        url, service = f"{self._service.base_url}/{path}", opened.service
        try:
            async with (
                asyncio.timeout(timeouts.EMBEDDER_ANSWER_S_MAX),
                opened.client.stream("POST", url, content=body) as got,
            ):
                answer = await _read(got)
        except TimeoutError as error:
            raise Refusal(
                ModelUnreachable(
                    f"{service.name} gave no vectors within {timeouts.EMBEDDER_ANSWER_S_MAX:g} s."
                ),
                may_pass=True,
            ) from error
        except (httpx2.RequestError, httpx2.InvalidURL) as error:
            said = str(error) or type(error).__name__
            raise Refusal(
                ModelUnreachable(
                    f"Cannot get vectors from {service.name} at {service.base_url}: {said}. Check that it "
                    "runs, the network and the address."
                ),
                # A local server that does not answer now will not answer in a second.
                may_pass=not service.is_local,
            ) from error
        if got.status_code != 200:
            raise read_refusal(service, got.status_code, answer, got.headers)
        return answer

    async def _ready(self) -> _Opened:
        if self._opening is None:
            # Importing, reading certificates and asking a keyring are slow.
            self._opening = asyncio.create_task(asyncio.to_thread(self._open), name="open embedder")
        opening = self._opening
        try:
            # The caller may give up after a moment; what was started is for the next query.
            return await asyncio.shield(opening)
        except (Refusal, RagforgeError):
            if self._opening is opening:
                self._opening = None  # the next query tries again
            raise

    def _open(self) -> _Opened:
        import httpx2

        headers = {"Content-Type": "application/json"}
        service = self._service
        found = self._find_key() if self._needs_key else None
        if self._needs_key:
            service = service.with_key(*_checked(found, service))
            headers[self._key_header] = f"{self._key_prefix}{service.key}"
        timeout = httpx2.Timeout(None, connect=timeouts.EMBEDDER_CONNECT_S_MAX)
        # A proxy, or a .netrc, is meant for the network, not for a server on this machine.
        trusts = not service.is_local
        verify = is_encrypted(service.base_url)
        try:
            _ = urlsplit(service.base_url).port  # raises ValueError for a bad port
            client = httpx2.AsyncClient(headers=headers, timeout=timeout, trust_env=trusts, verify=verify)
        except (ValueError, ImportError, OSError, httpx2.InvalidURL) as error:
            raise Refusal(
                ModelUnreachable(
                    f"The connection to {service.base_url} cannot be set up ({error}). Check the address, "
                    "the proxy variables and SSL_CERT_FILE."
                )
            ) from error
        return _Opened(client, service)


async def _read(response: "httpx2.Response") -> bytes:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > BODY_BYTES_MAX:
            break
    return bytes(body)


def _checked(found: tuple[str, str] | None, service: Service) -> tuple[str, str]:
    if found is None:
        raise Refusal(
            ModelRefusedKey(
                f"{service.name} needs a key, and none is set. Enter one with /model, or set "
                "memory.embedder to static."
            )
        )
    key, source = found[0].strip(), found[1]
    if not (key and key.isascii() and key.isprintable() and " " not in key):
        raise Refusal(
            ModelRefusedKey(
                f"The key from {source} contains characters that no key contains. Paste the whole key again."
            )
        )
    return key, source


def _delay_s(refusal: Refusal, number: int) -> float:
    if refusal.delay_s is not None:
        return refusal.delay_s
    # Clients that failed together should not come back together.
    return min(
        timeouts.EMBEDDER_DELAY_S_MAX, timeouts.EMBEDDER_DELAY_S_FIRST * 2 ** (number - 1)
    ) * random.uniform(0.5, 1.0)


def _given_up(error: ModelError, number: int) -> ModelError:
    return error if number == 1 else type(error)(f"{error} Tried {number} times.")
