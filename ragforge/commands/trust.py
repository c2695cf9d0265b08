"""`/trust`: which instruction files of the project are read."""

from ragforge.commands.base import Command, Open, Outcome, Tell
from ragforge.session.instructions import all_instructions
from ragforge.session.state import Session


async def _run(session: Session, args: str) -> Outcome:
    if await all_instructions(session):
        return Open("trust")
    return Tell("This folder has no instruction files: no AGENTS.md, CLAUDE.md or GEMINI.md.")


COMMAND = Command(
    "trust",
    "Look at the project's instruction files, such as AGENTS.md, and choose whether the model reads them.",
    _run,
)
