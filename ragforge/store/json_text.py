"""Text and JSON as every store keeps them."""

import json
from collections.abc import Sequence
from typing import Any

from ragforge.domain.messages import (
    CallRequest,
    ImagePart,
    ModelMessage,
    Parts,
    parts_from_json,
    parts_to_json,
)


def storable(text: str) -> str:
    """The text with what no database can hold (halves of a surrogate pair) as question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def to_json(value: object) -> str:
    """Compact JSON that reads back as the same value, halves of a surrogate pair included."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))
    return text


def user_to_json(parts: Parts) -> str:
    """The person's message as JSON."""
    return to_json(parts_to_json(parts))


def user_from_json(text: str) -> Parts:
    """The inverse of `user_to_json`."""
    return parts_from_json(json.loads(text))


def message_to_json(message: ModelMessage) -> str:
    """What a model said, with everything its provider wants back."""
    return to_json(
        {
            "text": message.text,
            "thoughts": message.thoughts,
            "native": message.native,
            "calls": [
                [call.id, call.name, call.args, call.provider_id, call.malformed] for call in message.calls
            ],
        }
    )


def message_from_json(text: str, *, provider: str, model: str) -> ModelMessage:
    """The inverse of `message_to_json`."""
    found: dict[str, Any] = json.loads(text)
    return ModelMessage(
        provider=provider,
        model=model,
        text=found["text"],
        calls=tuple(CallRequest(*call) for call in found["calls"]),
        native=found["native"],
        thoughts=found["thoughts"],
    )


def images_to_json(images: Sequence[ImagePart]) -> str:
    """Images of a tool's answer as JSON."""
    return to_json([[image.blob, image.mime, image.name] for image in images])


def images_from_json(text: str) -> tuple[ImagePart, ...]:
    """The inverse of `images_to_json`."""
    return tuple(ImagePart(*image) for image in json.loads(text))
