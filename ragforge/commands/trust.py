"""`/trust`: which instruction files of the project are read."""

from typing import TYPE_CHECKING

from ragforge.commands.base import NoArguments, Open, Outcome, Tell, Verb

if TYPE_CHECKING:
    from ragforge.session.state import Session


async def _run(session: "Session", args: NoArguments) -> Outcome:
    from ragforge.session.instructions import all_instructions

    if await all_instructions(session):
        return Open("trust")
    return Tell("This folder has no instruction files: no AGENTS.md, CLAUDE.md or GEMINI.md.")


VERB = Verb(
    "trust",
    "Look at the project's instruction files, such as AGENTS.md, and choose whether the model reads them.",
    NoArguments,
    _run,
)
