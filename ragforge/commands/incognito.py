"""`/incognito`: go on in a run that leaves nothing behind."""

from typing import TYPE_CHECKING

from ragforge.commands.base import GoIncognito, NoArguments, Outcome, Tell, Verb

if TYPE_CHECKING:
    from ragforge.session.state import Session


async def _run(session: "Session", args: NoArguments) -> Outcome:
    if session.workspace.incognito:
        return Tell("This run is incognito: when it ends, all that it kept is removed. /exit ends it.")
    return GoIncognito()


VERB = Verb(
    "incognito",
    "Leave this session, which is kept, and start anew in a temporary store: nothing of it stays.",
    NoArguments,
    _run,
    while_running=False,
)
