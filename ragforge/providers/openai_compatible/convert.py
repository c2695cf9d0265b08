"""Convert the conversation for chat completions: a list of messages with that protocol's roles.

A model's own message is sent back verbatim to the same provider and model; any other is rebuilt.
What a strict server would reject is never sent: calls without an answer, answers without a call, two
user messages in a row, images within a tool's answer.
"""

import asyncio
import base64
import json
from collections.abc import Iterable
from typing import cast

from msgspec.structs import replace

from ragforge.domain.errors import StoreError
from ragforge.domain.json import JsonObject, JsonValue, as_list
from ragforge.domain.messages import (
    CallResult,
    CommandPart,
    ImagePart,
    ModelMessage,
    Part,
    TextPart,
    ToolMessage,
    ToolSpec,
    UserMessage,
    command_text,
)
from ragforge.providers.base import LoadBlob, ModelRequest
from ragforge.providers.openai_compatible.json_answers import response_format, told

IMAGE_CHARS = 4_000
NOT_ANSWERED = "There is no result: the call was interrupted before it finished."


async def to_chat(
    request: ModelRequest,
    *,
    provider: str,
    model: str,
    load_blob: LoadBlob,
    takes_schema: bool = True,
    search_tool: str = "",
) -> JsonObject:
    """Return the body of a streaming request.

    takes_schema: false puts a schema into words instead of a field. search_tool: the type of the service's
    own web search, beside our tools.
    """
    schema = request.json_schema
    if schema is not None and not takes_schema:
        request = replace(request, system=told(request.system, schema))
    body: JsonObject = {
        "model": model,
        "messages": cast(
            list[JsonValue],
            await _Messages(provider, model, load_blob).of(request),
        ),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if schema is not None and takes_schema:
        body["response_format"] = response_format(schema)
    if request.tools and schema is None:
        own: list[JsonValue] = [{"type": search_tool}] if search_tool else []
        body["tools"] = [*(_tool(spec) for spec in request.tools), *own]
    return body


def chars_of(body: JsonObject) -> int:
    """Return the length of the input, for an estimate; an image counts as IMAGE_CHARS, whatever its size."""
    beside = [body.get("tools", ""), body.get("response_format", "")]
    chars = len(json.dumps(beside, ensure_ascii=False))
    for message in cast(list[JsonObject], as_list(body["messages"])):
        chars += len(json.dumps(message.get("tool_calls", ""), ensure_ascii=False))
        for part in _as_parts(message.get("content") or ""):
            chars += len(str(part["text"])) if part["type"] == "text" else IMAGE_CHARS
    return chars


def _tool(spec: ToolSpec) -> JsonValue:
    function: JsonObject = {
        "name": spec.name,
        "description": spec.description,
        "parameters": spec.parameters,
    }
    return {"type": "function", "function": function}


class _Messages:
    """Builds the list; `_open` has the calls of the last model message that wait for their answers."""

    def __init__(self, provider: str, model: str, load_blob: LoadBlob) -> None:
        self._provider = provider
        self._model = model
        self._load_blob = load_blob
        self._list: list[JsonObject] = []
        self._open: dict[str, str] = {}

    async def of(self, request: ModelRequest) -> list[JsonObject]:
        if request.system:
            self._list.append({"role": "system", "content": request.system})
        for message in request.messages:
            match message:
                case UserMessage(parts):
                    self._close_calls()
                    await self._add_user(parts)
                case ModelMessage():
                    self._close_calls()
                    self._add_model(message)
                case ToolMessage(results):
                    await self._add_results(results)
        self._close_calls()
        return self._list

    async def _add_user(self, parts: Iterable[Part]) -> None:
        """Add the parts as a message, or to the last one: templates require that roles alternate."""
        content = [await self._part(part) for part in parts]
        last = self._list[-1] if self._list else {}
        if last.get("role") == "user":
            content = [*_as_parts(last["content"]), *content]
            self._list.pop()
        texts = [part["text"] for part in content if part["type"] == "text"]
        # Many servers accept only plain text, so a list is only sent if necessary.
        plain = "\n\n".join(str(text) for text in texts)
        only_text = len(texts) == len(content)
        self._list.append({"role": "user", "content": plain if only_text else cast(list[JsonValue], content)})

    async def _part(self, part: Part) -> JsonObject:
        if isinstance(part, TextPart):
            return {"type": "text", "text": part.text}
        if isinstance(part, CommandPart):
            return {"type": "text", "text": command_text(part)}
        try:
            data = await self._load_blob(part.blob)
        except StoreError:
            # One lost image must not make the whole conversation unusable.
            return {"type": "text", "text": f"[the image {part.name or part.blob[:12]} is no longer stored]"}
        encoded = await asyncio.to_thread(base64.b64encode, data)
        return {"type": "image_url", "image_url": {"url": f"data:{part.mime};base64,{encoded.decode()}"}}

    def _add_model(self, message: ModelMessage) -> None:
        same = message.provider == self._provider and message.model == self._model
        native = message.native if same and message.native is not None else _model_message(message)
        if not native.get("content") and not native.get("tool_calls"):
            return  # it said nothing, and servers reject an empty message
        last = self._list[-1] if self._list else {}
        if last.get("role") == "assistant":
            # An answer that was cut, then continued: templates want it as one message.
            texts = [str(text) for text in (last.get("content"), native.get("content")) if text]
            native = {**native, "content": "\n\n".join(texts)}
            self._list.pop()
        self._list.append(native)
        wire_ids = [str(cast(JsonObject, call)["id"]) for call in as_list(native.get("tool_calls"))]
        self._open = dict(zip((call.id for call in message.calls), wire_ids, strict=False))

    async def _add_results(self, results: tuple[CallResult, ...]) -> None:
        images: list[ImagePart] = []
        orphans: list[CallResult] = []
        for result in results:
            wire_id = self._open.pop(result.call_id, None)
            if wire_id is None:
                orphans.append(result)
                continue
            self._list.append({"role": "tool", "tool_call_id": wire_id, "content": result.text})
            images += result.images
        self._close_calls()
        if images:
            # The protocol has no images in a tool's answer; the next message may contain them.
            await self._add_user((TextPart("Images from the tools above:"), *images))
        for result in orphans:
            await self._add_user((TextPart(f"Result of {result.name}:\n{result.text}"), *result.images))

    def _close_calls(self) -> None:
        """Add the missing answers: every call must be answered before the next message."""
        for wire_id in self._open.values():
            self._list.append({"role": "tool", "tool_call_id": wire_id, "content": NOT_ANSWERED})
        self._open = {}


def _model_message(message: ModelMessage) -> JsonObject:
    """Rebuild the message. Our ids are used as theirs: unique, and short enough for every service."""
    made: JsonObject = {"role": "assistant", "content": message.text or None}
    if message.calls:
        made["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(call.args, ensure_ascii=False)},
            }
            for call in message.calls
        ]
    return made


def _as_parts(content: JsonValue) -> list[JsonObject]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return cast(list[JsonObject], as_list(content))
