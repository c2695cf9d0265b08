"""`/archive`: leave this session, and remove it from the list."""

from typing import TYPE_CHECKING

from ragforge.commands.base import NoArguments, Outcome, StartNew, Verb
from ragforge.domain.errors import UsageError
from ragforge.domain.ids import now

if TYPE_CHECKING:
    from ragforge.session.state import Session


async def _run(session: "Session", args: NoArguments) -> Outcome:
    if not session.live.stored:
        raise UsageError("This session has no messages yet, so it cannot be archived.")
    if session.live.read_only:
        raise UsageError("This session is open elsewhere. Archive it there.")
    moment = now()
    await session.workspace.store.sessions.set_archived(session.id, moment)
    session.workspace.background.wake()  # it is consolidated
    session.change(archived_at=moment)  # if it stays in front, its next message lists it again
    return StartNew("The previous session is archived; search and /sessions still find it.")


VERB = Verb("archive", "Archive this session and start a new one.", NoArguments, _run, while_running=False)
