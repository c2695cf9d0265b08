"""`/clear`: an empty screen."""

from typing import TYPE_CHECKING

from ragforge.commands.base import ClearView, NoArguments, Outcome, Verb

if TYPE_CHECKING:
    from ragforge.session.state import Session


async def _run(session: "Session", args: NoArguments) -> Outcome:
    return ClearView()


VERB = Verb(
    "clear",
    "Empty the screen. The session and what the model knows stay; /new starts a new session.",
    NoArguments,
    _run,
    while_running=False,
)
