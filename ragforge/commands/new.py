"""`/new`: another session in this folder."""

from typing import TYPE_CHECKING

from ragforge.commands.base import NoArguments, Outcome, StartNew, Verb

if TYPE_CHECKING:
    from ragforge.session.state import Session


async def _run(session: "Session", args: NoArguments) -> Outcome:
    return StartNew()


VERB = Verb("new", "Start a new session. This one is kept.", NoArguments, _run, while_running=False)
