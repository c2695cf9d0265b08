"""The events of a turn, as they happen. Two closed unions: a provider's and the turn's."""

from enum import StrEnum
from math import ceil
from typing import TypeAlias

from msgspec import Struct

from ragforge.domain.approvals import ConstraintHit
from ragforge.domain.context import ContextBlock
from ragforge.domain.errors import RagforgeError
from ragforge.domain.json import JsonObject
from ragforge.domain.messages import CallRequest, ModelMessage, WebSearch
from ragforge.domain.turns import ToolCall, Turn
from ragforge.domain.usage import Usage
from ragforge.domain.versions import Version


class FinishReason(StrEnum):
    """Why a model stopped, in terms that fit every provider."""

    STOP = "stop"
    CALLS = "calls"
    LENGTH = "length"
    """The output limit was reached: the answer is cut."""
    BLOCKED = "blocked"
    """Safety, recitation or policy, because of the prompt or the answer."""
    MALFORMED = "malformed"
    """The model wrote an unreadable call."""
    INCOMPLETE = "incomplete"
    """The stream ended without a reason."""


class TextDelta(Struct, frozen=True):
    """More of the answer."""

    text: str


class ThoughtDelta(Struct, frozen=True):
    """More of the model's thoughts, if it reports them."""

    text: str


class CallSeen(Struct, frozen=True):
    """A complete tool call arrived."""

    call: CallRequest


class UsageSeen(Struct, frozen=True):
    """The usage of this model call so far; the last one counts."""

    usage: Usage
    estimated: bool = False
    """Estimated by us because the stream reported none."""


class RetryWaiting(Struct, frozen=True):
    """The provider waits before it retries; cancelling the stream ends the wait."""

    reason: str
    delay_s: float
    attempt: int
    attempts_max: int

    def words(self, left_s: float) -> str:
        """Return the notice, with the remaining seconds of the wait."""
        return f"{self.when(left_s)} ({self.reason}, attempt {self.attempt} of {self.attempts_max})"

    @staticmethod
    def when(left_s: float) -> str:
        """Return the countdown alone, for where there is room for no more."""
        return f"retrying in {ceil(left_s)} s" if left_s > 0 else "retrying"


class AnswerEnded(Struct, frozen=True):
    """The last event of a provider's stream."""

    message: ModelMessage
    finish: FinishReason
    detail: str = ""
    """The provider's explanation, e.g. the name of the safety filter."""


ModelEvent: TypeAlias = TextDelta | ThoughtDelta | CallSeen | UsageSeen | RetryWaiting | AnswerEnded


class TurnStarted(Struct, frozen=True):
    """The user's words are stored."""

    turn: Turn


class MessageJoined(Struct, frozen=True):
    """Another message became part of the turn's before the model was asked; both are stored."""

    turn: Turn


class ContextBuilt(Struct, frozen=True):
    """What was recalled for the message, before the model is asked."""

    turn_id: str
    block: ContextBlock


class StepStarted(Struct, frozen=True):
    """The model is asked."""

    index: int
    model: str


class StepEnded(Struct, frozen=True):
    """The answer is complete. Its text arrived in pieces before, which can be discarded now."""

    text: str


class WebSearched(Struct, frozen=True):
    """The provider searched the web for the answer that has just ended."""

    search: WebSearch


class ToolStarted(Struct, frozen=True):
    """A tool call begins, or waits for consent."""

    call_id: str
    name: str
    args: JsonObject
    summary: str


class ToolOutput(Struct, frozen=True):
    """More output of a running tool."""

    call_id: str
    text: str


class ToolEnded(Struct, frozen=True):
    """A tool call ended and is stored."""

    call: ToolCall


class UsageUpdated(Struct, frozen=True):
    """A step's tokens and cost, and how full the context window is."""

    usage: Usage
    cost_usd: float | None
    context_tokens: int
    context_tokens_max: int
    estimated: bool = False


class ConstraintsMet(Struct, frozen=True):
    """A call violates a constraint. asked: the user saw it and decided. stopped: it does not run."""

    call_id: str
    hits: tuple[ConstraintHit, ...]
    asked: bool
    stopped: bool


class Notice(Struct, frozen=True):
    """A line for the user that is not part of the conversation."""

    text: str


class TurnEnded(Struct, frozen=True):
    """The turn's end is stored; `turn.status` and `turn.error` say how it ended."""

    turn: Turn
    failure: RagforgeError | None = None
    """Why it failed, if it did."""
    came_to_nothing: bool = False
    """The model had not said or done anything yet: the words go back to the prompt."""
    version: Version | None = None
    """What the turn changed in the files; None if not written yet, or if that failed."""


AgentEvent: TypeAlias = (
    TurnStarted
    | MessageJoined
    | ContextBuilt
    | StepStarted
    | StepEnded
    | WebSearched
    | TextDelta
    | ThoughtDelta
    | ToolStarted
    | ToolOutput
    | ToolEnded
    | UsageUpdated
    | RetryWaiting
    | ConstraintsMet
    | Notice
    | TurnEnded
)
