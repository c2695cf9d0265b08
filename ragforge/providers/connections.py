"""What the connections to all services share."""

import json
from typing import TYPE_CHECKING

from ragforge.domain.json import JsonObject

if TYPE_CHECKING:
    import httpx2

BODY_BYTES_MAX = 8 * 1024 * 1024


def load_connections() -> None:
    """Load what opens connections for an httpx2 client. Slow: call it in a thread."""
    import anyio  # httpx2 brings it, and would load the larger part of it at the first request: 60 ms
    from anyio.lowlevel import checkpoint

    anyio.run(checkpoint)


async def read_body(response: "httpx2.Response") -> bytes:
    """Return the body, at most BODY_BYTES_MAX of it."""
    body = bytearray()
    async for piece in response.aiter_bytes():
        body += piece
        if len(body) > BODY_BYTES_MAX:
            break
    return bytes(body[:BODY_BYTES_MAX])


def encode(body: JsonObject) -> bytes:
    """Return the body as UTF-8. Half a surrogate, from a terminal or a file name, becomes a question mark."""
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
