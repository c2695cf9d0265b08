"""What a running turn needs, and its results so far."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Protocol, TypeAlias

from msgspec import Struct, field

from ragforge.agent.permissions import Decision
from ragforge.domain.approvals import Approve, Rule
from ragforge.domain.events import AgentEvent, ConstraintsMet, ToolOutput
from ragforge.domain.json import JsonObject
from ragforge.domain.messages import Message
from ragforge.domain.redact import Redactor
from ragforge.domain.turns import Step, ToolCall, TurnStatus
from ragforge.domain.usage import Usage, sum_costs
from ragforge.providers.base import ModelRequest, Provider
from ragforge.tools.base import AnyTool, Preview, ToolContext

EVENTS_WAITING_MAX = 1_000


class Events:
    """The queue of a turn's events, in order."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[AgentEvent | None] = asyncio.Queue(EVENTS_WAITING_MAX)
        self._receiver_gone = False

    async def send(self, event: AgentEvent) -> None:
        """Send an event that must arrive; waits while the receiver is behind."""
        if not self._receiver_gone:
            await self._queue.put(event)

    def offer(self, event: ToolOutput) -> None:
        """Send live output. Dropped while the receiver is far behind, because the result contains it
        anyway."""
        if self._queue.qsize() < EVENTS_WAITING_MAX // 2:
            self._queue.put_nowait(event)

    async def end(self) -> None:
        """Mark the end of the events."""
        if not self._receiver_gone:
            await self._queue.put(None)

    def leave(self) -> None:
        """Stop receiving: later events are dropped, and senders do not wait."""
        self._receiver_gone = True
        while not self._queue.empty():
            self._queue.get_nowait()

    async def next(self) -> AgentEvent | None:
        """Return the next event, or None at the end."""
        return await self._queue.get()


class Recorder(Protocol):
    """Stores a turn while it runs."""

    async def save_step(self, step: Step, *, waits: bool = False) -> None:
        """Save a step before its calls run. waits: one of them needs approval."""
        ...

    async def run_on(self, turn_id: str) -> None:
        """Record that the user has answered and the turn no longer waits."""
        ...

    async def add_call(self, call: ToolCall, step: Step) -> None:
        """Save a call that ended, and its step."""
        ...


class Fitted(Struct, frozen=True):
    """A request that fits the model's context window, and what was dropped for it."""

    request: ModelRequest
    tokens: int
    """Estimated."""
    tokens_max: int
    stubbed_results: int = 0
    dropped_turns: int = 0
    dropped_steps: int = 0
    compacted: str = ""
    """What was dropped since the last request because the conversation had become too long, for a user."""


def _nothing() -> float | None:
    return 0.0


class TurnLimits(Struct, frozen=True):
    """Where a turn pauses or stops."""

    steps_max: int = 50
    """Model calls after which the user is asked whether to continue."""
    model_calls_max: int | None = None
    """Model calls after which the run stops without asking."""
    price_usd_max: float | None = None
    spent_elsewhere: Callable[[], float | None] = _nothing
    """What others have spent of the same limit: a turn's sub-agents, or the agent that gave this task."""


class GuardedCall(Struct, frozen=True):
    """A call of a tool that may change something, right before it runs.

    paths: those that the tool's preview named. may_write: False for a command that certainly only reads.
    unkept: the user allowed it even if the affected files cannot be saved first. after: the new content of
    the one file that it writes. command: what a shell would run.
    """

    tool: AnyTool
    paths: Sequence[Path]
    may_write: bool
    unkept: bool = False
    after: bytes | None = None
    command: str = ""


Guard: TypeAlias = Callable[[GuardedCall], AbstractAsyncContextManager[None]]
"""What is done around such a call: entered right before it, left right after, even if it was cancelled.

Entering raises UsageError if the tool must not run now, in words for the model: NotKept if the user may
want it nonetheless.
"""


def unguarded(call: GuardedCall) -> AbstractAsyncContextManager[None]:
    """Do nothing around the call."""
    return nullcontext()


class AgentParts(Struct, frozen=True):
    """What the loop needs.

    consent: what is allowed without asking, by the current mode and rules.
    fit: builds a request from the messages that uses at most this share of the context window.
    has_queued: whether the user has typed a message to be sent at the next boundary.
    instructions_for: trusted project instructions that apply to these paths and were not sent yet.
    guard: runs around a tool whose effect is not READ, to save what it changes.
    """

    provider: Provider
    tools: Mapping[str, AnyTool]
    context: ToolContext
    consent: Callable[[AnyTool, JsonObject, Preview], Awaitable[Decision]]
    count: Callable[[ConstraintsMet], Awaitable[None]]
    """The outcome of a call that violates constraints."""
    add_rules: Callable[[tuple[Rule, ...]], Awaitable[None]]
    approve: Approve
    record: Recorder
    events: Events
    fit: Callable[[Sequence[Message], float], Awaitable[Fitted]]
    price: Callable[[Usage, int], float | None]
    """Returns the price of the usage and so many web searches."""
    redact: Redactor
    has_queued: Callable[[], bool]
    instructions_for: Callable[[Sequence[Path]], Awaitable[str]]
    limits: TurnLimits
    guard: Guard = unguarded


class TurnProgress(Struct):
    """The results of a turn so far. It survives cancellation, so nothing is lost."""

    turn_id: str
    messages: list[Message]
    """The turn's own messages: the user's, then each answer and its results."""
    next_index: int = 0
    steps: list[Step] = field(default_factory=list[Step])
    """Steps of this run that ended, stored or not; the last may be partial."""
    stored: set[int] = field(default_factory=set[int])
    """Indexes of steps that are in the store."""
    unkept: list[tuple[ToolCall, Step]] = field(default_factory=list[tuple[ToolCall, Step]])
    """Calls that ended but that the store rejected."""
    model_calls: int = 0
    told_of_cut: bool = False
    """Whether the user was told that older messages no longer fit."""

    @property
    def unstored(self) -> Step | None:
        """The step that only `end` can store: the final answer, or the part that had arrived."""
        return self.steps[-1] if self.steps and self.steps[-1].index not in self.stored else None

    @property
    def cost_usd(self) -> float | None:
        """The cost of this run, None if a price is unknown."""
        return sum_costs(step.cost_usd for step in self.steps)


class Outcome(Struct, frozen=True):
    """How the loop ended."""

    status: TurnStatus
    error: str = ""
