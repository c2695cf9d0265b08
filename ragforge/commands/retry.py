"""`/retry`: go on from the last finished step."""

from ragforge.commands.base import Command, Outcome, Retry
from ragforge.session.state import Session


async def _run(session: Session, args: str) -> Outcome:
    return Retry()


COMMAND = Command(
    "retry",
    "Go on with a turn that failed, stopped or was interrupted; its tools are not repeated.",
    _run,
    while_running=False,
)
