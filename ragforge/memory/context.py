"""The conversation for the model: the path to the head as messages, made to fit its context window."""

import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import assert_never

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ragforge.domain.json import JsonObject
from ragforge.domain.messages import (
    CallResult,
    CommandPart,
    ImagePart,
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
from ragforge.domain.turns import NOT_ENDED, Step, ToolCall, Turn

BYTES_PER_TOKEN = 3
"""A safe value for code and prose in any script: where each character is a token, most have three bytes in
UTF-8."""

IMAGE_TOKENS = 1_600
MESSAGE_TOKENS = 8
"""The tokens of roles and separators."""

CUT_SHARE = 0.2
"""What is too long is cut by whole multiples of this share of the limit, so that the next steps cut at the
same position, and the providers' prompt caches recognize the beginning."""

REFERENCE_FROM_BYTES = 400
"""Shorter results are not worth a reference."""


def history_messages(
    turns: Sequence[Turn], steps: Iterable[Step], calls: Iterable[ToolCall]
) -> list[Message]:
    """Return the turns as messages, oldest first.

    Every call has an answer; an unfinished call says so. A partial model answer is plain text, and is left
    out once a later step of its turn has replaced it.
    """
    steps_of: dict[str, list[Step]] = {turn.id: [] for turn in turns}
    for step in steps:
        steps_of[step.turn_id].append(step)
    ended = {call.id: call for call in calls}
    messages: list[Message] = []
    for turn in turns:
        messages.append(UserMessage(turn.user))
        messages.extend(step_messages(steps_of[turn.id], ended))
    return messages


def step_messages(steps: Sequence[Step], ended: dict[str, ToolCall]) -> list[Message]:
    """Return the steps of one turn as messages, each followed by its calls' results."""
    messages: list[Message] = []
    for step in steps:
        if step.interrupted:
            if step is steps[-1] and step.message.text:
                messages.append(replace(step.message, native=None, calls=(), thoughts=""))
            continue
        messages.append(step.message)
        if step.message.calls:
            messages.append(
                ToolMessage(
                    tuple(
                        ended[call.id].answer
                        if call.id in ended
                        else CallResult(call.id, call.name, NOT_ENDED, True, call.provider_id)
                        for call in step.message.calls
                    )
                )
            )
    return messages


class Shortened(Struct, frozen=True):
    """Messages that fit, and what was removed."""

    messages: tuple[Message, ...]
    tokens: int
    stubbed_results: int = 0
    dropped_turns: int = 0
    dropped_steps: int = 0
    """Steps of the newest turn."""


def shorten(messages: Sequence[Message], *, tokens_max: int) -> Shortened:
    """Return the messages within the limit, unchanged if they fit.

    Otherwise removes, in this order: the oldest tool results, leaving one-line references; the oldest turns;
    the oldest steps of the newest turn; the ends of the newest results. The user's newest message stays
    complete, so the result is still too long if that message alone is.
    """
    kept = list(messages)
    total = sum(map(message_tokens, kept))
    if total <= tokens_max:
        return Shortened(tuple(kept), total)
    cut = max(1, int(tokens_max * CUT_SHARE))
    goal = total - cut * -(-(total - tokens_max) // cut)
    total, stubbed = _stub_results(kept, total, goal)
    users = [at for at, message in enumerate(kept) if isinstance(message, UserMessage)]
    total, turns = _drop(kept, total, goal, starts=users)
    steps = 0
    if turns == len(users) - 1:
        models = [at for at, message in enumerate(kept) if isinstance(message, ModelMessage)]
        total, steps = _drop(kept, total, goal, starts=models)
    if total > tokens_max and isinstance(kept[-1], ToolMessage):
        total -= message_tokens(kept[-1])
        kept[-1] = _cut_results(kept[-1], tokens_max=tokens_max - total)
        total += message_tokens(kept[-1])
    return Shortened(tuple(kept), total, stubbed, turns, steps)


def _stub_results(kept: list[Message], total: int, goal: int) -> tuple[int, int]:
    """Replace the oldest results with references; return the new total, and how many."""
    stubbed = 0
    newest = max((at for at, m in enumerate(kept) if isinstance(m, ToolMessage)), default=-1)
    for at, message in enumerate(kept):
        if total <= goal:
            break
        # The results that the model has just asked for are what it needs next.
        if isinstance(message, ToolMessage) and at != newest:
            stub, count = with_references(message)
            total += message_tokens(stub) - message_tokens(message)
            kept[at], stubbed = stub, stubbed + count
    return total, stubbed


def _drop(kept: list[Message], total: int, goal: int, *, starts: Sequence[int]) -> tuple[int, int]:
    """Remove everything between the first and a later start; return the new total, and how many starts."""
    dropped = 0
    for start, end in pairwise(starts):
        if total <= goal:
            break
        total -= sum(map(message_tokens, kept[start:end]))
        dropped += 1
    if dropped:
        del kept[starts[0] : starts[dropped]]
    return total, dropped


def _cut_results(message: ToolMessage, *, tokens_max: int) -> ToolMessage:
    """Return the results, each truncated to an equal share."""
    share = tokens_max // len(message.results)
    return ToolMessage(tuple(_cut(result, share) for result in message.results))


def _cut(result: CallResult, tokens_max: int) -> CallResult:
    data = result.text.encode("utf-8", "replace")
    note = f"\n[cut: only the beginning of {len(result.text):,} characters fits the model's window]"
    others = MESSAGE_TOKENS + IMAGE_TOKENS * len(result.images)
    room = max(0, (tokens_max - others) * BYTES_PER_TOKEN - len(note))
    if len(data) <= room + len(note):
        return result
    return replace(result, text=data[:room].decode("utf-8", "ignore") + note)


def with_references(message: ToolMessage) -> tuple[ToolMessage, int]:
    """Return the message with each long result replaced by one line, and how many were."""
    results = [
        replace(result, text=_reference(result), images=())
        if len(result.text.encode("utf-8", "replace")) > REFERENCE_FROM_BYTES or result.images
        else result
        for result in message.results
    ]
    changed = sum(new is not old for new, old in zip(results, message.results, strict=True))
    return ToolMessage(tuple(results)), changed


def without_images(message: Message) -> Message:
    """Return the message with each image replaced by one line, which the model can open; unchanged without
    images."""
    match message:
        case UserMessage(parts) if any(isinstance(part, ImagePart) for part in parts):
            return UserMessage(tuple(_image_line(part) for part in parts))
        case ToolMessage(results) if any(result.images for result in results):
            return ToolMessage(
                tuple(
                    replace(
                        result,
                        text="\n".join([result.text, *(_image_reference(each) for each in result.images)]),
                        images=(),
                    )
                    for result in results
                )
            )
        case _:
            return message


def _image_line(part: Part) -> Part:
    return TextPart(_image_reference(part)) if isinstance(part, ImagePart) else part


def _image_reference(image: ImagePart) -> str:
    name = f" {image.name}" if image.name else ""
    return f"[image{name}, {image.mime}, left out to save room; read_result opens it: reference={image.blob}]"


def _reference(result: CallResult) -> str:
    first_line = result.text.split("\n", 1)[0][:80]
    return (
        f"[{result.name}: {len(result.text):,} characters, left out to save room; began: {first_line}; "
        f"read_result opens it: reference={result.call_id}]"
    )


def text_tokens(text: str) -> int:
    """Estimate the number of tokens of the text, erring on the high side."""
    return _bytes_tokens(_utf8_bytes(text))


def message_tokens(message: Message) -> int:
    """Estimate the number of tokens of the message."""
    match message:
        case UserMessage(parts):
            return MESSAGE_TOKENS + _parts_tokens(parts)
        case ModelMessage():
            content = message.native or {"text": message.text, "calls": [c.args for c in message.calls]}
            return MESSAGE_TOKENS + _bytes_tokens(_json_bytes(content))
        case ToolMessage(results):
            return sum(
                MESSAGE_TOKENS + text_tokens(result.text) + IMAGE_TOKENS * len(result.images)
                for result in results
            )
        case _:
            assert_never(message)


def _json_bytes(value: JsonObject) -> int:
    try:
        return len(msgspec.json.encode(value))
    except OverflowError:  # a number above 64 bits
        return _utf8_bytes(json.dumps(value, ensure_ascii=False))


def _utf8_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _bytes_tokens(count: int) -> int:
    return -(-count // BYTES_PER_TOKEN)


def fixed_tokens(system: str, tools: Sequence[ToolSpec]) -> int:
    """Estimate the tokens of every request besides its messages."""
    schemas = sum(text_tokens(t.description + msgspec.json.encode(t.parameters).decode()) for t in tools)
    return text_tokens(system) + schemas + MESSAGE_TOKENS * (1 + len(tools))


def _parts_tokens(parts: Parts) -> int:
    count = 0
    for part in parts:
        match part:
            case TextPart(text):
                count += text_tokens(text)
            case ImagePart():
                count += IMAGE_TOKENS
            case CommandPart():
                count += text_tokens(command_text(part))
            case _:
                assert_never(part)
    return count
