"""`/exit`: leave."""

from ragforge.commands.base import Command, Outcome, Quit
from ragforge.session.state import Session


async def _run(session: Session, args: str) -> Outcome:
    return Quit()


COMMAND = Command("exit", "Leave; the resume command is left in the terminal.", _run, aliases=("quit",))
