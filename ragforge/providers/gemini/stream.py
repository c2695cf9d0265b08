"""An answer as it arrives: Gemini's chunks become events, and the message that is sent back later."""

import json

import msgspec
from msgspec import Struct

from ragforge.domain.events import (
    AnswerEnded,
    CallSeen,
    FinishReason,
    ModelEvent,
    TextDelta,
    ThoughtDelta,
    UsageSeen,
)
from ragforge.domain.ids import new_id
from ragforge.domain.json import JsonObject, JsonValue
from ragforge.domain.messages import CallRequest, ModelMessage, WebSearch, WebSource
from ragforge.domain.usage import Usage, tokens_told
from ragforge.providers.gemini.client import Chunk, GroundingMetadata, UsageMetadata

CHARS_PER_TOKEN = 4
"""A rough estimate, used if neither the stream nor the service counts."""

FINISHES = {
    "STOP": FinishReason.STOP,
    "MAX_TOKENS": FinishReason.LENGTH,
    "SAFETY": FinishReason.BLOCKED,
    "RECITATION": FinishReason.BLOCKED,
    "LANGUAGE": FinishReason.BLOCKED,
    "BLOCKLIST": FinishReason.BLOCKED,
    "PROHIBITED_CONTENT": FinishReason.BLOCKED,
    "SPII": FinishReason.BLOCKED,
    "IMAGE_SAFETY": FinishReason.BLOCKED,
    "IMAGE_PROHIBITED_CONTENT": FinishReason.BLOCKED,
    "IMAGE_RECITATION": FinishReason.BLOCKED,
    "MODEL_ARMOR": FinishReason.BLOCKED,
    "MALFORMED_FUNCTION_CALL": FinishReason.MALFORMED,
    "MALFORMED_RESPONSE": FinishReason.MALFORMED,
    "UNEXPECTED_TOOL_CALL": FinishReason.MALFORMED,
    "TOO_MANY_TOOL_CALLS": FinishReason.MALFORMED,
    "MISSING_THOUGHT_SIGNATURE": FinishReason.MALFORMED,
}
"""Any other reason, such as CONTINUATION and OTHER, means an answer that may be incomplete."""


class _Call(Struct, frozen=True):
    """A function call of a part."""

    name: str | None = None
    args: JsonObject | None = None
    id: str | None = None


class _PartFields(Struct, frozen=True, rename="camel"):
    """The fields of a part that are read; the others are only sent back."""

    text: str | None = None
    thought: bool | None = None
    function_call: _Call | None = None


class Answer:
    """What has arrived so far. Text is joined; parts that carry a signature stay as they came."""

    def __init__(self, provider: str, model: str) -> None:
        self._provider = provider
        self._model = model
        self._text: list[str] = []
        self._thoughts: list[str] = []
        self._calls: list[CallRequest] = []
        self._written_chars = 0
        self._parts: list[JsonObject] = []
        self._joined: list[str] | None = None
        self._finish = ""
        self._blocked = ""
        self._usage: UsageSeen | None = None
        self._searched = WebSearch()

    @property
    def usage(self) -> UsageSeen | None:
        """The last reported usage; estimated if the stream did not count its output."""
        return self._usage

    @property
    def begun(self) -> bool:
        """Whether something of the answer itself has arrived."""
        return bool(self._parts or self._usage)

    def take(self, chunk: Chunk) -> list[ModelEvent]:
        """Return the events of one chunk."""
        events: list[ModelEvent] = []
        feedback = chunk.prompt_feedback
        if feedback is not None and feedback.block_reason is not None:
            self._blocked = feedback.block_reason
        for candidate in (chunk.candidates or [])[:1]:
            content = candidate.content
            for part in (content.parts if content is not None else None) or []:
                events += self._take_part(part)
            if candidate.finish_reason is not None:
                self._finish = candidate.finish_reason
            if candidate.grounding_metadata is not None:
                self._searched = self._searched.joined(_web_search(candidate.grounding_metadata))
        if chunk.usage_metadata is not None:
            events += self._take_usage(chunk.usage_metadata)
        return events

    def ended(self) -> AnswerEnded:
        """Return the end, after the last chunk."""
        finish, detail = self._reason()
        return AnswerEnded(self._message(), finish, detail)

    def written(self) -> str:
        """The model's output, for counting: its text and calls, without thoughts."""
        return "".join((*self._text, *map(_call_text, self._calls)))

    def _take_part(self, native: JsonObject) -> list[ModelEvent]:
        part = msgspec.convert(native, _PartFields)
        self._keep(native)
        if part.function_call is not None:
            asked = part.function_call
            call = CallRequest(
                new_id(),
                asked.name or "",
                dict(asked.args or {}),
                provider_id=asked.id or "",
                malformed="" if asked.name else "the call has no name",
            )
            self._calls.append(call)
            self._written_chars += len(_call_text(call))
            return [CallSeen(call)]
        if not part.text:
            return []
        if part.thought:
            self._thoughts.append(part.text)
            return [ThoughtDelta(part.text)]
        self._text.append(part.text)
        self._written_chars += len(part.text)
        return [TextDelta(part.text)]

    def _keep(self, native: JsonObject) -> None:
        """Store the part for sending it back. Plain text is joined with the plain text before it."""
        is_plain = set(native) <= {"text", "thought"}
        if not is_plain:
            self._close_text()
            self._parts.append(native)
        elif text := native.get("text"):
            before = self._parts[-1] if self._parts and self._joined is not None else None
            if before is None or before.get("thought") != native.get("thought"):
                self._close_text()
                self._parts.append(native)
                self._joined = []
            if self._joined is not None:
                self._joined.append(str(text))

    def _close_text(self) -> None:
        if self._joined is not None:
            self._parts[-1]["text"] = "".join(self._joined)
            self._joined = None

    def _native_parts(self) -> list[JsonValue]:
        self._close_text()
        return list(self._parts)

    def _message(self) -> ModelMessage:
        parts = self._native_parts()
        return ModelMessage(
            self._provider,
            self._model,
            "".join(self._text),
            tuple(self._calls),
            native={"role": "model", "parts": parts} if parts else None,
            thoughts="".join(self._thoughts),
            searched=self._searched,
        )

    def _reason(self) -> tuple[FinishReason, str]:
        if self._blocked and not self._finish:
            return FinishReason.BLOCKED, f"the prompt, {self._blocked}"
        if not self._finish:
            return FinishReason.INCOMPLETE, "no finish reason"
        finish = FINISHES.get(self._finish, FinishReason.INCOMPLETE)
        if finish is FinishReason.STOP:
            return (FinishReason.CALLS if self._calls else FinishReason.STOP), ""
        return finish, self._finish

    def _take_usage(self, told: UsageMetadata) -> list[ModelEvent]:
        """The numbers are cumulative. Early chunks do not count the output: it is estimated."""
        counted = told.candidates_token_count
        prompt, results = told.prompt_token_count, told.tool_use_prompt_token_count
        estimate = -(-self._written_chars // CHARS_PER_TOKEN)
        usage = Usage(
            input_tokens=tokens_told(prompt) + tokens_told(results),
            cached_tokens=tokens_told(told.cached_content_token_count),
            output_tokens=estimate if counted is None else tokens_told(counted),
            thought_tokens=tokens_told(told.thoughts_token_count),
        )
        seen = UsageSeen(usage, estimated=counted is None and estimate > 0)
        if seen == self._usage:
            return []
        self._usage = seen
        return [seen]


def _web_search(told: GroundingMetadata) -> WebSearch:
    pages = [chunk.web for chunk in told.grounding_chunks or [] if chunk.web]
    return WebSearch(
        tuple(told.web_search_queries or ()), tuple(WebSource(page.title, page.uri) for page in pages)
    )


def _call_text(call: CallRequest) -> str:
    return f"{call.name}{json.dumps(call.args, ensure_ascii=False)}"
