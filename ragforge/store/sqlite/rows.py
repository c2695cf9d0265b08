"""How values of the domain stand in rows."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from ragforge.domain.errors import Conflict
from ragforge.domain.messages import (
    CallRequest,
    ImagePart,
    ModelMessage,
    Parts,
    parts_from_json,
    parts_to_json,
)
from ragforge.domain.usage import Usage
from ragforge.store.sqlite.connection import Connection, Row

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_ms(moment: datetime) -> int:
    """Milliseconds since 1970; a moment without a zone is local time."""
    return (moment.astimezone(UTC) - EPOCH) // timedelta(milliseconds=1)


def from_ms(ms: int) -> datetime:
    """The inverse of `to_ms`, in UTC."""
    return EPOCH + timedelta(milliseconds=ms)


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


def usage_values(usage: Usage) -> tuple[int, int, int, int]:
    """The four counts in the order of the columns."""
    return (usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.thought_tokens)


def one(connection: Connection, sql: str, values: Sequence[Any] = ()) -> Row | None:
    """The first row, or None."""
    return next(connection.execute(sql, values), None)


def new_key(connection: Connection) -> int:
    """The next key of a turn or tool call; call it within the transaction that uses it."""
    (key,) = next(
        connection.execute(
            "SELECT max((SELECT coalesce(max(key), 0) FROM turn), "
            "(SELECT coalesce(max(key), 0) FROM tool_call)) + 1"
        )
    )
    return key


def key_of(connection: Connection, table: str, identifier: str) -> int:
    """The key of what has this id. Raises Conflict when it is not stored (any more)."""
    # The table's name is one of ours, never something from outside.
    row = one(connection, f"SELECT key FROM {table} WHERE id = ?", (identifier,))
    if row is None:
        raise Conflict(f"The {table} {identifier} is not in the store; it may have been deleted.")
    return row[0]
