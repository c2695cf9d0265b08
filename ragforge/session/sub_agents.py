"""Sub-agents: tasks in sessions of their own, parallel to the turn that hands them over.

Their changes are part of that turn's version, so an undo of the turn reverts them.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from ragforge.agent.parts import Guard, GuardedCall, TurnLimits
from ragforge.domain.approvals import ApprovalAnswer, ApprovalRequest, Approve, Mode, ToolApproval
from ragforge.domain.cancellation import undisturbed
from ragforge.domain.derivations import DerivedFilter, Underived, as_kept
from ragforge.domain.errors import RagforgeError, StoreError
from ragforge.domain.events import (
    AgentEvent,
    Notice,
    RetryWaiting,
    StepEnded,
    StepStarted,
    ToolStarted,
    TurnEnded,
    UsageUpdated,
)
from ragforge.domain.ids import new_id, now, short_id
from ragforge.domain.messages import Parts, TextPart
from ragforge.domain.sub_agents import BEFORE_TASK, KIND, SubAgent
from ragforge.domain.turns import ConversationSession, Turn, TurnStatus
from ragforge.domain.usage import sum_costs
from ragforge.domain.words import cost_words, counted
from ragforge.memory.window import Window
from ragforge.session.history import window_limits
from ragforge.session.model import leave_model
from ragforge.session.state import Live, ModelView, Session
from ragforge.store.base import Store
from ragforge.tools.base import AgentTask, AnyTool, ToolResult

AT_ONCE_MAX = 4
"""Others wait: each is a conversation with the model."""
LISTED_MAX = 200
READING = (
    "glob",
    "grep",
    "list",
    "memory_recall",
    "read",
    "read_result",
    "search_history",
    "skill",
    "web_fetch",
)
LEFT_OUT = ("agent", "memory_save", "todo")
"""A sub-agent starts no others; what it learns goes into its answer."""


class Submit(Protocol):
    """Runs a turn, as `session.turn.submit` does."""

    def __call__(
        self, session: Session, parts: Parts, approve: Approve, *, limits: TurnLimits, guard: Guard
    ) -> AsyncGenerator[AgentEvent, None]: ...


class Delegation(Struct, frozen=True):
    """The turn that hands tasks over.

    guard: saves what calls change, for this turn. own_cost: the cost of the turn itself. costs: that of each
    sub-agent, by its session; all of it counts against the one price limit.
    """

    session: Session
    turn_id: str
    approve: Approve
    guard: Guard
    limits: TurnLimits
    submit: Submit
    own_cost: Callable[[], float | None]
    costs: dict[str, float | None] = field(default_factory=dict[str, float | None])
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE_MAX))
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held by a call that may change something: two that edit one file do so one after the other."""

    async def run(self, task: AgentTask, emit: Callable[[str], None]) -> ToolResult:
        """Return the sub-agent's answer. An error is a failed result."""
        async with self.slots:
            child = _child_of(self.session, task)
            try:
                await keep_sub_agent(self.session, child.id, task.title, turn_id=self.turn_id)
                return await self._work(child, task, emit)
            except RagforgeError as error:
                return ToolResult(f"The sub-agent failed: {error}", failed=True)
            finally:
                await undisturbed(close_child(child), cancel_after=True)

    async def _work(self, child: Session, task: AgentTask, emit: Callable[[str], None]) -> ToolResult:
        heard = _Heard(emit)
        parts = (TextPart(BEFORE_TASK + task.task),)
        limits = TurnLimits(
            steps_max=task.steps_max + 1,
            model_calls_max=task.steps_max,
            price_usd_max=self.limits.price_usd_max,
            spent_elsewhere=lambda: sum_costs((self.own_cost(), self.spent(without=child.id))),
        )
        approve = _named(self.approve, task.title, emit)
        guard = _one_at_a_time(self.guard, self.lock)
        emit(f"session {short_id(child.id)}\n")
        async with aclosing(self.submit(child, parts, approve, limits=limits, guard=guard)) as events:
            async for event in events:
                heard.take(event)
                self.costs[child.id] = heard.cost_usd
        return heard.result(child.id, task)

    def spent(self, *, without: str = "") -> float | None:
        """Return the cost of the sub-agents so far, except that of one session."""
        return sum_costs(cost for session_id, cost in self.costs.items() if session_id != without)


class _Heard(Struct):
    """The progress of a sub-agent."""

    emit: Callable[[str], None]
    said: str = ""
    steps: int = 0
    tokens: int = 0
    cost_usd: float | None = 0.0
    turn: Turn | None = None

    def take(self, event: AgentEvent) -> None:
        match event:
            case StepStarted():
                self.steps += 1
            case StepEnded(text):
                self.said = text
            case ToolStarted(_, name, _, summary):
                self.emit(f"{name} {summary}\n")
            case Notice(text):
                self.emit(f"{text}\n")
            case RetryWaiting(delay_s=delay_s):
                self.emit(f"{event.words(delay_s)}\n")
            case UsageUpdated(usage, cost_usd):
                self.tokens += usage.total_tokens
                self.cost_usd = sum_costs((self.cost_usd, cost_usd))
            case TurnEnded(turn):
                self.turn = turn
            case _:
                pass

    def result(self, session_id: str, task: AgentTask) -> ToolResult:
        """Return the answer, with its cost; what was said until a limit is better than nothing."""
        status = self.turn.status if self.turn else TurnStatus.FAILED
        error = self.turn.error if self.turn else "it did not begin"
        used_up = status is TurnStatus.STOPPED and self.steps >= task.steps_max
        how = {TurnStatus.FINISHED: "finished"}.get(status, f"{status}: {error}")
        how = f"stopped: its budget of {counted(task.steps_max, 'step')} is used up" if used_up else how
        took = f"{counted(self.steps, 'step')}, {self.tokens:,} tokens, {cost_words(self.cost_usd)}"
        short = short_id(session_id)
        note = f"[Sub-agent {short} {how}; {took}. /agents open {short} shows what it did.]"
        return ToolResult(
            "\n\n".join(filter(None, [self.said, note])), failed=status is not TurnStatus.FINISHED
        )


def _child_of(session: Session, task: AgentTask) -> Session:
    """Return a new session in the same folder, with the same consent and fewer tools."""
    workspace, live = session.workspace, session.live
    record = child_record(session, f"Sub-agent: {task.title}")
    view = ModelView(Window(window_limits(workspace.settings)))
    tools = fewer_tools(workspace.tools, may_write=task.may_write)
    return Session(
        replace(workspace, tools=tools),
        Live(record, stored=False, consent=live.consent, purpose=live.purpose, view=view),
    )


def child_record(session: Session, title: str) -> ConversationSession:
    """Return a new session in the same folder. Resumed later, it asks again, whatever was allowed here."""
    live, mode = session.live, session.live.consent.mode
    return replace(
        live.record,
        id=new_id(),
        started_at=now(),
        last_activity_at=now(),
        title=session.workspace.redactor.text(title),
        mode=Mode.ASK if mode is Mode.ALL else mode,
        head=None,
        forked_from=None,
        archived_at=None,
        changed_at=None,
    )


def fewer_tools(tools: Mapping[str, AnyTool], *, may_write: bool) -> dict[str, AnyTool]:
    """Return a sub-agent's tools: those that only read, or all except a conversation's."""
    return {
        name: tool for name, tool in tools.items() if name not in LEFT_OUT and (may_write or name in READING)
    }


async def close_child(child: Session, *, listed: bool = False) -> None:
    """End the session; if not `listed`, unlist it, because it would come before the user's own."""
    await leave_model(child)
    live = child.live
    with suppress(StoreError):  # then it is listed
        if live.stored and not listed:
            await child.workspace.store.sessions.set_archived(child.id, now())
    if live.claim:
        await live.claim.release()
        live.claim = None


def _named(approve: Approve, title: str, emit: Callable[[str], None]) -> Approve:
    """Ask, naming the sub-agent; its progress shows that it waits."""

    async def ask(request: ApprovalRequest) -> ApprovalAnswer:
        emit("waiting for you\n")
        if isinstance(request, ToolApproval):
            request = replace(request, reason=f"{request.reason} (sub-agent: {title})")
        return await approve(request)

    return ask


def _one_at_a_time(guard: Guard, lock: asyncio.Lock) -> Guard:
    @asynccontextmanager
    async def guarded(call: GuardedCall) -> AsyncGenerator[None]:
        async with lock, guard(call):
            yield

    return guarded


async def keep_sub_agent(session: Session, child_id: str, title: str, *, turn_id: str) -> None:
    """Record which session does a task of this session, with a turn. Raises StoreError."""
    workspace = session.workspace
    source = Underived(turn_id, workspace.project.id, now())
    record = KIND.record(source, SubAgent(child_id, session.id, title), name=child_id)
    safe = replace(record, data=workspace.redactor.fields(as_kept(record).data))
    await workspace.store.derivations.save(safe)


async def sub_agents_of(store: Store, project_id: str, session_id: str) -> list[SubAgent]:
    """Return the sub-agents started by the session's turns and programs, newest first. Raises StoreError."""
    wanted = DerivedFilter(KIND.label, project_id, abandoned=True, limit=LISTED_MAX)
    found = [KIND.read(record) for record in await store.derivations.find(wanted)]
    own = [each for each in found if each is not None and each.parent == session_id]
    # Several start in one millisecond; their sessions' ids keep the order of the calls.
    return sorted(own, key=lambda each: each.session, reverse=True)
