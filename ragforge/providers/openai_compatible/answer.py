"""An answer assembled from the chunks of a chat completions stream."""

import json
from collections.abc import Iterator
from typing import cast

import msgspec
from msgspec import Struct, field

from ragforge.domain.errors import AnswerUnusable
from ragforge.domain.events import (
    AnswerEnded,
    CallSeen,
    FinishReason,
    ModelEvent,
    TextDelta,
    ThoughtDelta,
    UsageSeen,
)
from ragforge.domain.ids import new_id
from ragforge.domain.json import JsonObject, JsonValue, as_list, as_object, read_json, well_formed
from ragforge.domain.messages import CallRequest, ModelMessage, WebSearch, WebSource
from ragforge.domain.text_pieces import TextPieces
from ragforge.domain.usage import Usage, tokens_told

CHARS_PER_TOKEN = 4
"""For the estimate if a server counts nothing. English and code have 3 to 4."""

DONE = "[DONE]"
"""The payload that ends a stream."""

THOUGHT_FIELDS = ("reasoning_content", "reasoning")
"""llama-server, vLLM, LM Studio and DeepSeek use the first, Ollama and OpenRouter the second."""


class StreamError(Exception):
    """The server sent an error instead of a chunk; `body` is what it sent."""

    def __init__(self, body: JsonObject) -> None:
        super().__init__("error in the stream")
        self.body = body


class _Call(Struct):
    """A tool call while it arrives. `fields` and `function` are the server's other fields of it."""

    index: JsonValue
    provider_id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list[str])
    fields: JsonObject = field(default_factory=dict[str, JsonValue])

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)


class Answer:
    """Takes chunks and returns events; `end` returns the last ones."""

    def __init__(self, *, provider: str, model: str, request_chars: int) -> None:
        self._provider = provider
        self._model = model
        self._request_chars = request_chars
        self._text = TextPieces()
        self._thoughts = TextPieces()
        self._thought_field = ""
        self._details: list[JsonObject] = []
        self._calls: list[_Call] = []
        self._usage: JsonObject = {}
        self._finish: str | None = None
        self._searched = WebSearch()

    @property
    def finished(self) -> bool:
        """Whether the server gave the stop reason; only the usage can follow."""
        return self._finish is not None

    def take(self, payload: str) -> Iterator[ModelEvent]:
        """Return the events of one payload. Raises StreamError for an error, AnswerUnusable for no chunk."""
        if payload.strip() == DONE:
            return
        chunk = _decode(payload)
        if chunk.get("error"):
            raise StreamError(chunk)
        self._usage = as_object(chunk.get("usage")) or self._usage
        for choice in map(as_object, as_list(chunk.get("choices"))):
            # A server that ignores `stream` sends one complete message instead of deltas.
            delta = as_object(choice.get("delta")) or as_object(choice.get("message"))
            yield from self._take_texts(delta)
            for call in map(as_object, as_list(delta.get("tool_calls"))):
                self._take_call(call)
            self._finish = _text(choice.get("finish_reason")) or self._finish

    def _take_texts(self, delta: JsonObject) -> Iterator[ModelEvent]:
        self._take_details(delta)
        cited = [as_object(as_object(note).get("url_citation")) for note in as_list(delta.get("annotations"))]
        pages = [WebSource(_text(page.get("title")), _text(page.get("url"))) for page in cited]
        self._searched = self._searched.joined(WebSearch(sources=tuple(pages)))
        for name in THOUGHT_FIELDS:
            if thought := _text(delta.get(name)):
                self._thought_field = name
                self._thoughts.add(thought)
                yield ThoughtDelta(thought)
                break  # some servers send the same under both names
        for name in ("content", "refusal"):
            if text := _text_of_parts(delta.get(name)):
                self._text.add(text)
                yield TextDelta(text)

    def _take_details(self, delta: JsonObject) -> None:
        """OpenRouter's `reasoning_details`: signed thoughts in pieces, to be sent back complete."""
        for piece in map(as_object, as_list(delta.get("reasoning_details"))):
            place = (piece.get("type"), piece.get("index"))
            whole = next((old for old in self._details if (old.get("type"), old.get("index")) == place), None)
            if whole is None or piece.get("index") is None:
                self._details.append(dict(piece))
                continue
            for name, value in piece.items():
                if name in ("text", "summary", "data"):
                    whole[name] = _text(whole.get(name)) + _text(value)
                elif value is not None:
                    whole[name] = value

    def _take_call(self, delta: JsonObject) -> None:
        function = as_object(delta.get("function"))
        arguments = function.get("arguments")
        # Ollama's own form has an object where OpenAI's has text.
        piece = arguments if isinstance(arguments, str) else json.dumps(arguments) if arguments else ""
        name, provider_id = _text(function.get("name")), _text(delta.get("id"))
        call = self._call_for(delta.get("index"), provider_id, name, piece)
        call.name = call.name or name
        call.provider_id = call.provider_id or provider_id
        if piece:
            call.pieces.append(piece)
        known = ("index", "id", "type", "function")
        # Signatures of thoughts are in fields that differ by server, and must be sent back.
        call.fields |= {key: value for key, value in delta.items() if key not in known}

    def _call_for(self, index: JsonValue, provider_id: str, name: str, piece: str) -> _Call:
        """Return the call of a delta: by index, except for servers that give every call the same one."""
        old = next((call for call in reversed(self._calls) if index is None or call.index == index), None)
        if old is None or (name and _is_another(old, provider_id, name, piece)):
            old = _Call(index)
            self._calls.append(old)
        return old

    def end(self) -> Iterator[ModelEvent]:
        """Return the calls, the usage and the end, once the stream is over."""
        taken: set[str] = set()
        wire: list[JsonValue] = []
        requests: list[CallRequest] = []
        for call in self._calls:
            request = _request(call, taken)
            taken.add(request.provider_id)
            requests.append(request)
            # Arguments that are not JSON would make the server reject every later request.
            arguments = call.arguments if _is_strict(call.arguments) else json.dumps(request.args)
            function: JsonObject = {"name": request.name or "unnamed", "arguments": arguments}
            wire.append({**call.fields, "id": request.provider_id, "type": "function", "function": function})
            yield CallSeen(request)
        yield self._usage_seen()
        finish, detail = self._finish_reason()
        # The halves of a character may have come in two pieces.
        text, thoughts = well_formed(self._text.joined()), well_formed(self._thoughts.joined())
        native = self._native(text, thoughts, wire)
        message = ModelMessage(
            self._provider, self._model, text, tuple(requests), native, thoughts, self._searched
        )
        yield AnswerEnded(message, finish, detail)

    def _native(self, text: str, thoughts: str, calls: list[JsonValue]) -> JsonObject | None:
        """Return what must be sent back verbatim; without calls it is the text, which is stored once."""
        if not calls:
            return None
        native: JsonObject = {"role": "assistant", "content": text or None, "tool_calls": calls}
        # Between calls a model continues its thought; afterwards servers want none of it back.
        if thoughts:
            native[self._thought_field] = thoughts
        if self._details:
            native["reasoning_details"] = cast(list[JsonValue], self._details)
        return native

    def _usage_seen(self) -> UsageSeen:
        usage = _usage(self._usage)
        if usage.total_tokens:
            return UsageSeen(usage)
        written = sum(len(call.arguments) + len(call.name) for call in self._calls)
        return UsageSeen(
            Usage(
                input_tokens=_tokens(self._request_chars),
                output_tokens=_tokens(self._text.chars + written),
                thought_tokens=_tokens(self._thoughts.chars),
            ),
            estimated=True,
        )

    def _finish_reason(self) -> tuple[FinishReason, str]:
        match self._finish:
            case None | "abort":
                return FinishReason.INCOMPLETE, ""
            case "length":
                return FinishReason.LENGTH, ""
            case "content_filter":
                return FinishReason.BLOCKED, "content_filter"
            case "tool_calls" | "function_call" if not self._calls:
                return FinishReason.MALFORMED, "A tool call was announced, but none came."
            case _ if self._calls:  # several servers say "stop" although there are calls
                return FinishReason.CALLS, ""
            case "stop":
                return FinishReason.STOP, ""
            case other:
                return FinishReason.STOP, other


def _is_another(old: _Call, provider_id: str, name: str, piece: str) -> bool:
    """Whether a delta with a name starts another call than the one at its index."""
    if old.provider_id and provider_id and old.provider_id != provider_id:
        return True
    if old.name and name != old.name:
        return True
    # Some servers repeat the name with each piece; only after complete arguments is it a new call.
    return bool(piece) and _is_object(old.arguments)


def _request(call: _Call, taken: set[str]) -> CallRequest:
    """Return the call for the rest of the program; a missing or repeated id is replaced by ours."""
    own_id = new_id()
    provider_id = own_id if call.provider_id in ("", *taken) else call.provider_id
    malformed = "" if call.name else "the call has no name"
    args: JsonObject = {}
    try:
        decoded: JsonValue = read_json(call.arguments) if call.arguments.strip() else {}
    except ValueError as error:
        malformed = malformed or f"the arguments are not JSON: {error}"
    else:
        if isinstance(decoded, dict):
            args = decoded
        else:
            malformed = malformed or "the arguments are not JSON object"
    return CallRequest(own_id, call.name, {} if malformed else args, provider_id, malformed)


def _usage(told: JsonObject) -> Usage:
    """Return the reported tokens. OpenAI counts thoughts as output, we count them separately."""
    thoughts = tokens_told(as_object(told.get("completion_tokens_details")).get("reasoning_tokens"))
    cached = tokens_told(as_object(told.get("prompt_tokens_details")).get("cached_tokens"))
    written = tokens_told(told.get("completion_tokens"))
    return Usage(
        input_tokens=tokens_told(told.get("prompt_tokens")),
        cached_tokens=cached,
        output_tokens=max(0, written - thoughts),
        thought_tokens=thoughts,
    )


def _tokens(chars: int) -> int:
    return -(-chars // CHARS_PER_TOKEN)


def _decode(payload: str) -> JsonObject:
    try:
        chunk = read_json(payload, keep_halves=True)
    except ValueError as error:
        raise AnswerUnusable(f"The answer contains something that is not JSON: {payload[:80]!r}.") from error
    if not isinstance(chunk, dict):
        raise AnswerUnusable(f"The answer contains an invalid chunk: {payload[:80]!r}.")
    return chunk


def _is_strict(arguments: str) -> bool:
    """Whether every server can read them; many reject half a surrogate pair in an escape."""
    try:
        return isinstance(msgspec.json.decode(arguments), dict)
    except (msgspec.DecodeError, RecursionError):
        return False


def _is_object(text: str) -> bool:
    try:
        return isinstance(read_json(text), dict)
    except ValueError:
        return False


def _text_of_parts(value: JsonValue) -> str:
    """Return the text; some servers send a list of parts, as in requests."""
    if isinstance(value, list):
        return "".join(_text(as_object(part).get("text")) for part in value)
    return _text(value)


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else ""
