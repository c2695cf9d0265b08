"""`/incognito`: go on in a run that leaves nothing behind."""

from typing import TYPE_CHECKING

from ragforge.commands.base import GoIncognito, NoArguments, Outcome, Tell, Verb

if TYPE_CHECKING:
    from ragforge.session.state import Session


async def _run(session: "Session", args: NoArguments) -> Outcome:
    if session.workspace.incognito:
        return Tell("This run is incognito: when it ends, everything it stored is removed. /exit ends it.")
    return GoIncognito()


VERB = Verb(
    "incognito",
    "Keep this session and start a new one in a temporary store, which is removed at the end.",
    NoArguments,
    _run,
    while_running=False,
)
