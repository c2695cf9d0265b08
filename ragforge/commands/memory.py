"""`/memory`: what is remembered, to look through, change and forget."""

from ragforge.commands.base import Command, Open, Outcome
from ragforge.session.state import Session


async def _run(session: Session, args: str) -> Outcome:
    return Open("memory", args)


COMMAND = Command(
    "memory",
    "List what is remembered; filter, sort, edit, forget, and see what it rests on.",
    _run,
    usage="[WORDS]",
    while_running=False,
)
