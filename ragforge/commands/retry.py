"""`/retry`: continue from the last finished step."""

from typing import TYPE_CHECKING

from ragforge.commands.base import NoArguments, Outcome, Retry, Verb

if TYPE_CHECKING:
    from ragforge.session.state import Session


async def _run(session: "Session", args: NoArguments) -> Outcome:
    return Retry()


VERB = Verb(
    "retry",
    "Continue a failed, stopped or interrupted turn. Its tools are not run again.",
    NoArguments,
    _run,
    while_running=False,
)
