"""Find model servers on this machine, at their usual ports and at configured ones, all at once."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from ragforge.domain.json import JsonObject, JsonValue
from ragforge.domain.urls import is_this_machine

if TYPE_CHECKING:
    import httpx2

PORTS = (11434, 8080, 1234, 8000)
"""Ollama, llama-server, LM Studio, vLLM. A server is recognised by its answer, not by its port."""

# The owner that a server gives for its models.
_OWNERS: Mapping[str, str] = {
    "library": "ollama",
    "llamacpp": "llama-server",
    "organization_owner": "lmstudio",
    "vllm": "vllm",
}
BODY_BYTES_MAX = 1024 * 1024


class FoundEndpoint(Struct, frozen=True):
    """A server that answered.

    Its name is that of the endpoint configured at this port, else of a built-in one, or `port-N` for an
    unknown kind.
    """

    name: str
    base_url: str
    models: tuple[str, ...]


async def find_local_endpoints(
    timeout_s: float = 0.4, *, ports: tuple[int, ...] = PORTS, configured: Mapping[str, str] | None = None
) -> list[FoundEndpoint]:
    """Return the servers that answer in time, in the order of the ports; empty if none can be reached.

    configured: base URLs by the endpoint's name. Those on this machine come after the ports.
    The limit applies to each server's answers, not to loading the HTTP library first.
    """
    places = {port: f"http://127.0.0.1:{port}/v1" for port in ports}
    names: dict[int, list[str]] = {}
    for name, url in (configured or {}).items():
        if port := _port_here(url):
            names.setdefault(port, []).append(name)
            places.setdefault(port, url.rstrip("/"))
    client = await asyncio.to_thread(_make_client)
    async with client:
        asked = (_ask_within(client, url, names.get(port, ()), timeout_s) for port, url in places.items())
        found = await asyncio.gather(*asked)
    return [endpoint for endpoint in found if endpoint is not None]


def _port_here(url: str) -> int | None:
    """Return the port, if the URL is of this machine."""
    try:
        parts = urlsplit(url)
        return parts.port if is_this_machine(parts.hostname or "") else None
    except ValueError:
        return None


def _make_client() -> "httpx2.AsyncClient":
    """Slow to import, so it runs in a thread."""
    import httpx2

    # Neither certificates nor a proxy are needed on this machine.
    return httpx2.AsyncClient(trust_env=False, verify=False)


async def _ask_within(
    client: "httpx2.AsyncClient", url: str, names: Sequence[str], timeout_s: float
) -> FoundEndpoint | None:
    try:
        async with asyncio.timeout(timeout_s):
            return await _ask(client, url, names)
    except Exception:  # whatever listens there, the user is only told what can be used
        return None


async def _ask(client: "httpx2.AsyncClient", url: str, configured: Sequence[str]) -> FoundEndpoint | None:
    """configured: the names of endpoints at this address, of which one is the server's."""
    listed = await _json(client, f"{url}/models")
    entries = listed.get("data")
    if listed.get("object") != "list" and not isinstance(entries, list):
        return None
    # Ollama without any model says null.
    models = [item for item in entries if isinstance(item, dict)] if isinstance(entries, list) else []
    owners = {_OWNERS.get(str(model.get("owned_by"))) for model in models} - {None}
    name = next((owner for owner in owners if owner), "")
    if configured:
        name = name if name in configured else configured[-1]
    elif not name:
        version = await _json(client, f"{url.removesuffix('/v1')}/api/version")
        name = "ollama" if "version" in version else f"port-{urlsplit(url).port}"
    names = tuple(sorted(str(model["id"]) for model in models if isinstance(model.get("id"), str)))
    return FoundEndpoint(name, url, names)


async def _json(client: "httpx2.AsyncClient", url: str) -> JsonObject:
    """Return the JSON object at an address; empty if there is none."""
    body = bytearray()
    async with client.stream("GET", url, timeout=None) as response:
        if response.status_code != 200:
            return {}
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > BODY_BYTES_MAX:
                return {}
    try:
        found: JsonValue = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
