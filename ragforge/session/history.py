"""The stored conversation: as messages for the model, as turns for a user, and the end of a turn."""

import asyncio
from collections.abc import Sequence

from msgspec import Struct

from ragforge.config.settings import Settings
from ragforge.domain.messages import Message
from ragforge.domain.turns import Step, ToolCall, Turn
from ragforge.memory.context import history_messages
from ragforge.memory.window import TURNS_BETWEEN_FRESH_STARTS, TURNS_KEPT_MIN, Cuts, Window, WindowLimits
from ragforge.session.state import Session, Unkept
from ragforge.store.base import Store


class StoredTurns(Struct, frozen=True):
    """Turns with their steps and calls, oldest first."""

    turns: tuple[Turn, ...]
    steps: tuple[Step, ...]
    calls: tuple[ToolCall, ...]


async def read_turns(store: Store, turns: Sequence[Turn]) -> StoredTurns:
    """Return the turns with everything that happened in them."""
    ids = [turn.id for turn in turns]
    return StoredTurns(
        tuple(turns), tuple(await store.turns.steps(ids)), tuple(await store.calls.of_turns(ids))
    )


async def newest_turns(store: Store, head: str | None, count: int) -> StoredTurns:
    """Return the newest turns on the path to the head."""
    return await read_turns(store, await store.turns.path(head, limit=count))


async def turns_before(session: Session, turn_id: str, count: int) -> StoredTurns:
    """Return the nearest turns on the path before a turn."""
    store = session.workspace.store
    turn = await store.turns.get(turn_id)
    return await read_turns(store, await store.turns.path(turn.parent if turn else None, limit=count))


async def read_window(
    store: Store,
    head: str | None,
    limits: WindowLimits,
    *,
    compacted_after: str = "",
    forgotten: Cuts | None = None,
) -> Window:
    """Return what the model is given verbatim of the path to the head; no more turns are read than needed.

    compacted_after: the turn after which the user compacted it. forgotten: what is cut out of it.
    """
    window = Window(limits, forgotten)
    newest = await store.turns.get(head) if head else None
    if newest is None:
        return window
    count = newest.index % TURNS_BETWEEN_FRESH_STARTS + 1 + TURNS_KEPT_MIN
    stored = await read_turns(store, await store.turns.path(head, limit=count))
    # In a thread: measuring some megabytes of results would block the event loop.
    return await asyncio.to_thread(_filled, window, stored, compacted_after)


def _filled(window: Window, stored: StoredTurns, compacted_after: str) -> Window:
    """Add these turns to the window."""
    steps: dict[str, list[Step]] = {turn.id: [] for turn in stored.turns}
    calls: dict[str, list[ToolCall]] = {turn.id: [] for turn in stored.turns}
    for step in stored.steps:
        steps[step.turn_id].append(step)
    for call in stored.calls:
        calls[call.turn_id].append(call)
    for turn in stored.turns:
        window.extend(turn.id, turn.index, _messages(turn, steps[turn.id], calls[turn.id], window.forgotten))
        window.compact_next = turn.id == compacted_after
    return window.copy()


def _messages(
    turn: Turn, steps: Sequence[Step], calls: Sequence[ToolCall], forgotten: Cuts | None
) -> list[Message]:
    if forgotten:
        session = turn.session_id
        steps = [forgotten.step(step, at=turn.started_at, session=session) for step in steps]
        turn, calls = forgotten.turn(turn), [forgotten.call(call, session=session) for call in calls]
    return history_messages([turn], steps, calls)


def window_limits(settings: Settings) -> WindowLimits:
    """Return how much of the conversation is sent verbatim, according to the settings."""
    context = settings.context
    lean = settings.memory.raw_chars_max if context.profile == "lean" else None
    return WindowLimits(
        context.raw_tokens_high,
        context.raw_tokens_low,
        lean,
        refers_images=settings.foresight.enabled,
    )


async def session_window(session: Session, head: str | None) -> Window:
    """Return the window over the path to the head, according to the settings and the user."""
    workspace = session.workspace
    return await read_window(
        workspace.store,
        head,
        window_limits(workspace.settings),
        compacted_after=await workspace.local.marks.compacted(session.id),
        forgotten=await workspace.recall.forgotten(workspace.store, workspace.project.id),
    )


async def present_window(session: Session) -> Window:
    """Return a copy of the session's window without what has been forgotten by now. Raises StoreError."""
    workspace, window = session.workspace, session.live.view.window
    forgotten = await workspace.recall.forgotten(workspace.store, workspace.project.id)
    if window.forgotten == (forgotten or None):
        return window.copy()
    if not session.busy:
        return await session_window(session, session.live.record.head)
    window = window.copy()  # up to the running turn
    if forgotten:
        window.forget(forgotten)
    return window


async def store_end(store: Store, unkept: Unkept) -> None:
    """Store how a turn ended, after the calls that the store had refused. Raises StoreError."""
    for call, step in unkept.calls:
        await store.calls.add(call, step)
    await store.turns.end(unkept.end)


async def keep_end(session: Session) -> None:
    """Store the end of a turn that the store could not take before. Raises StoreError if it still cannot."""
    unkept = session.activity.unkept
    if unkept is None:
        return
    await store_end(session.workspace.store, unkept)
    session.live.view.window = await session_window(session, unkept.end.turn_id)
    session.activity.unkept = None
