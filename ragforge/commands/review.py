"""`/review`: have the present changes looked at."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from ragforge.commands.base import Outcome, Send, Verb
from ragforge.domain.arguments import rest
from ragforge.domain.errors import UsageError

if TYPE_CHECKING:
    from ragforge.session.state import Session

DIFF_CHARS_MAX = 60_000

_TASK = (
    "Review these changes of the project, which are not committed yet. Look at the code around them before "
    "you judge. Change nothing. Say first what would go wrong: mistakes, lost cases, security, what is not "
    "tested; each with its file and line, how it shows, and what to do. Then what could be simpler. Leave "
    "out what a formatter would say, and say so where you found nothing.{more}\n\n"
    "{fence}diff\n{diff}\n{fence}"
)


class ReviewArguments(Struct, frozen=True):
    """What to mind."""

    words: Annotated[str, rest("WORDS", "What to look at above all.")] = ""


async def _run(session: "Session", args: ReviewArguments) -> Outcome:
    from ragforge.session.present_changes import present_changes

    diff = await present_changes(session)
    if not diff.strip():
        raise UsageError("There is nothing to review: no file has changed since the last commit.")
    cut = len(diff) > DIFF_CHARS_MAX
    more = f" Above all: {args.words}." if args.words else ""
    more += " The diff is longer than this; read the rest with git." if cut else ""
    text = _TASK.format(more=more, diff=diff[:DIFF_CHARS_MAX], fence="`" * 6)
    return Send(text, typed=f"/review {args.words}".rstrip())


VERB = Verb(
    "review",
    "Have the changes reviewed that are not committed; without git, those of the newest turn and since.",
    ReviewArguments,
    _run,
    while_running=False,
)
