"""`/search`: find what was said and done, in every session of the project."""

from ragforge.commands.base import Command, Open, Outcome
from ragforge.session.state import Session


async def _run(session: Session, args: str) -> Outcome:
    return Open("search", args)


COMMAND = Command(
    "search",
    "Search what was said, done and remembered in this project.",
    _run,
    usage="[WORDS]",
    while_running=False,
)
