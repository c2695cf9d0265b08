"""What the Gemini stand-in can be told to answer: in Python, or in a JSON file.

A reply is one item or a tuple of items. An answer's items are streamed in order; where none of them
ends the stream, `Finish()` does.

    (Thought("Let me look."), Calls(Call("read", {"path": "a.py"}), Call("list", {"path": "."})))
    (Text("It is ", "short."), Finish("MAX_TOKENS", usage=Tokens(prompt=10, candidates=3)))
    RateLimited(retry_delay_s=2)

A script FILE.json is an object, all of whose keys may be left out:

    {
      "key": "test-key",
      "models": {"gemini-3.8-flash": {"input": 1048576, "output": 65536}},
      "replies": [REPLY, ...],            one a model call, in this order; then, for ever:
      "when": [{"contains": "hello", "reply": REPLY}, ...]   the first whose text is in the newest
                                          user text (or a tool's result); else an echo
      "structured": [REPLY, ...],         the same for requests that carry a schema (see gemini.py); then
      "turns": [{"summary": "..."}, ...], then this of each turn that the next calls are about, filled up;
      "structured_always": REPLY          then for ever; without it, the least that fits the schema
    }

`when` comes before `replies`; neither answers a request that carries a schema. REPLY is an item or a list
of items:

    "some text"                                        as one chunk
    {"text": ["in ", "chunks"], "signature": "c2ln"}   signature may be left out
    {"json": {"summary": "..."}}                       JSON as text, in two chunks
    {"thought": ["Hm."]}
    {"calls": [{"name": "read", "args": {"path": "a"}, "id": "c1", "signature": "c2ln"}]}
    {"searched": ["query"], "pages": [["title", "https://..."]]}
    {"signature": "c2ln"}                              the empty last part that carries one
    {"pause_s": 0.5}                                   wait between chunks
    {"hang": true}                                     no more bytes until the client leaves
    {"finish": "STOP", "message": "", "usage": {"prompt": 9, "cached": 0, "candidates": 2, "thoughts": 0}}
                                                       usage null: none is sent at all
    {"no_finish": true}   {"blocked": "SAFETY"}   {"cut": "rst"}   {"cut": "fin"}
    {"error_in_stream": {"code": 503, "status": "UNAVAILABLE", "message": "overloaded"}}
    {"raw": {...}}                                     a chunk exactly so
    {"rate_limited": 2.0}                              429 with RetryInfo of so many seconds, or null
    {"quota_per_day": true}   {"html_error": 502}
    {"server_error": {"code": 500, "status": "INTERNAL", "message": "..."}}
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Text:
    """Text in chunks; the signature, base64, sits on the last of them."""

    chunks: tuple[str, ...]
    signature: str = ""

    def __init__(self, *chunks: str, signature: str = "") -> None:
        object.__setattr__(self, "chunks", chunks)
        object.__setattr__(self, "signature", signature)


@dataclass(frozen=True)
class Thought:
    """A thought summary in chunks."""

    chunks: tuple[str, ...]

    def __init__(self, *chunks: str) -> None:
        object.__setattr__(self, "chunks", chunks)


@dataclass(frozen=True)
class Call:
    """A function call. id None: one is made; "": none is sent. signature None: made for the first of
    several, "" : none."""

    name: str
    args: Mapping[str, Any] = field(default_factory=dict)
    id: str | None = None
    signature: str | None = None


@dataclass(frozen=True)
class Calls:
    """Parallel function calls, in one chunk."""

    calls: tuple[Call, ...]

    def __init__(self, *calls: Call) -> None:
        object.__setattr__(self, "calls", calls)


@dataclass(frozen=True)
class Searched:
    """Google's search: what was asked, the pages as (title, address), the parts that tell of it.

    The form is that of https://ai.google.dev/gemini-api/docs/google-search and .../tool-combination.
    """

    queries: tuple[str, ...]
    pages: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Signature:
    """The empty last text part that carries a thought signature."""

    signature: str = ""


@dataclass(frozen=True)
class Slow:
    """A pause between chunks."""

    delay_s: float


@dataclass(frozen=True)
class Until:
    """A pause until the test sets the event."""

    event: asyncio.Event


@dataclass(frozen=True)
class Hang:
    """Silence until the client leaves. As the first item: not even headers."""


@dataclass(frozen=True)
class Tokens:
    """Usage numbers, as the last chunk brings them."""

    prompt: int = 0
    cached: int = 0
    candidates: int = 0
    thoughts: int = 0
    tool_use: int = 0

    def to_json(self) -> Json:
        total = self.prompt + self.candidates + self.thoughts + self.tool_use
        numbers = {
            "promptTokenCount": self.prompt,
            "cachedContentTokenCount": self.cached,
            "candidatesTokenCount": self.candidates,
            "thoughtsTokenCount": self.thoughts,
            "toolUsePromptTokenCount": self.tool_use,
            "totalTokenCount": total,
        }
        return {name: number for name, number in numbers.items() if number or name == "totalTokenCount"}


COUNTED = Tokens(prompt=-1)
"""Usage counted from the real request and answer, at four characters a token."""


@dataclass(frozen=True)
class Finish:
    """The last chunk. usage None: no chunk of the answer carries usage."""

    reason: str = "STOP"
    message: str = ""
    usage: Tokens | None = COUNTED


@dataclass(frozen=True)
class NoFinishReason:
    """The stream ends well-formed, without a finish reason."""

    usage: Tokens | None = None


@dataclass(frozen=True)
class Blocked:
    """The prompt is blocked: no candidates."""

    reason: str = "PROHIBITED_CONTENT"


@dataclass(frozen=True)
class Cut:
    """The connection breaks here: reset ("rst") or closed before the body's end ("fin")."""

    how: str = "rst"


@dataclass(frozen=True)
class ErrorInStream:
    """An error event inside the 200 stream, which then ends."""

    code: int = 503
    status: str = "UNAVAILABLE"
    message: str = "The model is overloaded. Please try again later."


@dataclass(frozen=True)
class Raw:
    """A chunk exactly so: an object, text put behind `data: `, or bytes of the stream itself."""

    chunk: Json | str | bytes


@dataclass(frozen=True)
class Failure:
    """An HTTP error in Google's JSON form."""

    code: int
    status: str
    message: str
    details: tuple[Json, ...] = ()

    def to_json(self) -> Json:
        error: Json = {"code": self.code, "message": self.message, "status": self.status}
        if self.details:
            error["details"] = list(self.details)
        return {"error": error}


@dataclass(frozen=True)
class HtmlError:
    """What a proxy on the way answers."""

    code: int = 502


def JsonText(value: Any, *, pieces: int = 2) -> Text:  # reads like the other replies
    """The value as JSON in text, streamed in so many pieces."""
    text = json.dumps(value, ensure_ascii=False)
    size = max(1, -(-len(text) // pieces))
    return Text(*(text[start : start + size] for start in range(0, len(text), size)))


def RateLimited(retry_delay_s: float | None = 1.0) -> Failure:  # reads like the other replies
    """429 of a per-minute quota, with the RetryInfo where a delay is given."""
    details: list[Json] = [_quota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier")]
    if retry_delay_s is not None:
        details.append({"@type": f"{_RPC}RetryInfo", "retryDelay": f"{retry_delay_s:g}s"})
    message = "You exceeded your current quota, please check your plan and billing details."
    return Failure(429, "RESOURCE_EXHAUSTED", message, tuple(details))


def QuotaPerDay() -> Failure:
    """429 of the quota for the day: waiting is of no use, though a RetryInfo says otherwise."""
    details = (
        _quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier"),
        {"@type": f"{_RPC}RetryInfo", "retryDelay": "3s"},
    )
    message = "You exceeded your current quota, please check your plan and billing details."
    return Failure(429, "RESOURCE_EXHAUSTED", message, details)


def ServerError(
    code: int = 500, status: str = "INTERNAL", message: str = "An internal error has occurred."
) -> Failure:
    """A 5xx of the service itself."""
    return Failure(code, status, message)


_RPC = "type.googleapis.com/google.rpc."


def _quota(quota_id: str) -> Json:
    return {
        "@type": f"{_RPC}QuotaFailure",
        "violations": [
            {
                "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
                "quotaId": quota_id,
                "quotaValue": "20",
            }
        ],
    }


def invalid(message: str, *details: Json) -> Failure:
    """400 INVALID_ARGUMENT."""
    return Failure(400, "INVALID_ARGUMENT", message, details)


def bad_key() -> Failure:
    """What the real service answers to a wrong key: 400, not 401."""
    info = {
        "@type": f"{_RPC}ErrorInfo",
        "reason": "API_KEY_INVALID",
        "domain": "googleapis.com",
        "metadata": {"service": "generativelanguage.googleapis.com"},
    }
    return invalid("API key not valid. Please pass a valid API key.", info)


def no_key() -> Failure:
    """What the real service answers where no key was sent."""
    message = "Method doesn't allow unregistered callers. Please use API Key or other form of identity."
    return Failure(403, "PERMISSION_DENIED", message)


Item = (
    Text
    | Thought
    | Calls
    | Searched
    | Signature
    | Slow
    | Until
    | Hang
    | Finish
    | NoFinishReason
    | Blocked
    | Cut
    | ErrorInStream
    | Raw
    | Failure
    | HtmlError
)
Reply = Item | tuple[Item, ...]
ReplyOrRule = Reply | Callable[[Any], Reply]
ENDS = (Finish, NoFinishReason, Blocked, Cut, ErrorInStream, Hang)


def items_of(reply: Reply) -> tuple[Item, ...]:
    """The items of a reply, with the end that was left out."""
    items = reply if isinstance(reply, tuple) else (reply,)
    if not items or not isinstance(items[-1], (*ENDS, Failure, HtmlError)):
        return (*items, Finish())
    return items


def reply_from_json(value: Any) -> Reply:
    """A reply as the script file writes it. Raises ValueError for what it does not know."""
    if isinstance(value, list):
        return tuple(_item_from_json(item) for item in value)
    return _item_from_json(value)


def _item_from_json(value: Any) -> Item:
    if isinstance(value, str):
        return Text(value)
    match value:
        case {"text": chunks}:
            return Text(*_strings(chunks), signature=value.get("signature", ""))
        case {"json": whole}:
            return JsonText(whole)
        case {"thought": chunks}:
            return Thought(*_strings(chunks))
        case {"calls": calls}:
            return Calls(*(Call(**call) for call in calls))
        case {"searched": queries}:
            return Searched(tuple(queries), tuple(tuple(page) for page in value.get("pages", [])))
        case {"signature": signature}:
            return Signature(signature)
        case {"pause_s": delay_s}:
            return Slow(delay_s)
        case {"hang": _}:
            return Hang()
        case {"finish": reason}:
            return Finish(reason, value.get("message", ""), _usage(value))
        case {"no_finish": _}:
            return NoFinishReason()
        case {"blocked": reason}:
            return Blocked(reason)
        case {"cut": how}:
            return Cut(how)
        case {"error_in_stream": error}:
            return ErrorInStream(**error)
        case {"raw": chunk}:
            return Raw(chunk)
        case {"rate_limited": delay_s}:
            return RateLimited(delay_s)
        case {"quota_per_day": _}:
            return QuotaPerDay()
        case {"html_error": code}:
            return HtmlError(code)
        case {"server_error": error}:
            return ServerError(**error)
        case _:
            raise ValueError(f"not a reply: {value!r}")


def _strings(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _usage(value: Json) -> Tokens | None:
    if "usage" not in value:
        return COUNTED
    return None if value["usage"] is None else Tokens(**value["usage"])
