"""`/review`: review the current changes, with the program `review`."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from ragforge.commands.base import Outcome, Verb
from ragforge.commands.run import VERB as RUN
from ragforge.commands.run import RunArguments
from ragforge.domain.arguments import rest

if TYPE_CHECKING:
    from ragforge.session.state import Session


class ReviewArguments(Struct, frozen=True):
    """Additional instructions."""

    words: Annotated[str, rest("WORDS", "What to focus on.")] = ""


async def _run(session: "Session", args: ReviewArguments) -> Outcome:
    return await RUN.run(session, RunArguments("shipped:review", words=args.words))


VERB = Verb(
    "review",
    "Have two models review the uncommitted changes; without git, the changes since before the newest turn.",
    ReviewArguments,
    _run,
    while_running=False,
)
