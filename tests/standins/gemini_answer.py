"""The chunks of an answer of the Gemini stand-in, made of the items of its script."""

from __future__ import annotations

import asyncio
import base64
import itertools
from collections.abc import AsyncIterator
from typing import Any

from tests.standins.gemini_checks import Issued, count_tokens
from tests.standins.gemini_replies import (
    COUNTED,
    Blocked,
    Call,
    Calls,
    Cut,
    ErrorInStream,
    Failure,
    Finish,
    Hang,
    Item,
    Json,
    NoFinishReason,
    Raw,
    Searched,
    Signature,
    Slow,
    Text,
    Thought,
    Tokens,
    Until,
)
from tests.standins.gemini_wire import Recorded, Wire


class Answer:
    """The chunks of one answer, made of its items."""

    def __init__(
        self, request: Recorded, items: tuple[Item, ...], issued: Issued, ids: itertools.count[int]
    ) -> None:
        self.issued = issued
        self._items = items
        self._ids = ids
        self._prompt_tokens = count_tokens(request.body)
        self._thoughts = self._written = 0
        self._with_usage = not any(isinstance(i, Finish | NoFinishReason) and i.usage is None for i in items)
        self._response_id = f"response-{next(ids)}"

    async def chunks(self, wire: Wire | None) -> AsyncIterator[Json | str | bytes]:
        for item in self._items:
            match item:
                case Slow(delay_s):
                    await asyncio.sleep(delay_s)
                case Until(event):
                    await event.wait()
                case Hang():
                    await asyncio.Event().wait()
                case Cut(how):
                    if wire is not None:
                        await wire.cut(how)
                    return
                case Raw(chunk):
                    yield chunk
                case ErrorInStream(code, status, message):
                    yield Failure(code, status, message).to_json()
                    return
                case Blocked(reason):
                    yield self._chunk(None, promptFeedback={"blockReason": reason})
                case _:
                    for chunk in self._content_chunks(item):
                        yield chunk

    def _content_chunks(self, item: Item) -> list[Json]:
        match item:
            case Text(chunks, signature):
                last = len(chunks) - 1
                return [
                    self._parts([self._text(chunk, signature if index == last else "")])
                    for index, chunk in enumerate(chunks)
                ]
            case Thought(chunks):
                self._thoughts += sum(count_tokens(chunk) for chunk in chunks)
                return [self._parts([{"text": chunk, "thought": True}]) for chunk in chunks]
            case Calls(calls):
                return [self._parts([self._call(call, first=call is calls[0]) for call in calls])]
            case Searched():
                return self._searched(item)
            case Signature(signature):
                return [self._parts([self._text("", signature or self._new_signature())])]
            case Finish(reason, message, usage):
                candidate: Json = {"finishReason": reason, "index": 0}
                if reason in {"STOP", "MAX_TOKENS"}:
                    candidate["content"] = {"role": "model", "parts": [{"text": ""}]}
                if message:
                    candidate["finishMessage"] = message
                return [self._chunk(candidate, usage=usage)]
            case NoFinishReason(usage):
                return [] if usage is None else [self._chunk(None, usage=usage)]
            case _:
                raise AssertionError(f"not within an answer: {item!r}")

    def _searched(self, item: Searched) -> list[Json]:
        """The call and its response as parts, then what the answer rests on."""
        call_id = f"search-{next(self._ids)}"
        asked: Json = {"toolType": "GOOGLE_SEARCH_WEB", "id": call_id}
        parts: list[Json] = [
            self._sign(
                {"toolCall": {**asked, "args": {"queries": list(item.queries)}}}, self._new_signature()
            ),
            {"toolResponse": {**asked, "response": {"search_suggestions": "<div>...</div>"}}},
        ]
        grounding: Json = {
            "webSearchQueries": list(item.queries),
            "groundingChunks": [{"web": {"uri": uri, "title": title}} for title, uri in item.pages],
            "groundingSupports": [
                {"segment": {"endIndex": 5, "text": "..."}, "groundingChunkIndices": [0]}
                for _ in item.pages[:1]
            ],
            "searchEntryPoint": {"renderedContent": "<div>...</div>"},
        }
        return [self._parts(parts), self._chunk({"index": 0, "groundingMetadata": grounding}, usage=_EARLY)]

    def _text(self, text: str, signature: str) -> Json:
        self._written += count_tokens(text)
        return self._sign({"text": text}, signature)

    def _call(self, call: Call, *, first: bool) -> Json:
        self._written += count_tokens(call.name) + count_tokens(dict(call.args))
        asked: Json = {"name": call.name, "args": dict(call.args)}
        call_id = f"call-{next(self._ids)}" if call.id is None else call.id
        if call_id:
            asked["id"] = call_id
        made = self._new_signature() if first else ""
        return self._sign({"functionCall": asked}, made if call.signature is None else call.signature)

    def _sign(self, part: Json, signature: str) -> Json:
        if signature:
            part["thoughtSignature"] = signature
            self.issued.signed.append(part)
        return part

    def _new_signature(self) -> str:
        # Bytes that give "+" and "/", where alphabets differ.
        return base64.b64encode(b"\xfb\xff\xbe" + f"{self._response_id}.{next(self._ids)}".encode()).decode()

    def _parts(self, parts: list[Json]) -> Json:
        return self._chunk({"content": {"role": "model", "parts": parts}, "index": 0}, usage=_EARLY)

    def _chunk(self, candidate: Json | None, *, usage: Tokens | None = COUNTED, **more: Any) -> Json:
        chunk: Json = {"modelVersion": self.issued.model, "responseId": self._response_id, **more}
        if candidate is not None:
            chunk["candidates"] = [candidate]
        if usage == COUNTED:
            usage = Tokens(prompt=self._prompt_tokens, candidates=self._written, thoughts=self._thoughts)
        if usage == _EARLY:  # as the real one: no candidates' count in early chunks
            usage = Tokens(prompt=self._prompt_tokens, thoughts=self._thoughts)
        if self._with_usage and usage is not None:
            chunk["usageMetadata"] = usage.to_json()
        return chunk


_EARLY = Tokens(prompt=-2)


def joined(chunks: list[Json | str | bytes]) -> Json:
    """What generateContent answers: the chunks of the stream as one."""
    whole: Json = {}
    parts: list[Json] = []
    for chunk in chunks:
        assert isinstance(chunk, dict)
        whole.update(chunk)
        for candidate in chunk.get("candidates", []):
            parts += [part for part in candidate.get("content", {}).get("parts", []) if part != {"text": ""}]
            whole["candidates"] = [{**candidate, "content": {"role": "model", "parts": parts}}]
    return whole
