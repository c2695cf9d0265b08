"""`/clear`: an empty screen."""

from typing import TYPE_CHECKING

from ragforge.commands.base import ClearView, NoArguments, Outcome, Verb

if TYPE_CHECKING:
    from ragforge.session.state import Session


async def _run(session: "Session", args: NoArguments) -> Outcome:
    return ClearView()


VERB = Verb(
    "clear",
    "Clear the screen. The session continues, and the model still knows everything; /new starts a new "
    "session.",
    NoArguments,
    _run,
    while_running=False,
)
