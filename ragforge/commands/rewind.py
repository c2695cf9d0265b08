"""`/rewind`: go back to before a turn."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from ragforge.commands.base import Open, Outcome, Verb
from ragforge.commands.move_verbs import MoveArguments, moved_or_asked
from ragforge.domain.arguments import word

if TYPE_CHECKING:
    from ragforge.session.state import Session


class RewindArguments(MoveArguments, frozen=True, kw_only=True):
    """Which turn, and how."""

    number: Annotated[int | None, Meta(ge=1), word("N", "The number of a turn.")] = None


async def _run(session: "Session", args: RewindArguments) -> Outcome:
    from ragforge.session.moves import rewind

    if args.number is None:
        return Open("rewind")
    moving = rewind(session, args.number, choices=args.choices, part=args.part)
    return await moved_or_asked(moving, VERB, args)


VERB = Verb(
    "rewind",
    "Go back to before turn N, with files and chat; without N, choose a turn.",
    RewindArguments,
    _run,
    while_running=False,
)
