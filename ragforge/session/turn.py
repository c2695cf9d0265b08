"""The order of one turn: store the message, call the model, store the end, continue with queued messages."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextlib import aclosing, suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ragforge.agent.loop import run_turn
from ragforge.agent.parts import AgentParts, Events, Guard, Outcome, TurnLimits, TurnProgress
from ragforge.domain.approvals import Approve, TurnTerms
from ragforge.domain.cancellation import undisturbed
from ragforge.domain.context import ContextBlock
from ragforge.domain.errors import Conflict, RagforgeError, StoreError, UsageError
from ragforge.domain.events import AgentEvent, ContextBuilt, MessageJoined, Notice, TurnEnded, TurnStarted
from ragforge.domain.ids import new_id, now
from ragforge.domain.messages import Parts, UserMessage
from ragforge.domain.metrics import count_usage
from ragforge.domain.turns import Step, ToolCall, Turn, TurnEnd, TurnStatus
from ragforge.domain.usage import Usage, sum_costs
from ragforge.domain.versions import Version
from ragforge.memory.context import history_messages, step_messages
from ragforge.memory.forgotten import still_forgotten
from ragforge.memory.window import Window
from ragforge.session import queue, shell_commands
from ragforge.session.agent_parts import agent_parts, safe_step
from ragforge.session.context import build_block, keep_recall_use, keep_recalled
from ragforge.session.file_hashes import recall_seen_files
from ragforge.session.history import keep_end, session_window, store_end
from ragforge.session.link import notice_loss
from ragforge.session.model import NO_MODEL, limits_of
from ragforge.session.open import store_session
from ragforge.session.state import OpenTurn, Session, Unkept
from ragforge.session.sub_agents import Delegation
from ragforge.session.turn_terms import under
from ragforge.versions.record.backfill import came_to_nothing
from ragforge.versions.record.turn import Recording

log = logging.getLogger(__name__)

SEEN_TURNS_MAX = 50
"""How far back a waiting call may be based on a file that was read."""

TICK = timedelta(milliseconds=1)
CLOCK_SET_BACK_MAX = timedelta(days=2)
"""If a turn is dated further ahead of the clock, its own date was wrong."""

GOES_ON = (TurnStatus.FINISHED, TurnStatus.CONTINUED)
"""After these ends, what is queued is sent."""


class _Run(Struct):
    """A turn that is about to run: where it starts, and the rest of an earlier run."""

    turn: Turn
    progress: TurnProgress
    before: Window
    """What is sent verbatim of the turns before it."""
    earlier_steps: tuple[Step, ...] = ()
    pending: Step | None = None
    done: tuple[ToolCall, ...] = ()
    failure: RagforgeError | None = None
    block: ContextBlock = ContextBlock()
    """What was recalled for its message."""
    keeping: asyncio.Task[None] | None = None
    """Stores what was recalled, in parallel to the model's answer."""
    recording: Recording | None = None
    """Records changes of the files."""


async def submit(
    session: Session,
    parts: Parts,
    approve: Approve,
    *,
    limits: TurnLimits | None = None,
    terms: TurnTerms | None = None,
    guard: Guard | None = None,
) -> AsyncGenerator[AgentEvent, None]:
    """Yield the events of the turn of this message, and of those that queued messages start after it.

    terms: settings for these turns only. guard: saves what calls change for another turn, to whose version it
    belongs; without it, these turns have their own versions.

    The message is durable before the first event. Whatever happens then, each started turn ends with
    `TurnEnded`. Closing the generator interrupts the turn and waits until its end is stored.
    Raises StoreError if the message or the end could not be stored, UsageError for a session that another
    process writes.
    """
    _check_may_run(session)
    async with (
        under(session, terms),
        aclosing(_events_of(session, _begin(session, parts), approve, limits, guard)) as events,
    ):
        async for event in events:
            yield event


async def submit_queue(session: Session, approve: Approve) -> AsyncGenerator[AgentEvent, None]:
    """Yield the events of the turn that all queued messages start; they leave the queue once it is stored.

    Raises UsageError if no message is queued, otherwise like `submit`.
    """
    _check_may_run(session)
    async for event in _events_of(session, _begin_queued(session), approve, None):
        yield event


async def retry(
    session: Session, approve: Approve, *, limits: TurnLimits | None = None
) -> AsyncGenerator[AgentEvent, None]:
    """Yield the events of the newest turn, continued from its last finished step; its tools do not run again.

    Raises UsageError if there is nothing to continue, otherwise like `submit`.
    """
    session.workspace.background.ask_again()
    _check_may_run(session)
    async for event in _events_of(session, _reopen(session), approve, limits):
        yield event


async def interrupt(session: Session) -> None:
    """End the running turn, if there is one. What has arrived is stored, and its `TurnEnded` follows."""
    running = session.activity.task
    if running is not None and not running.done():
        running.cancel()
        await asyncio.wait({running})


def _check_may_run(session: Session) -> None:
    if lost := notice_loss(session):
        raise UsageError(lost)
    if session.live.read_only:
        raise UsageError(
            "This session is read-only here, because it is open elsewhere or was shared with you. /fork "
            "continues from it; /new starts another."
        )
    if busy := session.why_busy:
        raise UsageError(busy)


async def _events_of(
    session: Session,
    begin: Coroutine[Any, Any, _Run],
    approve: Approve,
    limits: TurnLimits | None,
    guard: Guard | None = None,
) -> AsyncGenerator[AgentEvent, None]:
    events = Events()
    settings = session.workspace.settings.turn
    limits = limits or TurnLimits(steps_max=settings.steps_max, price_usd_max=settings.price_usd_max)
    task = asyncio.create_task(_run_all(session, begin, approve, events, limits, guard))
    session.activity.task = task
    try:
        while (event := await events.next()) is not None:
            yield event
        await task
    finally:
        events.leave()
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
        if session.activity.task is task:
            session.activity.task = None


async def _run_all(
    session: Session,
    begin: Coroutine[Any, Any, _Run],
    approve: Approve,
    events: Events,
    limits: TurnLimits,
    guard: Guard | None,
) -> None:
    """Run the turn, then those that queued messages start."""
    try:
        status = await _run_one(session, begin, approve, events, limits, guard)
        while status in GOES_ON and session.live.queue and not session.live.read_only:
            status = await _run_one(session, _begin_queued(session), approve, events, limits, guard)
    finally:
        await undisturbed(events.end())


async def _run_one(
    session: Session,
    begin: Coroutine[Any, Any, _Run],
    approve: Approve,
    events: Events,
    limits: TurnLimits,
    guard: Guard | None,
) -> TurnStatus:
    session.workspace.background.turn_begins(session)
    run = await undisturbed(begin, cancel_after=True)
    if guard is None:
        # Before anything that may be cancelled: every ended turn has its version.
        run.recording = _recording(session, run.turn, events)
        guard = run.recording.guard
    try:
        await events.send(TurnStarted(run.turn))
        _open(session, run, events)
        window = run.before.copy()
        window.begin(run.turn.id, run.turn.index)
        recall = partial(_recall, session, run, window, events)
        parts = await agent_parts(
            session, window, recall, approve=approve, events=events, limits=limits, guard=guard
        )
        parts = _with_agents(session, run, parts)
        outcome = await run_turn(parts, run.progress, pending=run.pending, done=run.done)
    except asyncio.CancelledError:
        outcome = Outcome(TurnStatus.INTERRUPTED)
    except RagforgeError as error:
        run.failure = error
        outcome = Outcome(TurnStatus.FAILED, str(error))
    except Exception as error:
        log.exception("The turn %s failed unexpectedly", run.turn.id)
        outcome = Outcome(TurnStatus.FAILED, f"Unexpected failure: {type(error).__name__}: {error}")
    # Esc at the very moment of a turn's end does not affect it, but interrupts the queued one that follows.
    return await undisturbed(_end_and_tell(session, run, outcome, events), cancel_after=True)


def _with_agents(session: Session, run: _Run, parts: AgentParts) -> AgentParts:
    """Return the parts with sub-agents for the tool that starts them, within the turn's limits."""
    delegation = Delegation(
        session,
        run.turn.id,
        parts.approve,
        parts.guard,
        parts.limits,
        submit,
        own_cost=lambda: run.progress.cost_usd,
    )
    elsewhere = parts.limits.spent_elsewhere  # a sub-agent's own turn counts with its parent's
    return replace(
        parts,
        context=replace(parts.context, run_agent=delegation.run),
        limits=replace(parts.limits, spent_elsewhere=lambda: sum_costs((elsewhere(), delegation.spent()))),
    )


def _recording(session: Session, turn: Turn, events: Events) -> Recording:
    """Return what records changes of the files; the current state of the folder is read in parallel."""

    async def tell(words: str) -> None:
        await events.send(Notice(words))

    has_model = (session.live.record.model or NO_MODEL) != NO_MODEL
    recording = Recording(session.worktree, turn, tell, has_model=has_model)
    recording.begin()
    return recording


def _open(session: Session, run: _Run, events: Events) -> None:
    """Let messages join the turn until its request is sent; a continued turn has sent it already."""
    if run.earlier_steps:
        return

    async def show(turn: Turn) -> None:
        run.turn, run.progress.messages[0] = turn, UserMessage(turn.user)
        await events.send(MessageJoined(turn))

    session.activity.open_turn = OpenTurn(run.turn, show)


async def _recall(session: Session, run: _Run, window: Window, events: Events) -> ContextBlock:
    """Recall for the turn's message, tell the user, and store the result in parallel.

    If another message joins meanwhile, recall again for both. After that, none can join.
    """
    is_closed, block = False, ContextBlock()
    while not is_closed:
        said = run.turn
        if (session.live.record.model or NO_MODEL) != NO_MODEL:  # else nobody reads it
            until = session.live.view.recalls_until or said.started_at
            # The request needs both, and a service may be slow to report its limits.
            block, _ = await asyncio.gather(
                build_block(session, said.user, window, until=until), limits_of(session)
            )
        is_closed = await queue.close(session, seen=said)
    if block.items or block.limited:
        await events.send(ContextBuilt(run.turn.id, block))
        run.block = block
        run.keeping = asyncio.create_task(keep_recalled(session, run.turn.id, block))
    return block


async def _end_and_tell(session: Session, run: _Run, outcome: Outcome, events: Events) -> TurnStatus:
    await queue.close(session)
    try:
        ended = await _end(session, run, outcome)
    except StoreError:
        if run.recording:
            run.recording.leave()
        raise
    for step in run.progress.steps:
        count_usage(ended.model, ended.purpose, step.usage, step.cost_usd)
    if run.keeping:
        await run.keeping
    if lost := notice_loss(session):
        await events.send(Notice(lost))
    version = await _version(session, run, ended)
    nothing = await came_to_nothing(session.workspace.store, ended)
    if nothing:
        await shell_commands.give_back(session, ended.user)
    session.workspace.background.turn_ended(session, ended.id)
    # Only now: its receiver may wait for what is derived from the turn.
    await events.send(TurnEnded(ended, run.failure, came_to_nothing=nothing, version=version))
    if run.block.items:
        await keep_recall_use(session, ended, run.block, nothing=nothing)
    return ended.status


async def _version(session: Session, run: _Run, ended: Turn) -> Version | None:
    """Record what the turn did to the files."""
    if run.recording is None:
        return None
    usage = sum((step.usage for step in run.progress.steps), Usage())
    wait_s = session.workspace.recorders.end_wait_s
    return await run.recording.end(ended, usage=usage, cost_usd=run.progress.cost_usd, wait_s=wait_s)


async def _begin(session: Session, parts: Parts) -> _Run:
    """Store the message as a child of the head, before anything else happens."""
    workspace, live = session.workspace, session.live
    await store_session(session, said=parts)
    await keep_end(session)
    parent, window = await _parent(session)
    kept = workspace.redactor.parts(shell_commands.with_commands(session, parts))
    turn = Turn(
        id=new_id(),
        session_id=session.id,
        parent=parent.id if parent else None,
        index=parent.index + 1 if parent else 0,
        user=kept,
        started_at=_moment_after(parent),
        model=live.record.model or "local",
        person=workspace.person.id,
        purpose=live.purpose,
    )
    await _list_again(session)
    await workspace.store.turns.start(turn)
    session.change(head=turn.id, last_activity_at=turn.started_at)
    live.view.window = window
    await shell_commands.sent(session, kept)
    return _Run(turn, TurnProgress(turn.id, [UserMessage(kept)]), before=window)


def _moment_after(parent: Turn | None) -> datetime:
    """Return the current time, but later than the turn that is continued: of two statements that contradict
    each other the later one applies, and a clock may be set back."""
    moment = now()
    if parent is None:
        return moment
    # Both, because the end of a crashed turn may be dated by a clock that had been set back meanwhile.
    least = max(parent.started_at, parent.ended_at or parent.started_at) + TICK
    return max(moment, least) if least - moment <= CLOCK_SET_BACK_MAX else moment


async def _begin_queued(session: Session) -> _Run:
    """Store all queued messages as one, and only then remove them from the queue."""
    waiting = list(session.live.queue)
    if not waiting:
        raise UsageError("No messages are waiting.")
    run = await _begin(session, tuple(part for parts in waiting for part in parts))
    await queue.remove(session, waiting)
    return run


async def _list_again(session: Session) -> None:
    """Unarchive a session that continues."""
    if session.live.record.archived_at is not None:
        await session.workspace.store.sessions.set_archived(session.id, None)
        session.change(archived_at=None)


async def _parent(session: Session) -> tuple[Turn | None, Window]:
    """Return the turn to continue from, and what is sent word for word up to it.

    An empty turn is skipped: its message returned to the prompt, and sending it together with its second
    version would say everything twice.
    """
    store, live = session.workspace.store, session.live
    head = await store.turns.get(live.record.head) if live.record.head else None
    moved = False
    while head and await came_to_nothing(session.workspace.store, head):
        moved = True
        head = await store.turns.get(head.parent) if head.parent else None
    forgotten = await still_forgotten(store, session.workspace.project.id, live.view.window)
    if moved or forgotten is not None:
        return head, await session_window(session, head.id if head else None)
    return head, live.view.window


async def _reopen(session: Session) -> _Run:
    """Return the newest turn, to continue it. Raises UsageError if there is none."""
    store, head = session.workspace.store, session.live.record.head
    await keep_end(session)
    turn = await store.turns.get(head) if head else None
    if turn is None:
        raise UsageError("There is no turn to continue.")
    if turn.status in (TurnStatus.FINISHED, TurnStatus.CONTINUED):
        raise UsageError("The last turn finished. Send a message to continue.")
    if turn.session_id != session.id:
        raise UsageError(
            "The last turn belongs to the session that this one was forked from. Send a message to continue."
        )
    steps = await store.turns.steps([turn.id])
    if not steps:
        return await _begin(session, turn.user)
    calls = await store.calls.of_turns([turn.id])
    return await _continue(session, turn, tuple(steps), tuple(calls))


async def _continue(
    session: Session, turn: Turn, steps: tuple[Step, ...], calls: tuple[ToolCall, ...]
) -> _Run:
    store = session.workspace.store
    await _list_again(session)
    await _runs_on(session, turn)
    try:
        await store.turns.reopen(turn.id)
    except Conflict:
        # Another machine ran it and may still: here it is run again, from its words.
        return await _begin(session, turn.user)
    before = await session_window(session, turn.parent)
    whole = [step for step in steps if not step.interrupted]
    ended = {call.id: call for call in calls}
    last = whole[-1] if whole else None
    pending = last if last and any(call.id not in ended for call in last.message.calls) else None
    own = [UserMessage(turn.user), *step_messages([step for step in whole if step is not pending], ended)]
    if pending:
        own.append(pending.message)
    if before.forgotten:
        own = [before.forgotten.message(message, turn=turn.id) for message in own]
    progress = TurnProgress(turn.id, own, next_index=steps[-1].index + 1)
    progress.stored.update(step.index for step in steps)
    done = tuple(call for call in calls if pending and call.step_index == pending.index)
    if pending:
        earlier = await store.turns.path(turn.parent, limit=SEEN_TURNS_MAX)
        await recall_seen_files(session, [*await store.calls.of_turns([each.id for each in earlier]), *calls])
    return _Run(replace(turn, status=TurnStatus.RUNNING), progress, before, steps, pending, done)


async def _runs_on(session: Session, turn: Turn) -> None:
    """Record before it continues that the summary of its end will be outdated, however this run ends."""
    if turn.ended_at is not None:
        with suppress(StoreError):  # an outdated summary is no reason to stop
            await session.workspace.local.marks.note_ran_on(turn.id, project_id=session.workspace.project.id)


async def _end(session: Session, run: _Run, outcome: Outcome) -> Turn:
    """Store how the turn ended, and prepare the session for the next."""
    store, view, activity = session.workspace.store, session.live.view, session.activity
    stored = await store.turns.get(run.turn.id)
    waits = stored is not None and stored.status is TurnStatus.WAITING
    redactor, last = session.workspace.redactor, run.progress.unstored
    if not (activity.closing and waits):
        end = TurnEnd(
            turn_id=run.turn.id,
            status=outcome.status,
            assistant=redactor.exact(_text((*run.earlier_steps, *run.progress.steps))),
            ended_at=max(now(), run.turn.started_at),
            error=redactor.text(outcome.error),
            last_step=safe_step(last, redactor) if last else None,
        )
        # Remembered until all of it is done, so that a store that fails now loses nothing of it.
        unkept = [(call, safe_step(step, redactor)) for call, step in run.progress.unkept]
        activity.unkept = Unkept(end, tuple(unkept))
        await store_end(store, activity.unkept)
    ended = await store.turns.get(run.turn.id)
    if ended is None:
        raise StoreError(f"The turn {run.turn.id} is no longer in the store.")
    if activity.unkept and activity.unkept.end.assistant == ended.assistant:
        ended = replace(ended, assistant=activity.unkept.end.assistant)  # one string: it may be large
    # The steps are not read back: they are known, and an answer may be large.
    steps = (*run.earlier_steps, *(safe_step(step, redactor) for step in run.progress.steps))
    calls = await store.calls.of_turns([ended.id])
    view.window = run.before.copy()
    view.window.extend(ended.id, ended.index, history_messages([ended], steps, calls))
    activity.unkept = None
    usage = sum((step.usage for step in run.progress.steps), Usage())
    session.live.spending.add(usage, run.progress.cost_usd)
    session.change(last_activity_at=ended.ended_at or ended.started_at)
    return ended


def _text(steps: Sequence[Step]) -> str:
    """Return the model's text of all steps; of partial answers only the newest."""
    last = steps[-1] if steps else None
    texts = (step.message.text.strip() for step in steps if not step.interrupted or step is last)
    return "\n\n".join(text for text in texts if text)
