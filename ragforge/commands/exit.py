"""`/exit`: leave."""

from typing import TYPE_CHECKING

from ragforge.commands.base import NoArguments, Outcome, Quit, Verb

if TYPE_CHECKING:
    from ragforge.session.state import Session


async def _run(session: "Session", args: NoArguments) -> Outcome:
    return Quit()


VERB = Verb(
    "exit", "Quit, and print the command that resumes the session.", NoArguments, _run, aliases=("quit",)
)
