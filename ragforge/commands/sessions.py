"""`/sessions`: the list of sessions, to resume, rename or delete one."""

from ragforge.commands.base import Command, Open, Outcome
from ragforge.session.state import Session


async def _run(session: Session, args: str) -> Outcome:
    return Open("sessions", args)


COMMAND = Command(
    "sessions",
    "List the sessions of this folder and project; resume, rename or delete one.",
    _run,
    usage="[WORDS]",
    aliases=("resume", "continue"),
    while_running=False,
)
