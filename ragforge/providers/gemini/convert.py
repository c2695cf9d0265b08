"""Convert the conversation for Gemini: contents as plain JSON, user and model in turn.

A model's own content is sent back verbatim to the same model; for any other it is rebuilt from text and
calls. What the service would reject is never sent: two contents of one role in a row, calls without
answers, answers without calls, empty parts.
"""

import base64
from typing import cast

from msgspec import Struct

from ragforge.domain.errors import StoreError
from ragforge.domain.json import JsonObject, JsonValue
from ragforge.domain.messages import (
    CallResult,
    CommandPart,
    Message,
    ModelMessage,
    Part,
    Parts,
    TextPart,
    ToolMessage,
    ToolSpec,
    UserMessage,
    command_text,
)
from ragforge.providers.base import LoadBlob, ModelRequest

SKIP_SIGNATURE = base64.b64encode(b"skip_thought_signature_validator").decode()
"""Replaces the signature of a call made by another model, or by none."""
NOT_ANSWERED = "There is no result: the call was interrupted before it finished."
GO_ON = "Go on."
EARLIER = "[Earlier messages were left out.]"
EMPTY = "[empty message]"


async def to_body(
    request: ModelRequest,
    *,
    provider: str,
    model: str,
    load_blob: LoadBlob,
    thinking: JsonObject,
    web_search: bool = False,
) -> JsonObject:
    """Return the body of generateContent, in the REST form. web_search: Google's own, beside our tools."""
    contents = await to_contents(request.messages, provider=provider, model=model, load_blob=load_blob)
    body: JsonObject = {"contents": cast(JsonValue, contents)}
    if request.system:
        body["systemInstruction"] = {"parts": [{"text": clean(request.system)}]}
    # With most models, a schema and tools exclude each other.
    if request.tools and request.json_schema is None:
        body["tools"] = [{"functionDeclarations": [_declaration(spec) for spec in request.tools]}]
        if web_search:
            # https://ai.google.dev/gemini-api/docs/tool-combination
            body["tools"].append({"googleSearch": {}})
            body["toolConfig"] = {"includeServerSideToolInvocations": True}
    config: JsonObject = {"thinkingConfig": thinking} if thinking else {}
    if request.json_schema is not None:
        config |= {"responseMimeType": "application/json", "responseJsonSchema": request.json_schema}
    if config:
        body["generationConfig"] = config
    return body


def to_thinking(level: str | None, *, show_thoughts: bool) -> JsonObject:
    """Return how much to think, and whether to report thoughts; empty for the model's default, unreported."""
    thinking: JsonObject = {"includeThoughts": True} if show_thoughts else {}
    if level:
        thinking["thinkingLevel"] = level.upper()
    return thinking


async def to_contents(
    messages: tuple[Message, ...], *, provider: str, model: str, load_blob: LoadBlob
) -> list[JsonObject]:
    """Return the contents of a request, starting and ending with the user's side."""
    building = _Contents(provider, model, load_blob)
    for message in messages:
        match message:
            case UserMessage(parts):
                building.close_calls()
                await building.add_user(parts)
            case ModelMessage():
                building.close_calls()
                building.add_model(message)
            case ToolMessage(results):
                await building.add_results(results)
    return building.finished()


def _declaration(spec: ToolSpec) -> JsonObject:
    return {"name": spec.name, "description": spec.description, "parametersJsonSchema": spec.parameters}


class _Asked(Struct, frozen=True):
    """A call that was sent and waits for its answer; `sent_id` is empty if the service gave none."""

    name: str
    sent_id: str


class _Contents:
    """Builds the list; `_open` has the calls of the newest model content, by our ids, in order."""

    def __init__(self, provider: str, model: str, load_blob: LoadBlob) -> None:
        self._provider = provider
        self._model = model
        self._load_blob = load_blob
        self._list: list[tuple[str, list[JsonObject]]] = []
        self._open: dict[str, _Asked] = {}

    def finished(self) -> list[JsonObject]:
        self.close_calls()
        if not self._list or self._list[-1][0] != "user":
            self._add("user", [{"text": GO_ON}])
        return [{"role": role, "parts": cast(list[JsonValue], parts)} for role, parts in self._list]

    async def add_user(self, parts: Parts) -> None:
        made = [await self._part(part) for part in parts if part != TextPart("")]
        self._add("user", made or [{"text": EMPTY}])

    def add_model(self, message: ModelMessage) -> None:
        native = _native_parts(message, self._provider, self._model)
        parts = native or _made_parts(message)
        if not parts:
            return
        if not self._list:
            self._add("user", [{"text": EARLIER}])
        self._add("model", parts)
        sent = [cast(JsonObject, part["functionCall"]) for part in parts if "functionCall" in part]
        for call, asked in zip(message.calls, sent, strict=False):
            self._open[call.id] = _Asked(call.name, str(asked.get("id", "")))

    async def add_results(self, results: tuple[CallResult, ...]) -> None:
        by_id = {result.call_id: result for result in results}
        answers = [_answer(asked, by_id.pop(call_id, None)) for call_id, asked in self._open.items()]
        self._open = {}
        self._add("user", answers)
        for result in by_id.values():
            self._add(
                "user", [{"text": clean(f"Result of an earlier call of {result.name}:\n{result.text}")}]
            )
        for result in results:
            for image in result.images:
                self._add("user", [{"text": f"Image from {result.name}:"}, await self._part(image)])

    def close_calls(self) -> None:
        """Add the missing answers: a call without an answer is rejected."""
        answers = [_answer(asked, None) for asked in self._open.values()]
        self._open = {}
        self._add("user", answers)

    def _add(self, role: str, parts: list[JsonObject]) -> None:
        if not parts:
            return
        if self._list and self._list[-1][0] == role:
            self._list[-1][1].extend(parts)
        else:
            self._list.append((role, list(parts)))

    async def _part(self, part: Part) -> JsonObject:
        if isinstance(part, TextPart):
            return {"text": clean(part.text)}
        if isinstance(part, CommandPart):
            return {"text": clean(command_text(part))}
        try:
            blob = await self._load_blob(part.blob)
        except StoreError:
            # One lost image must not make the whole conversation unusable.
            return {"text": f"[image {clean(part.name) or part.blob[:12]}: no longer stored]"}
        return {"inlineData": {"mimeType": part.mime, "data": base64.b64encode(blob).decode()}}


def _native_parts(message: ModelMessage, provider: str, model: str) -> list[JsonObject]:
    """Return the parts as this model sent them; empty if they are another's, or not stored."""
    if message.native is None or (message.provider, message.model) != (provider, model):
        return []
    parts = message.native.get("parts")
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def _made_parts(message: ModelMessage) -> list[JsonObject]:
    """Rebuild the parts. Only the first of parallel calls carries a signature."""
    parts: list[JsonObject] = [{"text": clean(message.text)}] if message.text else []
    for index, call in enumerate(message.calls):
        part: JsonObject = {
            "functionCall": {"id": call.provider_id or call.id, "name": call.name, "args": call.args}
        }
        if index == 0:
            part["thoughtSignature"] = SKIP_SIGNATURE
        parts.append(part)
    return parts


def _answer(asked: _Asked, result: CallResult | None) -> JsonObject:
    if result is None:
        response: JsonObject = {"error": NOT_ANSWERED}
    else:
        response = {"error" if result.failed else "output": clean(result.text)}
    answer: JsonObject = {"name": asked.name, "response": response}
    if asked.sent_id:
        answer["id"] = asked.sent_id
    return {"functionResponse": answer}


def clean(text: str) -> str:
    """Return valid Unicode: half a surrogate, from a terminal or a file name, becomes `?`."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
