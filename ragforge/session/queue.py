"""Messages that wait while a turn runs. They are kept on disk as they come."""

from collections.abc import Sequence

from ragforge.domain.messages import Parts
from ragforge.session.state import Session


async def enqueue(session: Session, parts: Parts) -> None:
    """Let the message wait; it goes to the model at the next tool boundary or when the turn ends."""
    session.live.queue.append(session.workspace.redactor.parts(parts))
    await _keep(session)


async def take_last(session: Session) -> Parts | None:
    """The message that was queued last, taken back; None where none waits."""
    if not session.live.queue:
        return None
    parts = session.live.queue.pop()
    await _keep(session)
    return parts


async def take_all(session: Session) -> Parts:
    """All that wait, in their order, as one message; empty where none waits."""
    waiting, session.live.queue = session.live.queue, []
    await _keep(session)
    return tuple(part for parts in waiting for part in parts)


async def remove(session: Session, sent: Sequence[Parts]) -> None:
    """Take these out; what came meanwhile goes on waiting."""
    session.live.queue = [parts for parts in session.live.queue if not any(parts is one for one in sent)]
    await _keep(session)


async def _keep(session: Session) -> None:
    await session.workspace.local.set_queue(session.id, session.live.queue)
