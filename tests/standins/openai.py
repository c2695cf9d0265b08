"""A small server that speaks chat completions as OpenAI and its look-alikes do, for tests over real HTTP.

It is as strict as the strictest of them: roles, ids of tool calls and their answers, images, the key.
Replies are scripted, one a chat request; without a script it repeats what the user said. Every request
and every hang-up is recorded.

Background calls have a script of their own, as in gemini.py: a request that carries a schema (a
`response_format`, or its words in the system text where `takes_schema` is false) never takes a reply of
`script` and is left out of `chats`. `script_structured(...)`, then `always_structured(...)`, else the least
that fits the schema; `structured` lists those requests. `json_reply({...})` is an answer in JSON. Embeddings
are vectors by the words of the text; `script_embeddings` answers the next calls otherwise. As a process:
`python -m tests.standins.openai --flavour ollama --port 0`.
"""

import argparse
import asyncio
import json
import socket
import struct
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

from tests.standins.echo import echo_of
from tests.standins.openai_checks import why_embedding_refused, why_refused
from tests.standins.openai_replies import (
    USAGE,
    Answering,
    Call,
    End,
    Failure,
    Flavour,
    Json,
    Raw,
    Reply,
    Scripted,
    Seen,
    delta,
    json_reply,
    sse,
)
from tests.standins.structured import least_of
from tests.standins.vectors import vector_of

__all__ = [
    "USAGE",
    "Call",
    "End",
    "Failure",
    "Flavour",
    "OpenAIStandIn",
    "Raw",
    "Reply",
    "Seen",
    "delta",
    "json_reply",
    "sse",
]


class OpenAIStandIn:
    """The server. `async with OpenAIStandIn() as server:` listens on `server.base_url`."""

    def __init__(
        self,
        flavour: Flavour = Flavour.OPENAI,
        *,
        key: str | None = None,
        models: Sequence[str] = ("test-model",),
        context_tokens: int = 32_768,
        loaded: bool = True,
        takes_schema: bool = True,
        embedding_dimensions: int = 64,
    ) -> None:
        self.flavour = flavour
        self.key = key
        self.models = tuple(models)
        self.context_tokens = context_tokens
        self.loaded = loaded
        """Ollama: the model is in memory, so that its real window is known."""
        self.takes_schema = takes_schema
        """False: `response_format` is refused with 400, as older servers do."""
        self.embedding_dimensions = embedding_dimensions
        self.requests: list[Seen] = []
        self.hangups = 0
        self.port = 0
        self._script: deque[Scripted] = deque()
        self._structured: deque[Scripted | Answering] = deque()
        self._structured_always: Scripted | Answering | None = None
        self._embeddings: deque[Failure | Raw] = deque()
        self._changed = asyncio.Condition()
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> "OpenAIStandIn":
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self, port: int = 0) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def script(self, *replies: Scripted) -> None:
        """Answer the next chat requests with these, in this order."""
        self._script.extend(replies)

    def script_structured(self, *replies: Scripted | Answering) -> None:
        """One reply for each request that carries a schema, in this order."""
        self._structured.extend(replies)

    def always_structured(self, reply: Scripted | Answering) -> None:
        """For ever the same reply, or what the callable gives, to what carries a schema."""
        self._structured_always = reply

    def script_embeddings(self, *replies: Failure | Raw) -> None:
        """What the next calls for embeddings get in place of vectors; Failure(200, ...) is a whole body."""
        self._embeddings.extend(replies)

    @property
    def chats(self) -> list[Json]:
        """Bodies of the chat requests so far, without those that carry a schema."""
        return [seen.body for seen in self._asked() if seen.schema is None]

    @property
    def structured(self) -> list[Json]:
        """Bodies of the chat requests so far that carry a schema."""
        return [seen.body for seen in self._asked() if seen.schema is not None]

    @property
    def embeddings(self) -> list[Json]:
        """Bodies of the requests for embeddings so far."""
        return [seen.body for seen in self.requests if seen.path.endswith("/embeddings")]

    def _asked(self) -> list[Seen]:
        return [seen for seen in self.requests if seen.path.endswith("/chat/completions")]

    async def wait_for(self, fact: Callable[["OpenAIStandIn"], bool], timeout_s: float = 180.0) -> None:
        """Return as soon as the fact holds of this server."""
        async with asyncio.timeout(timeout_s), self._changed:
            await self._changed.wait_for(lambda: fact(self))

    # One connection

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while await self._serve(reader, writer):
                    pass
        except asyncio.CancelledError:
            pass  # the server stops; asyncio would report the cancellation as an error
        finally:
            self._connections.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        method, path, _ = head[0].split(" ")
        headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in head[1:] if line)}
        data = await reader.readexactly(int(headers.get("content-length", 0)))
        seen = Seen(method, path, headers, json.loads(data) if data else {})
        async with self._changed:
            self.requests.append(seen)
            self._changed.notify_all()
        reply = self._answer(seen)
        if isinstance(reply, Failure):
            await _send_whole(writer, reply)
            return True
        raw = self._raw(reply, seen.body) if isinstance(reply, Reply) else reply
        return await self._stream(reader, writer, raw)

    async def _stream(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, raw: Raw) -> bool:
        """Send the pieces; true when the connection can be used again."""
        gone = asyncio.ensure_future(reader.read(1))
        send = asyncio.ensure_future(_send_pieces(writer, raw))
        try:
            await asyncio.wait({gone, send}, return_when=asyncio.FIRST_COMPLETED)
            if send.done() and raw.end is End.CLEAN and not send.exception() and not gone.done():
                return False
            if raw.end is End.RESET:
                linger = struct.pack("ii", 1, 0)
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                writer.transport.abort()
            if raw.end is End.HANG:
                await asyncio.wait({gone})
            if gone.done():
                async with self._changed:
                    self.hangups += 1
                    self._changed.notify_all()
            return False
        finally:
            for task in (gone, send):
                task.cancel()
            await asyncio.gather(gone, send, return_exceptions=True)

    # What is answered

    def _answer(self, seen: Seen) -> Scripted:
        if self.key is not None and seen.headers.get("authorization") != f"Bearer {self.key}":
            return _error(
                401, "Incorrect API key provided: wr***ng.", "invalid_request_error", "invalid_api_key"
            )
        if seen.path.endswith("/chat/completions"):
            return self._chat(seen)
        if seen.path == "/v1/embeddings":
            return self._embed(seen)
        found = self._information(seen)
        return Failure(404, "404 page not found") if found is None else Failure(200, found)

    def _chat(self, seen: Seen) -> Scripted:
        if not seen.path.startswith("/v1/"):
            return Failure(404, "404 page not found")
        script = self._script if seen.schema is None else self._structured
        if script and isinstance(failure := script[0], Failure):
            script.popleft()
            return failure
        model = seen.body.get("model")
        if model not in self.models and self.flavour is not Flavour.LLAMA_SERVER:
            return self._model_missing(str(model))
        if wrong := why_refused(seen.body):
            return _error(400, wrong, "invalid_request_error", None)
        if "response_format" in seen.body and not self.takes_schema:
            return _error(400, "'response_format.type' must be 'text'", "invalid_request_error", None)
        if seen.schema is not None:
            reply = self._structured.popleft() if self._structured else self._structured_always
            if reply is None:
                return json_reply(least_of(seen.schema))
            return reply(seen) if callable(reply) else reply
        if self._script:
            return self._script.popleft()
        said = seen.body["messages"][-1]["content"]
        words = said if isinstance(said, str) else "\n".join(p["text"] for p in said if "text" in p)
        return Reply(text=echo_of(words or "an image"))

    def _embed(self, seen: Seen) -> Failure | Raw:
        if self._embeddings:
            return self._embeddings.popleft()
        if seen.body.get("model") not in self.models:
            return self._model_missing(str(seen.body.get("model")))
        if wrong := why_embedding_refused(seen.body):
            return _error(400, wrong, "invalid_request_error", None)
        texts = seen.body["input"] if isinstance(seen.body["input"], list) else [seen.body["input"]]
        data: list[Json] = [
            {"object": "embedding", "index": index, "embedding": vector_of(text, self.embedding_dimensions)}
            for index, text in enumerate(texts)
        ]
        tokens = sum(-(-len(text) // 4) for text in texts)
        body: Json = {"object": "list", "model": seen.body["model"], "data": data}
        if self.flavour is not Flavour.LLAMA_SERVER:
            body["usage"] = {"prompt_tokens": tokens, "total_tokens": tokens}
        return Failure(200, body)

    def _model_missing(self, model: str) -> Failure:
        match self.flavour:
            case Flavour.OLLAMA:
                words = f'model "{model}" not found, try pulling it first'
                return _error(404, words, "api_error", None)
            case Flavour.OPENROUTER:
                return Failure(400, {"error": {"message": f"{model} is not a valid model ID", "code": 400}})
            case _:
                words = f"The model `{model}` does not exist or you do not have access to it."
                return _error(404, words, "invalid_request_error", "model_not_found")

    def _raw(self, reply: Reply, body: Json) -> Raw:
        thought = "reasoning" if self.flavour in (Flavour.OLLAMA, Flavour.OPENROUTER) else "reasoning_content"
        chunks = [delta(role="assistant", content="")]
        chunks += [delta(**{thought: piece}) for piece in reply.thoughts]
        chunks += [delta(content=piece) for piece in reply.text]
        for title, url in reply.cited:  # https://openrouter.ai/docs/guides/features/server-tools/web-search
            cited = {"url": url, "title": title, "content": "...", "start_index": 0, "end_index": 5}
            chunks.append(delta(content="", annotations=[{"type": "url_citation", "url_citation": cited}]))
        chunks += self._call_chunks(reply.calls)
        finish = ("tool_calls" if reply.calls else "stop") if reply.finish == "" else reply.finish
        if finish is not None:
            chunks.append(delta(finish=finish))
        if reply.usage is not None and body.get("stream_options", {}).get("include_usage"):
            chunks.append({**delta(), "choices": [], "usage": reply.usage})
        pieces = [sse(chunk) for chunk in chunks]
        if self.flavour is Flavour.OPENROUTER:
            pieces.insert(0, b": OPENROUTER PROCESSING\n\n")
        if reply.done:
            pieces.append(sse("[DONE]"))
        return Raw(pieces, end=reply.end)

    def _call_chunks(self, calls: Sequence[Call]) -> list[Json]:
        """Ollama sends each call whole and all under index 0, as it did for years; others send fragments."""
        chunks: list[Json] = []
        for index, call in enumerate(calls):
            first: Json = {
                "index": index,
                "type": "function",
                "function": {"name": call.name, "arguments": ""},
            }
            if call.id is not None:
                first["id"] = call.id
            if self.flavour is Flavour.OLLAMA:
                whole = {**first, "index": 0, "function": {"name": call.name, "arguments": call.arguments}}
                chunks.append(delta(tool_calls=[whole]))
                continue
            chunks.append(delta(tool_calls=[first]))
            size = max(1, -(-len(call.arguments) // call.fragments))
            for start in range(0, len(call.arguments), size):
                piece = {"index": index, "function": {"arguments": call.arguments[start : start + size]}}
                chunks.append(delta(tool_calls=[piece]))
        return chunks

    def _information(self, seen: Seen) -> Json | None:
        """The answers of the other addresses, where this flavour has them."""
        path, context = seen.path, self.context_tokens
        if path == "/v1/models":
            return {"object": "list", "data": [self._model_entry(model) for model in self.models]}
        match self.flavour:
            case Flavour.OLLAMA if path == "/api/version":
                return {"version": "0.14.0"}
            case Flavour.OLLAMA if path == "/api/show" and seen.body.get("model") in self.models:
                return {"parameters": 'stop "<|end|>"', "model_info": {"qwen3.context_length": 262_144}}
            case Flavour.OLLAMA if path == "/api/ps":
                models = [{"name": name, "model": name, "context_length": context} for name in self.models]
                return {"models": models if self.loaded else []}
            case Flavour.LLAMA_SERVER if path == "/props":
                return {"default_generation_settings": {"n_ctx": context}, "total_slots": 1}
            case Flavour.LM_STUDIO if path.startswith("/api/v0/models/"):
                return {"max_context_length": 262_144, "loaded_context_length": context}
            case _:
                return None

    def _model_entry(self, model: str) -> Json:
        entry: Json = {"id": model, "object": "model", "created": 1_700_000_000}
        match self.flavour:
            case Flavour.OPENAI:
                return {**entry, "owned_by": "system"}
            case Flavour.OPENROUTER:
                top: Json = {"max_completion_tokens": 8_192}
                return {**entry, "context_length": self.context_tokens, "top_provider": top}
            case Flavour.OLLAMA:
                return {**entry, "owned_by": "library"}
            case Flavour.LLAMA_SERVER:
                return {**entry, "owned_by": "llamacpp", "meta": {"n_ctx_train": 262_144, "n_params": 8}}
            case Flavour.VLLM:
                return {**entry, "owned_by": "vllm", "max_model_len": self.context_tokens}
            case Flavour.LM_STUDIO:
                return {**entry, "owned_by": "organization_owner"}


def _error(status: int, message: str, kind: str, code: str | None) -> Failure:
    return Failure(status, {"error": {"message": message, "type": kind, "param": None, "code": code}})


async def _send_whole(writer: asyncio.StreamWriter, reply: Failure) -> None:
    text = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
    kind = "application/json" if not isinstance(reply.body, str) else "text/html"
    headers = [("Content-Type", kind), ("Content-Length", str(len(text.encode()))), *reply.headers]
    head = "".join(f"{name}: {value}\r\n" for name, value in headers)
    writer.write(f"HTTP/1.1 {reply.status} X\r\n{head}\r\n{text}".encode())
    await writer.drain()


async def _send_pieces(writer: asyncio.StreamWriter, raw: Raw) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {raw.content_type}\r\nTransfer-Encoding: chunked\r\n"
    writer.write(f"{head}Connection: close\r\n\r\n".encode())
    for piece in raw.pieces:
        await asyncio.sleep(raw.pause_s)  # even 0 lets each piece travel alone
        writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
        await writer.drain()
    if raw.end is End.CLEAN:
        writer.write(b"0\r\n\r\n")
    await writer.drain()


async def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flavour", type=Flavour, choices=list(Flavour), default=Flavour.OPENAI)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--key")
    parser.add_argument("--model", action="append", default=[])
    options = parser.parse_args()
    server = OpenAIStandIn(options.flavour, key=options.key, models=options.model or ("test-model",))
    await server.start(options.port)
    print(server.base_url, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(_main())
