"""What the model is given of the conversation: the path to the head as messages, made to fit its window."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

import msgspec

from ragforge.domain.messages import (
    CallResult,
    ImagePart,
    Message,
    ModelMessage,
    Parts,
    TextPart,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from ragforge.domain.turns import CallStatus, Step, ToolCall, Turn

BYTES_PER_TOKEN = 3
"""Careful for code and prose in any script: UTF-8 spends three bytes on most that is one token elsewhere."""

IMAGE_TOKENS = 1_600
MESSAGE_TOKENS = 8
"""What roles and separators cost."""

NOT_ENDED = "Interrupted before it ran, or while it ran. Look at what it may have done before you repeat it."
"""The answer to a call that has none: whether it had begun is not known after a crash."""

KEEP_SHARE = 0.8
"""A request that is too long is cut to this share, so that the next steps fit without another cut."""

STUB_FROM_BYTES = 400
"""Shorter results are not worth a stub."""


def history_messages(
    turns: Sequence[Turn], steps: Iterable[Step], calls: Iterable[ToolCall]
) -> list[Message]:
    """The turns as messages, oldest first.

    Every call has an answer: one that never ended says so. An answer that broke off stands as plain
    text, and not at all once a later step of its turn has replaced it.
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
    """The steps of one turn as messages, each followed by its calls' results."""
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
                        _result(ended[call.id])
                        if call.id in ended
                        else CallResult(call.id, call.name, NOT_ENDED, True, call.provider_id)
                        for call in step.message.calls
                    )
                )
            )
    return messages


def _result(call: ToolCall) -> CallResult:
    failed = call.status is not CallStatus.OK
    return CallResult(call.id, call.name, call.result, failed, call.provider_id, call.images)


@dataclass(frozen=True, slots=True)
class Shortened:
    """Messages that fit, with what had to go."""

    messages: tuple[Message, ...]
    tokens: int
    stubbed_results: int = 0
    dropped_turns: int = 0


def shorten(messages: Sequence[Message], *, tokens_max: int) -> Shortened:
    """The messages within the limit, as they are where they fit.

    Where not: the oldest tool results become one-line stubs, then the oldest turns go, until about
    four fifths of the limit are used. The newest message of the person stays, with all that follows
    it, so the result may still be too long when that alone is.
    """
    sizes = [message_tokens(message) for message in messages]
    total = sum(sizes)
    if total <= tokens_max:
        return Shortened(tuple(messages), total)
    goal = int(tokens_max * KEEP_SHARE)
    kept = list(messages)
    stubbed = 0
    newest_results = max((at for at, m in enumerate(kept) if isinstance(m, ToolMessage)), default=-1)
    for at, message in enumerate(kept):
        if total <= goal:
            break
        # The results that the model has just asked for are what it needs next.
        if isinstance(message, ToolMessage) and at != newest_results:
            stub, count = _stubbed(message)
            kept[at], stubbed = stub, stubbed + count
            total += message_tokens(stub) - sizes[at]
            sizes[at] = message_tokens(stub)
    starts = [at for at, message in enumerate(kept) if isinstance(message, UserMessage)]
    first, dropped = 0, 0
    for start in starts[1:]:
        if total <= goal:
            break
        total -= sum(sizes[first:start])
        first, dropped = start, dropped + 1
    return Shortened(tuple(kept[first:]), total, stubbed, dropped)


def _stubbed(message: ToolMessage) -> tuple[ToolMessage, int]:
    results = [
        replace(result, text=_stub(result), images=())
        if len(result.text.encode()) > STUB_FROM_BYTES or result.images
        else result
        for result in message.results
    ]
    changed = sum(new is not old for new, old in zip(results, message.results, strict=True))
    return ToolMessage(tuple(results)), changed


def _stub(result: CallResult) -> str:
    first_line = result.text.split("\n", 1)[0][:80]
    return f"[{result.name}: {len(result.text):,} characters, left out to save room; began: {first_line}]"


def text_tokens(text: str) -> int:
    """About how many tokens the text is; rather too many than too few."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def message_tokens(message: Message) -> int:
    """About how many tokens the message is."""
    match message:
        case UserMessage(parts):
            return MESSAGE_TOKENS + _parts_tokens(parts)
        case ModelMessage():
            content = message.native or {"text": message.text, "calls": [c.args for c in message.calls]}
            return MESSAGE_TOKENS + text_tokens(msgspec.json.encode(content).decode())
        case ToolMessage(results):
            return sum(
                MESSAGE_TOKENS + text_tokens(result.text) + IMAGE_TOKENS * len(result.images)
                for result in results
            )
        case _:
            assert_never(message)


def fixed_tokens(system: str, tools: Sequence[ToolSpec]) -> int:
    """About what every request carries besides its messages."""
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
            case _:
                assert_never(part)
    return count
