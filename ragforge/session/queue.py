"""Messages sent while a turn runs: they join its message, or are queued. They are stored immediately."""

from collections.abc import Sequence

from msgspec.structs import replace

from ragforge.domain.messages import Parts
from ragforge.domain.turns import Turn
from ragforge.session import shell_commands
from ragforge.session.state import Session

JOINED_MAX = 20
"""For each message that joins, recall runs again. Those after them wait."""


async def join(session: Session, parts: Parts) -> bool:
    """Add the message to the turn whose request was not sent yet; False if there is none.

    Raises StoreError.
    """
    begun = session.activity.open_turn
    if begun is None or session.live.queue:
        return False  # waiting messages come first
    async with begun.lock:
        if session.activity.open_turn is not begun or begun.joined >= JOINED_MAX:
            return False
        parts = session.workspace.redactor.parts(shell_commands.with_commands(session, parts))
        words = (*begun.turn.user, *parts)
        await session.workspace.store.turns.reword(begun.turn.id, words)
        begun.turn, begun.joined = replace(begun.turn, user=words), begun.joined + 1
        await shell_commands.sent(session, parts)
        await begun.show(begun.turn)
    return True


async def close(session: Session, seen: Turn | None = None) -> bool:
    """Let every later message wait for its own turn.

    seen: the turn as the caller read it. If another message has joined it since, it stays open, and the
    result is False.
    """
    begun = session.activity.open_turn
    if begun is None:
        return True
    async with begun.lock:
        if seen is not None and begun.turn is not seen:
            return False
        session.activity.open_turn = None
    return True


async def enqueue(session: Session, parts: Parts) -> None:
    """Queue the message; it is sent at the next tool boundary or when the turn ends."""
    session.live.queue.append(session.workspace.redactor.parts(parts))
    await _keep(session)


async def take_last(session: Session) -> Parts | None:
    """Remove the message that was queued last and return it; None if there is none."""
    if not session.live.queue:
        return None
    parts = session.live.queue.pop()
    await _keep(session)
    return parts


async def take_all(session: Session) -> Parts:
    """Remove all queued messages and return them in order, as one message; empty if there are none."""
    waiting, session.live.queue = session.live.queue, []
    await _keep(session)
    return tuple(part for parts in waiting for part in parts)


async def remove(session: Session, sent: Sequence[Parts]) -> None:
    """Remove these; messages queued meanwhile stay."""
    session.live.queue = [parts for parts in session.live.queue if not any(parts is one for one in sent)]
    await _keep(session)


async def _keep(session: Session) -> None:
    await session.workspace.local.prompts.set_queue(session.id, session.live.queue)
