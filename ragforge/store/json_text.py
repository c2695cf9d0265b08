"""Text and JSON as every store keeps them."""

import json
from collections.abc import Sequence
from typing import Any

from msgspec.structs import astuple

from ragforge.domain.json import well_formed, well_formed_json
from ragforge.domain.messages import (
    CallRequest,
    ImagePart,
    ModelMessage,
    Parts,
    WebSearch,
    WebSource,
    parts_from_json,
    parts_to_json,
)


def storable(text: str) -> str:
    """Return the text with U+FFFD for what no database can store (halves of a surrogate pair)."""
    return well_formed(text)


def to_json(value: object) -> str:
    """Return compact JSON that decodes to the same value, including halves of a surrogate pair."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":"))
    return text


def from_json(text: str) -> Any:
    """Decode JSON that `to_json` wrote, well-formed whatever it was given."""
    found = json.loads(text)
    # Only halves of a pair are written as escapes, beside control characters, which have no letter there.
    return well_formed_json(found) if "\\ud" in text or "NaN" in text or "Infinity" in text else found


def user_to_json(parts: Parts) -> str:
    """Return the user's message as JSON."""
    return to_json(parts_to_json(parts))


def user_from_json(text: str) -> Parts:
    """The inverse of `user_to_json`; parts of an earlier version that cannot be sent are replaced."""
    return parts_from_json(from_json(text))


def message_to_json(message: ModelMessage) -> str:
    """Return a model's message as JSON, with everything its provider needs back."""
    searched = message.searched
    sources = [[source.title, source.url] for source in searched.sources]
    return to_json(
        {
            "text": message.text,
            "thoughts": message.thoughts,
            "native": message.native,
            "calls": [
                [call.id, call.name, call.args, call.provider_id, call.malformed] for call in message.calls
            ],
            **({"searched": [searched.queries, sources]} if searched else {}),
        }
    )


def message_from_json(provider: str, model: str, text: str) -> ModelMessage:
    """The inverse of `message_to_json`, as `user_from_json`."""
    found: dict[str, Any] = from_json(text)
    queries, sources = found.get("searched", ((), ()))
    return ModelMessage(
        provider=provider,
        model=model,
        text=found["text"],
        calls=tuple(CallRequest(*call) for call in found["calls"]),
        native=found["native"],
        thoughts=found["thoughts"],
        searched=WebSearch(tuple(queries), tuple(WebSource(*source) for source in sources)),
    )


def images_to_json(images: Sequence[ImagePart]) -> str:
    """Return the images of a tool's answer as JSON."""
    return to_json([list(astuple(image)) for image in images])


def images_from_json(text: str) -> tuple[ImagePart, ...]:
    """The inverse of `images_to_json`."""
    return tuple(ImagePart(*image) for image in from_json(text))
