"""The contents of the next model call, part by part, without making it."""

import json

from msgspec import Struct

from ragforge.domain.context import ContextBlock
from ragforge.domain.ids import new_id
from ragforge.domain.json import JsonObject
from ragforge.domain.messages import (
    CallResult,
    Message,
    ModelMessage,
    Parts,
    ToolMessage,
    UserMessage,
    text_of,
)
from ragforge.memory.context import fixed_tokens, message_tokens, text_tokens
from ragforge.session.agent_parts import system_prompt, tool_specs
from ragforge.session.context import build_block
from ragforge.session.history import present_window
from ragforge.session.instructions import trusted_instructions
from ragforge.session.state import Session

RAW = "Recent Conversation (raw)"
"""The heading of the messages that are sent verbatim."""


class NextCall(Struct, frozen=True):
    """The parts of a request. Tokens are estimated, like those that decide what fits."""

    system: str
    system_tokens: int
    tools: int
    tools_tokens: int
    turns: int
    """Earlier ones that are sent verbatim."""
    messages: tuple[Message, ...]
    raw_tokens: int
    block: ContextBlock
    prompt_tokens: int

    @property
    def tokens(self) -> int:
        """All tokens."""
        parts = (self.system_tokens, self.tools_tokens, self.raw_tokens, self.block.tokens)
        return sum(parts) + self.prompt_tokens

    @property
    def raw_text(self) -> str:
        """Return the raw conversation as text, under its heading."""
        return "\n\n".join([f"## {RAW}", *(message_text(message) for message in self.messages)])

    def as_json(self) -> JsonObject:
        """Return the parts, for programs."""
        block = self.block
        return {
            "tokens": self.tokens,
            "system": {"tokens": self.system_tokens, "text": self.system},
            "tools": {"tokens": self.tools_tokens, "count": self.tools},
            "raw": {"tokens": self.raw_tokens, "turns": self.turns, "text": self.raw_text},
            "block": {
                "tokens": block.tokens,
                "took_ms": round(block.took_ms, 1),
                "left_out": block.left_out,
                "limited": block.limited or None,
                "text": block.text,
                "items": [
                    {
                        "section": str(item.section),
                        "kind": str(item.kind),
                        "id": item.id,
                        "at": item.at.isoformat(),
                        "session": item.session_id or None,
                        "turn": item.turn_id or None,
                        "tokens": item.tokens,
                        "reason": item.reason,
                        "scores": dict(item.scores),
                        "text": item.text,
                    }
                    for item in block.items
                ],
            },
            "prompt": {"tokens": self.prompt_tokens},
        }


async def next_call(session: Session, parts: Parts) -> NextCall:
    """Return what a call with this message would contain; nothing is stored and no model is asked."""
    specs = tool_specs(session)
    system = system_prompt(session, await trusted_instructions(session))
    system_tokens = text_tokens(system)
    window = await present_window(session)
    window.begin(new_id(), window.next_index)
    window.add(UserMessage(parts))
    earlier = window.messages[: window.newest_start]
    prompt_tokens = message_tokens(UserMessage(parts)) if parts else 0
    return NextCall(
        system=system,
        system_tokens=system_tokens,
        tools=len(specs),
        tools_tokens=fixed_tokens("", specs),
        turns=len(window.turn_ids) - 1,
        messages=tuple(earlier),
        raw_tokens=sum(map(message_tokens, earlier)),
        block=await build_block(session, parts, window),
        prompt_tokens=prompt_tokens,
    )


def message_text(message: Message) -> str:
    """Return the message for a user."""
    match message:
        case UserMessage(parts):
            return f"You: {text_of(parts)}"
        case ModelMessage():
            calls = [
                f"[calls {call.name} {json.dumps(call.args, ensure_ascii=False)}]" for call in message.calls
            ]
            return "\n".join([f"Model: {message.text}".rstrip(), *calls])
        case ToolMessage(results):
            return "\n".join(map(_result_text, results))


def _result_text(result: CallResult) -> str:
    return f"[{result.name} {'failed' if result.failed else 'answered'}] {result.text}"
