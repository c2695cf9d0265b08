"""HTTP/1.1 as far as the Gemini stand-in needs it, with control over how a connection ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
import struct
from dataclasses import dataclass, field

from tests.standins.gemini_checks import camel
from tests.standins.gemini_replies import Json


@dataclass
class Recorded:
    """A request as it came. `body` is brought to camelCase; `raw` is what was sent."""

    method: str
    path: str
    action: str
    """"streamGenerateContent", "countTokens", ...; "models" for get and list."""
    model: str
    headers: dict[str, str]
    raw: bytes
    body: Json
    status: int = 0
    """What was answered, once it was."""
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)
    """The client left before the answer had ended."""
    chunks_sent: int = 0

    @property
    def schema(self) -> Json | None:
        """The JSON schema that the answer is to have; None for a request of the conversation."""
        whole = self.body.get("generateContentRequest", self.body)
        return whole.get("generationConfig", {}).get("responseJsonSchema")

    @property
    def last_text(self) -> str:
        """The text, or tool results, of the newest content."""
        contents = self.body.get("contents") or [{}]
        found: list[str] = []
        for part in contents[-1].get("parts", []):
            if "text" in part:
                found.append(part["text"])
            elif "functionResponse" in part:
                found.append(json.dumps(part["functionResponse"].get("response"), ensure_ascii=False))
        return "\n".join(found)


def _text(chunk: Json | str) -> str:
    """A chunk as JSON. What UTF-8 cannot hold, half a surrogate pair, is written as an escape."""
    if isinstance(chunk, str):
        return chunk
    text = json.dumps(chunk, ensure_ascii=False)
    return json.dumps(chunk) if re.search("[\ud800-\udfff]", text) else text


class Wire:
    """The way back to the client."""

    def __init__(self, writer: asyncio.StreamWriter, write_bytes_max: int) -> None:
        self._writer = writer
        self._write_bytes_max = write_bytes_max

    async def whole(self, code: int, body: Json | str) -> None:
        kind = "text/html" if isinstance(body, str) else "application/json; charset=UTF-8"
        data = (body if isinstance(body, str) else json.dumps(body, indent=2)).encode()
        await self._head(code, kind, f"Content-Length: {len(data)}")
        await self._write(data)

    async def start_stream(self) -> None:
        await self._head(200, "text/event-stream", "Transfer-Encoding: chunked")

    async def event(self, chunk: Json | str | bytes) -> None:
        data = chunk if isinstance(chunk, bytes) else f"data: {_text(chunk)}\r\n\r\n".encode()
        size = self._write_bytes_max or len(data)
        for start in range(0, len(data), size):
            piece = data[start : start + size]
            await self._write(b"%x\r\n%b\r\n" % (len(piece), piece))

    async def end_stream(self) -> None:
        if not self._writer.is_closing():
            await self._write(b"0\r\n\r\n")

    async def cut(self, how: str) -> None:
        await self._writer.drain()
        if how == "rst":
            linger = struct.pack("ii", 1, 0)
            self._writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self._writer.close()

    async def _head(self, code: int, kind: str, length: str) -> None:
        lines = (f"HTTP/1.1 {code} Status", f"Content-Type: {kind}", length, "Connection: close", "", "")
        await self._write("\r\n".join(lines).encode())

    async def _write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()


async def read_request(reader: asyncio.StreamReader) -> Recorded | None:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    headers = {name.strip().lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
    raw = await reader.readexactly(int(headers.get("content-length", 0)))
    found = re.match(r"/v1(?:beta|alpha)?/models(?:/([^:?]+))?(?::(\w+))?", path)
    model, action = (found[1] or "", found[2] or "models") if found else ("", "")
    try:
        body = camel(json.loads(raw)) if raw else {}
    except ValueError:
        body, action = {}, "not JSON"
    return Recorded(method, path, action, model, headers, raw, body)


async def until_closed(reader: asyncio.StreamReader) -> None:
    with contextlib.suppress(ConnectionError):
        while await reader.read(1024):
            pass
