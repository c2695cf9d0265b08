"""`/clear`: an empty screen."""

from ragforge.commands.base import ClearView, Command, Outcome
from ragforge.session.state import Session


async def _run(session: Session, args: str) -> Outcome:
    return ClearView()


COMMAND = Command(
    "clear",
    "Empty the screen. The session and what the model knows stay; /new starts afresh.",
    _run,
    while_running=False,
)
