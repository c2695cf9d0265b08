"""A server on 127.0.0.1 that speaks the Gemini REST shapes, for tests and demonstrations.

    async with GeminiStandIn() as server:
        server.script(Text("Good ", "day."), RateLimited(2.0))
        ... base_url=server.url, api_key=server.key ...
        [request] = await server.wait_for_requests(1)

As a process: `python -m tests.standins.gemini --port 0 --script FILE.json [--log FILE.jsonl]` prints its
URL and serves until it is ended. The script's form is in gemini_replies.py. It is strict about what the
real service is strict about (gemini_checks.py); that is written after Google's documentation and was
never compared with the real service.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import itertools
import json
import math
import re
from collections import deque
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tests.standins.gemini_answer import Answer, joined
from tests.standins.gemini_checks import Issued, Refused, check_generate, count_tokens
from tests.standins.gemini_replies import (
    Blocked,
    Call,
    Calls,
    Cut,
    ErrorInStream,
    Failure,
    Finish,
    Hang,
    HtmlError,
    Json,
    NoFinishReason,
    QuotaPerDay,
    RateLimited,
    Raw,
    Reply,
    ReplyOrRule,
    ServerError,
    Signature,
    Slow,
    Text,
    Thought,
    Tokens,
    Until,
    bad_key,
    invalid,
    items_of,
    no_key,
    reply_from_json,
)
from tests.standins.gemini_wire import Recorded, Wire, read_request, until_closed

__all__ = [
    "Blocked",
    "Call",
    "Calls",
    "Cut",
    "ErrorInStream",
    "Failure",
    "Finish",
    "GeminiStandIn",
    "Hang",
    "HtmlError",
    "NoFinishReason",
    "QuotaPerDay",
    "RateLimited",
    "Raw",
    "Recorded",
    "ServerError",
    "Signature",
    "Slow",
    "Text",
    "Thought",
    "Tokens",
    "Until",
]

KEY = "stand-in-key"
MODELS = {
    "gemini-3.8-flash": (1_048_576, 65_536),
    "gemini-4-carbon": (1_048_576, 65_536),
    "gemini-3.5-flash-lite": (1_048_576, 65_536),
    "gemini-embedding-2": (8_192, 1),
    "gemini-embedding-001": (2_048, 1),
}
BATCH_MAX = 100
WAIT_TIMEOUT_S = 20.0


class GeminiStandIn:
    """The server. `write_bytes_max` sends the stream in pieces of so many bytes."""

    def __init__(self, *, port: int = 0, key: str = KEY, write_bytes_max: int = 0) -> None:
        self.key = key
        self.models = dict(MODELS)
        self.requests: list[Recorded] = []
        self.log: Path | None = None
        self.rules: list[tuple[str, Reply]] = []
        self._port = port
        self._write_bytes_max = write_bytes_max
        self._replies: deque[ReplyOrRule] = deque()
        self._issued: list[Issued] = []
        self._ids = itertools.count(1)
        self._arrived = asyncio.Condition()
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> GeminiStandIn:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def url(self) -> str:
        assert self._server is not None
        host, port = self._server.sockets[0].getsockname()
        return f"http://{host}:{port}"

    def script(self, *replies: ReplyOrRule) -> None:
        """One reply a model call, in this order; a callable is given the Recorded request."""
        self._replies.extend(replies)

    def when(self, contains: str, reply: Reply) -> None:
        """For ever the same reply to what contains the text; comes before the scripted ones."""
        self.rules.append((contains, reply))

    def load(self, script: Json) -> None:
        """The script of a JSON file, see gemini_replies.py."""
        self.key = script.get("key", self.key)
        for name, limits in script.get("models", {}).items():
            self.models[name] = (limits.get("input", 1_048_576), limits.get("output", 65_536))
        self.script(*(reply_from_json(reply) for reply in script.get("replies", [])))
        for rule in script.get("when", []):
            self.when(rule["contains"], reply_from_json(rule["reply"]))

    def asked(self, action: str = "") -> list[Recorded]:
        """The requests so far, of one action where it is named."""
        return [request for request in self.requests if not action or request.action == action]

    async def wait_for_requests(
        self, count: int, *, action: str = "", timeout_s: float = WAIT_TIMEOUT_S
    ) -> list[Recorded]:
        """The requests, once at least so many have come whole."""
        async with asyncio.timeout(timeout_s), self._arrived:
            await self._arrived.wait_for(lambda: len(self.asked(action)) >= count)
        return self.asked(action)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            request = await read_request(reader)
            if request is not None:
                self.requests.append(request)
                async with self._arrived:
                    self._arrived.notify_all()
                await self._answer_watching(request, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client left; where it matters it is recorded
        except asyncio.CancelledError:
            if task.cancelling() == 0:
                raise
        finally:
            self._serving.discard(task)
            writer.close()

    async def _answer_watching(
        self, request: Recorded, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Answer, and notice at once when the client leaves before the end."""
        answer = asyncio.create_task(self._answer(request, Wire(writer, self._write_bytes_max)))
        left = asyncio.create_task(until_closed(reader))
        try:
            await asyncio.wait({answer, left}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                request.hung_up.set()
        finally:
            for task in (answer, left):
                task.cancel()
            results = await asyncio.gather(answer, left, return_exceptions=True)
            request.ended.set()
            self._write_log(request)
        if isinstance(results[0], ConnectionError):
            request.hung_up.set()
        elif isinstance(results[0], Exception):
            raise results[0]

    def _write_log(self, request: Recorded) -> None:
        if self.log is None:
            return
        line = {
            "action": request.action,
            "model": request.model,
            "status": request.status,
            "hung_up": request.hung_up.is_set(),
            "body": request.body,
        }
        with self.log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    async def _answer(self, request: Recorded, wire: Wire) -> None:
        try:
            self._check_key(request)
            match request.action:
                case "models":
                    reply = self._models(request)
                case "generateContent" | "streamGenerateContent":
                    await self._generate(request, wire)
                    return
                case "countTokens":
                    reply = self._count(request)
                case "embedContent":
                    reply = {"embedding": self._embedding(request.body)}
                case "batchEmbedContents":
                    reply = self._embed_batch(request)
                case "not JSON":
                    raise Refused(invalid("Invalid JSON payload received. Unexpected token."))
                case _:
                    raise Refused(Failure(404, "NOT_FOUND", "Requested entity was not found."))
            request.status = 200
            await wire.whole(200, reply)
        except Refused as refused:
            request.status = refused.failure.code
            await wire.whole(refused.failure.code, refused.failure.to_json())

    def _check_key(self, request: Recorded) -> None:
        query = parse_qs(urlsplit(request.path).query)
        key = request.headers.get("x-goog-api-key") or query.get("key", [""])[0]
        if not key:
            raise Refused(no_key())
        if key != self.key:
            raise Refused(bad_key())

    def _check_model(self, request: Recorded) -> None:
        if request.model not in self.models:
            message = (
                f"models/{request.model} is not found for API version v1beta, or is not supported for "
                f"{request.action}. Call ListModels to see the list of available models and their "
                "supported methods."
            )
            raise Refused(Failure(404, "NOT_FOUND", message))

    def _models(self, request: Recorded) -> Json:
        if request.model:
            self._check_model(request)
            return self._model(request.model)
        query = parse_qs(urlsplit(request.path).query)
        size = int(query.get("pageSize", ["50"])[0])
        start = int(query.get("pageToken", ["0"])[0])
        names = list(self.models)
        page: Json = {"models": [self._model(name) for name in names[start : start + size]]}
        if start + size < len(names):
            page["nextPageToken"] = str(start + size)
        return page

    def _model(self, name: str) -> Json:
        context_tokens, output_tokens = self.models[name]
        methods = (
            ["embedContent", "batchEmbedContents"]
            if "embedding" in name
            else ["generateContent", "countTokens", "createCachedContent"]
        )
        return {
            "name": f"models/{name}",
            "version": "001",
            "displayName": name,
            "inputTokenLimit": context_tokens,
            "outputTokenLimit": output_tokens,
            "supportedGenerationMethods": methods,
        }

    def _count(self, request: Recorded) -> Json:
        self._check_model(request)
        whole = request.body.get("generateContentRequest")
        if whole is None and not request.body.get("contents"):
            raise Refused(invalid("contents is not specified"))
        if whole is not None and whole.get("model") not in {f"models/{request.model}", request.model}:
            raise Refused(invalid("generate_content_request.model: must match the request's model"))
        return {"totalTokens": count_tokens(request.body if whole is None else whole)}

    def _embedding(self, body: Json) -> Json:
        text = " ".join(part.get("text", "") for part in body.get("content", {}).get("parts", []))
        if not text:
            raise Refused(invalid("content is empty"))
        return {"values": vector_of(text, body.get("outputDimensionality", 3072))}

    def _embed_batch(self, request: Recorded) -> Json:
        self._check_model(request)
        requests = request.body.get("requests", [])
        if not 0 < len(requests) <= BATCH_MAX:
            message = (
                f"* BatchEmbedContentsRequest.requests: at most {BATCH_MAX} requests can be in one batch"
            )
            raise Refused(invalid(message))
        return {"embeddings": [self._embedding(one) for one in requests]}

    async def _generate(self, request: Recorded, wire: Wire) -> None:
        self._check_model(request)
        check_generate(request.body, model=request.model, issued=self._issued)
        tokens, tokens_max = count_tokens(request.body), self.models[request.model][0]
        if tokens > tokens_max:
            raise Refused(
                invalid(
                    f"The input token count ({tokens}) exceeds the maximum number of tokens allowed "
                    f"({tokens_max})."
                )
            )
        items = items_of(self._next_reply(request))
        match items[0]:
            case Failure() as failure:
                raise Refused(failure)
            case HtmlError(code):
                request.status = code
                page = f"<html><head><title>{code}</title></head><body><h1>Bad gateway</h1></body></html>"
                await wire.whole(code, page)
                return
            case Hang():
                await asyncio.Event().wait()
            case _:
                pass
        request.status = 200
        answer = Answer(request, items, Issued(request.model), self._ids)
        self._issued.append(answer.issued)
        if request.action == "generateContent":
            await wire.whole(200, joined([chunk async for chunk in answer.chunks(None)]))
            return
        await wire.start_stream()
        async for chunk in answer.chunks(wire):
            request.chunks_sent += 1
            await wire.event(chunk)
        await wire.end_stream()

    def _next_reply(self, request: Recorded) -> Reply:
        for contains, reply in self.rules:
            if contains in request.last_text:
                return reply
        if not self._replies:
            return Text("You said: ", request.last_text)
        reply = self._replies.popleft()
        return reply(request) if callable(reply) else reply


def vector_of(text: str, dimensions: int) -> list[float]:
    """A vector by the words of the text: the same words in any order give the same, length 1."""
    values = [0.0] * dimensions
    for word in re.findall(r"\w+", text.lower()) or [text]:
        digest = hashlib.sha256(word.encode()).digest()
        values[int.from_bytes(digest[:4]) % dimensions] += 1.0 if digest[4] % 2 else -1.0
    length = math.sqrt(sum(value * value for value in values)) or 1.0
    return [value / length for value in values]


async def _serve(port: int, script: Path | None, log: Path | None) -> None:
    async with GeminiStandIn(port=port) as server:
        server.log = log
        if script is not None:
            server.load(json.loads(script.read_text(encoding="utf-8")))
        print(server.url, flush=True)
        await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.standins.gemini", description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", type=Path)
    parser.add_argument("--log", type=Path, help="append each request as a line of JSON")
    options = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(options.port, options.script, options.log))


if __name__ == "__main__":
    main()
