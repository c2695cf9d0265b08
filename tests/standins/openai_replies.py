"""What the chat completions stand-in can be told to answer, and what it saw."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from ragforge.providers.openai_compatible.json_answers import ASKED

Json = dict[str, Any]


class Flavour(StrEnum):
    """Whose habits it has."""

    OPENAI = "openai"
    OPENROUTER = "openrouter"
    OLLAMA = "ollama"
    LLAMA_SERVER = "llama-server"
    VLLM = "vllm"
    LM_STUDIO = "lmstudio"


class End(StrEnum):
    """How a streamed body ends."""

    CLEAN = "clean"
    CUT = "cut"
    """Closed without the last chunk of the transfer encoding."""
    RESET = "reset"
    HANG = "hang"
    """Nothing more is sent, the connection stays open."""


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of the model. `id` None: the server gives none; `fragments`: pieces of the arguments."""

    name: str
    arguments: str = "{}"
    id: str | None = "call_1"
    fragments: int = 1


USAGE: Json = {
    "prompt_tokens": 100,
    "completion_tokens": 20,
    "total_tokens": 120,
    "prompt_tokens_details": {"cached_tokens": 60},
    "completion_tokens_details": {"reasoning_tokens": 5},
}


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer made of pieces. `finish` None: none is told; "" the usual one."""

    text: Sequence[str] = ()
    thoughts: Sequence[str] = ()
    calls: Sequence[Call] = ()
    cited: Sequence[tuple[str, str]] = ()
    """Pages of the service's own search, as (title, address)."""
    finish: str | None = ""
    usage: Json | None = field(default_factory=lambda: USAGE)
    done: bool = True
    end: End = End.CLEAN


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes exactly as given, each piece in a chunk of its own."""

    pieces: Sequence[bytes]
    content_type: str = "text/event-stream"
    end: End = End.CLEAN
    pause_s: float = 0.0
    """Before each piece."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A whole response that is no answer."""

    status: int
    body: Json | str
    headers: Sequence[tuple[str, str]] = ()


Scripted = Reply | Raw | Failure
Answering = Callable[["Seen"], Scripted]


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: Json

    @property
    def schema(self) -> Json | None:
        """The JSON schema that the answer is to have, in a field or in words; None in the conversation."""
        named = self.body.get("response_format", {}).get("json_schema")
        if named is not None:
            return named.get("schema", {})
        system = next((m["content"] for m in self.body.get("messages", ())[:1] if m["role"] == "system"), "")
        return json.loads(system.rpartition(ASKED)[2]) if ASKED in system else None


def json_reply(value: Any) -> "Reply":
    """The value as JSON in text, in two pieces."""
    text = json.dumps(value, ensure_ascii=False)
    return Reply(text=(text[: len(text) // 2], text[len(text) // 2 :]))


def sse(chunk: Json | str) -> bytes:
    """The chunk as one server-sent event."""
    return f"data: {chunk if isinstance(chunk, str) else json.dumps(chunk)}\n\n".encode()


def delta(finish: str | None = None, **fields: Any) -> Json:
    """A chunk of an answer that brings these fields."""
    choice = {"index": 0, "delta": fields, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}
