"""A server on 127.0.0.1 that speaks the Gemini REST shapes, for tests and demonstrations.

    async with GeminiStandIn() as server:
        server.script(Text("Good ", "day."), RateLimited(2.0))
        ... base_url=server.url, api_key=server.key ...
        [request] = await server.wait_for_requests(1)

**Background calls have a script of their own.** A request that carries a JSON schema (what the program asks
after a turn: summary and memories) never takes a reply of `script` or `when`, and is left out of `asked` and
`wait_for_requests`, so that tests of the conversation need not know when it comes:

    server.script_structured(JsonText({"summary": "..."}), RateLimited(0))     in this order, one a call
    server.always_structured(lambda request: JsonText(made_of(request)))       once those are used up
    server.structured()                                                        those requests so far
    await server.wait_for_structured(3)                                        as soon as there are so many

A reply may be anything that a conversation's may be: text that is no JSON, cut, slow, 500. A callable is
given the Recorded request (`.schema`, `.last_text`, `.body`). Where nothing is scripted the answer is the
least that fits the schema (`least_of`): empty texts and lists. Embeddings are vectors by the words of the
text; `script_embeddings` answers the next calls otherwise.

As a process: `python -m tests.standins.gemini --port 0 --script FILE.json [--log FILE.jsonl]` prints its
URL and serves until it is ended. The script's form is in gemini_replies.py. It is strict about what the
real service is strict about (gemini_checks.py); that is written after Google's documentation and was
never compared with the real service.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import json
from collections import deque
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tests.standins.echo import echo_of
from tests.standins.gemini_answer import Answer, joined
from tests.standins.gemini_checks import Issued, Refused, check_generate, count_tokens
from tests.standins.gemini_embeddings import embedding_of, embeddings_of, scripted
from tests.standins.gemini_models import MODELS, models_page
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
    JsonText,
    NoFinishReason,
    QuotaPerDay,
    RateLimited,
    Raw,
    Reply,
    ReplyOrRule,
    Searched,
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
from tests.standins.structured import least_of

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
    "JsonText",
    "NoFinishReason",
    "QuotaPerDay",
    "RateLimited",
    "Raw",
    "Recorded",
    "Searched",
    "ServerError",
    "Signature",
    "Slow",
    "Text",
    "Thought",
    "Tokens",
    "Until",
    "least_of",
]

KEY = "stand-in-key"
WAIT_TIMEOUT_S = 180.0


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
        self._structured: deque[ReplyOrRule] = deque()
        self._structured_always: ReplyOrRule | None = None
        self._embeddings: deque[Reply] = deque()
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

    def unscript(self) -> None:
        """Forget the replies that were not asked for yet."""
        self._replies.clear()

    def when(self, contains: str, reply: Reply) -> None:
        """For ever the same reply to what contains the text; comes before the scripted ones."""
        self.rules.append((contains, reply))

    def script_structured(self, *replies: ReplyOrRule) -> None:
        """One reply for each request that carries a schema, in this order."""
        self._structured.extend(replies)

    def always_structured(self, reply: ReplyOrRule) -> None:
        """For ever the same reply, or what the callable gives, to what carries a schema."""
        self._structured_always = reply

    def script_embeddings(self, *replies: Failure | HtmlError | Hang | Cut | Raw) -> None:
        """What the next calls for embeddings get in place of vectors; Raw is the whole body."""
        self._embeddings.extend(replies)

    def load(self, script: Json) -> None:
        """The script of a JSON file, see gemini_replies.py."""
        self.key = script.get("key", self.key)
        for name, limits in script.get("models", {}).items():
            self.models[name] = (limits.get("input", 1_048_576), limits.get("output", 65_536))
        self.script(*(reply_from_json(reply) for reply in script.get("replies", [])))
        for rule in script.get("when", []):
            self.when(rule["contains"], reply_from_json(rule["reply"]))
        self.script_structured(*(reply_from_json(reply) for reply in script.get("structured", [])))
        self.script_structured(*(_of_turns(said) for said in script.get("turns", [])))
        if "structured_always" in script:
            self.always_structured(reply_from_json(script["structured_always"]))

    def asked(self, action: str = "") -> list[Recorded]:
        """The requests so far, of one action where it is named; without those that carry a schema."""
        return [
            request
            for request in self.requests
            if request.schema is None and (not action or request.action == action)
        ]

    def structured(self) -> list[Recorded]:
        """The calls of a model so far that carry a schema."""
        return [
            request
            for request in self.requests
            if request.schema is not None and request.action != "countTokens"
        ]

    async def wait_for_requests(
        self, count: int, *, action: str = "", timeout_s: float = WAIT_TIMEOUT_S
    ) -> list[Recorded]:
        """The requests, once at least so many have come whole."""
        async with asyncio.timeout(timeout_s), self._arrived:
            await self._arrived.wait_for(lambda: len(self.asked(action)) >= count)
        return self.asked(action)

    async def wait_for_structured(self, count: int, *, timeout_s: float = WAIT_TIMEOUT_S) -> list[Recorded]:
        """The requests that carry a schema, once at least so many have come whole."""
        async with asyncio.timeout(timeout_s), self._arrived:
            await self._arrived.wait_for(lambda: len(self.structured()) >= count)
        return self.structured()

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
                    if request.model:
                        self._check_model(request)
                    reply = models_page(request, self.models)
                case "generateContent" | "streamGenerateContent":
                    await self._generate(request, wire)
                    return
                case "countTokens":
                    reply = self._count(request)
                case "embedContent" | "batchEmbedContents" if self._embeddings:
                    reply = await scripted(self._embeddings.popleft(), request, wire)
                    if reply is None:
                        return
                case "embedContent":
                    self._check_model(request)
                    reply = {"embedding": embedding_of(request.body, request.model, self.models)}
                case "batchEmbedContents":
                    self._check_model(request)
                    reply = embeddings_of(request.body, request.model, self.models)
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

    def _count(self, request: Recorded) -> Json:
        self._check_model(request)
        whole = request.body.get("generateContentRequest")
        if whole is None and not request.body.get("contents"):
            raise Refused(invalid("contents is not specified"))
        if whole is not None and whole.get("model") not in {f"models/{request.model}", request.model}:
            raise Refused(invalid("generate_content_request.model: must match the request's model"))
        return {"totalTokens": count_tokens(request.body if whole is None else whole)}

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
        if request.schema is not None:
            return self._next_structured(request, request.schema)
        for contains, reply in self.rules:
            if contains in request.last_text:
                return reply
        if not self._replies:
            return Text(*echo_of(request.last_text))
        reply = self._replies.popleft()
        return reply(request) if callable(reply) else reply

    def _next_structured(self, request: Recorded, schema: Json) -> Reply:
        reply = self._structured.popleft() if self._structured else self._structured_always
        if reply is None:
            return JsonText(least_of(schema))
        return reply(request) if callable(reply) else reply


def _of_turns(said: Json) -> Callable[[Recorded], Reply]:
    """The least that fits what is asked about turns, and this of each."""

    def reply(request: Recorded) -> Reply:
        of_each = (request.schema or {})["properties"]["turns"]["items"]
        ids = of_each["properties"]["id"]["enum"]
        return JsonText({"turns": [{**least_of(of_each), "id": id, **said} for id in ids]})

    return reply


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
