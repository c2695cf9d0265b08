"""`/new`: another session in this folder."""

from ragforge.commands.base import Command, Outcome, StartNew
from ragforge.session.state import Session


async def _run(session: Session, args: str) -> Outcome:
    return StartNew()


COMMAND = Command("new", "Start a new session; this one is kept.", _run, while_running=False)
