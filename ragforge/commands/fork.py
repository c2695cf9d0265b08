"""`/fork`: go on from here in a session of its own."""

from ragforge.commands.base import Command, Fork, Outcome
from ragforge.domain.errors import UsageError
from ragforge.session.state import Session


async def _run(session: Session, args: str) -> Outcome:
    if not session.live.stored:
        raise UsageError("Nothing was said here yet, so there is nothing to fork.")
    if args and not (args.isdecimal() and int(args) > 0):
        raise UsageError(f"/fork takes the number of a turn, counted from 1, and not {args!r}.")
    return Fork(int(args) if args else None)


COMMAND = Command(
    "fork",
    "Go on from here, or from an earlier turn, in a session of its own.",
    _run,
    usage="[TURN]",
    while_running=False,
)
