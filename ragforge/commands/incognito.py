"""`/incognito`: go on in a run that leaves nothing behind."""

from ragforge.commands.base import Command, GoIncognito, Outcome, Tell
from ragforge.session.state import Session


async def _run(session: Session, args: str) -> Outcome:
    if session.workspace.incognito:
        return Tell("This run is incognito: when it ends, all that it kept is removed. /exit ends it.")
    return GoIncognito()


COMMAND = Command(
    "incognito",
    "Leave this session, which is kept, and start anew in a temporary store: nothing of it stays.",
    _run,
    while_running=False,
)
