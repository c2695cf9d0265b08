"""Ask a model for one structured answer, complete or not at all."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias, TypeVar

import msgspec
from msgspec import Struct, field

from ragforge.domain.errors import AnswerUnusable
from ragforge.domain.events import FinishReason
from ragforge.domain.json import JsonObject, JsonValue
from ragforge.domain.messages import TextPart, UserMessage
from ragforge.domain.usage import Usage
from ragforge.providers.base import ModelRequest, Provider, read_whole

Read = TypeVar("Read")


class ModelReply(Struct, frozen=True):
    """A model's text and its cost. model: `name:model`. flaw: why the text is incomplete."""

    text: str
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    flaw: str = ""


Ask: TypeAlias = Callable[[ModelRequest], Awaitable[ModelReply]]
"""Asks a model. Raises ModelError if there is no answer."""


def asking(provider: Provider) -> Ask:
    """Return a function that asks this provider's model."""

    async def ask(request: ModelRequest) -> ModelReply:
        answer = await read_whole(provider, request)
        flaw = ""
        if answer.finish is not FinishReason.STOP:
            flaw = f"{answer.finish}: {answer.detail}" if answer.detail else answer.finish
        return ModelReply(answer.text, answer.usage, f"{provider.name}:{provider.model}", flaw)

    return ask


def request_for(system: str, blocks: Mapping[str, str], schema: JsonObject) -> ModelRequest:
    """Return a request with each text between tags of its name; no text can close its tag."""
    suffix, number = "", 1
    while any(f"</{name}{suffix}>" in text for name in blocks for text in blocks.values()):
        number += 1
        suffix = f"-{number}"
    shown = "\n\n".join(
        f"<{name}{suffix}>\n{text.removesuffix(chr(10))}\n</{name}{suffix}>"
        for name, text in blocks.items()
        if text
    )
    return ModelRequest(system, (UserMessage((TextPart(shown),)),), json_schema=schema)


def read_answer(answer: ModelReply, type: type[Read]) -> Read:
    """Return the answer as this type. Raises AnswerUnusable if it is invalid or incomplete."""
    if answer.flaw:
        raise AnswerUnusable(f"{answer.model} gave an incomplete answer ({answer.flaw}).")
    # Without schema support, models write words or a fence around the object.
    start, end = answer.text.find("{"), answer.text.rfind("}")
    try:
        return msgspec.json.decode(answer.text[start : end + 1], type=type)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        raise AnswerUnusable(f"{answer.model} gave an answer that cannot be read: {error}.") from error


def closed(properties: Mapping[str, JsonObject]) -> JsonObject:
    """Return the schema of an object with exactly these properties, all required."""
    required: list[JsonValue] = list(properties)
    fields: JsonObject = dict(properties.items())
    return {"type": "object", "properties": fields, "required": required, "additionalProperties": False}
