"""`/sessions`: the list of sessions, to resume, rename or delete one."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from ragforge.commands.base import Open, Outcome, Verb
from ragforge.domain.arguments import rest

if TYPE_CHECKING:
    from ragforge.session.state import Session


class SessionsArguments(Struct, frozen=True):
    """What follows the name."""

    words: Annotated[str, rest("WORDS", "To filter by.")] = ""


async def _run(session: "Session", args: SessionsArguments) -> Outcome:
    return Open("sessions", args.words)


VERB = Verb(
    "sessions",
    "List the sessions of this folder and project; resume, rename or delete one.",
    SessionsArguments,
    _run,
    aliases=("resume", "continue"),
    while_running=False,
)
