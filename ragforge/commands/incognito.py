"""`/incognito`: continue in a run without traces."""

from typing import TYPE_CHECKING

from ragforge.commands.base import GoIncognito, NoArguments, Outcome, Tell, Verb

if TYPE_CHECKING:
    from ragforge.session.state import Session


async def _run(session: "Session", args: NoArguments) -> Outcome:
    if session.workspace.incognito:
        return Tell("This run is incognito: everything it stored is removed when you quit.")
    return GoIncognito()


VERB = Verb(
    "incognito",
    "Start a new session in a temporary store, which is removed at the end. This session is kept.",
    NoArguments,
    _run,
    while_running=False,
)
