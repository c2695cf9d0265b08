"""What happens during a turn, as it happens. Two closed unions: a provider's and the turn's."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from ragforge.domain.errors import RagforgeError
from ragforge.domain.json import JsonObject
from ragforge.domain.messages import CallRequest, ModelMessage
from ragforge.domain.turns import ToolCall, Turn
from ragforge.domain.usage import Usage


class FinishReason(StrEnum):
    """Why a model stopped, in words that fit every provider."""

    STOP = "stop"
    CALLS = "calls"
    LENGTH = "length"
    """The output limit was reached: the answer is cut."""
    BLOCKED = "blocked"
    """Safety, recitation or policy, of the prompt or the answer."""
    MALFORMED = "malformed"
    """The model wrote a call that could not be read."""
    INCOMPLETE = "incomplete"
    """The stream ended without saying why."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ThoughtDelta:
    """More of what the model thinks, where it tells."""

    text: str


@dataclass(frozen=True, slots=True)
class CallSeen:
    """A tool call arrived whole."""

    call: CallRequest


@dataclass(frozen=True, slots=True)
class UsageSeen:
    """The usage of this model call so far; the last one counts."""

    usage: Usage
    estimated: bool = False
    """Counted by us because the stream brought none."""


@dataclass(frozen=True, slots=True)
class RetryWaiting:
    """The provider waits before it tries again; cancelling the stream ends the wait."""

    reason: str
    delay_s: float
    attempt: int
    attempts_max: int


@dataclass(frozen=True, slots=True)
class AnswerEnded:
    """The last event of a provider's stream."""

    message: ModelMessage
    finish: FinishReason
    detail: str = ""
    """What the provider said of it, e.g. the name of the safety filter."""


ModelEvent: TypeAlias = TextDelta | ThoughtDelta | CallSeen | UsageSeen | RetryWaiting | AnswerEnded


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """The person's words are stored."""

    turn: Turn


@dataclass(frozen=True, slots=True)
class StepStarted:
    """The model is asked."""

    index: int
    model: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool call begins, or waits for consent."""

    call_id: str
    name: str
    args: JsonObject
    summary: str


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """More output of a tool that runs."""

    call_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """A tool call ended and is stored."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class UsageUpdated:
    """A step's tokens and cost, and how full the window is."""

    usage: Usage
    cost_usd: float | None
    context_tokens: int
    context_tokens_max: int
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Notice:
    """A line for the person that is no part of the conversation."""

    text: str


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The turn's end is stored; `turn.status` and `turn.error` say how it ended."""

    turn: Turn
    failure: RagforgeError | None = None
    """What made it fail, where something did."""
    came_to_nothing: bool = False
    """The model had not said or done anything yet: the words go back to the prompt."""


AgentEvent: TypeAlias = (
    TurnStarted
    | StepStarted
    | TextDelta
    | ThoughtDelta
    | ToolStarted
    | ToolOutput
    | ToolEnded
    | UsageUpdated
    | RetryWaiting
    | Notice
    | TurnEnded
)
