"""`/new`, or `/clear`: a new session in this folder."""

from typing import TYPE_CHECKING

from ragforge.commands.base import NoArguments, Outcome, StartNew, Verb
from ragforge.domain.ids import short_id
from ragforge.domain.printable import one_line
from ragforge.domain.words import first_words

if TYPE_CHECKING:
    from ragforge.session.state import Session

TITLE_CHARS_MAX = 60


async def _run(session: "Session", args: NoArguments) -> Outcome:
    return StartNew(_kept(session))


def _kept(session: "Session") -> str:
    """Return which session is left, and how to resume it; empty if nothing was said in it."""
    if not session.live.stored:
        return ""
    title = first_words(one_line(session.live.record.title), TITLE_CHARS_MAX)
    named = f'The previous session, "{title}", is' if title else "The previous session is"
    if session.workspace.incognito:
        return f"{named} kept until you leave; /sessions lists it."
    return f"{named} kept: /sessions lists it, and `ragforge -r {short_id(session.id)}` resumes it."


VERB = Verb(
    "new",
    "Start a new session with an empty screen. This one is kept.",
    NoArguments,
    _run,
    aliases=("clear",),
    while_running=False,
)
