"""`undo`: undo the newest turns, files and chat."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from ragforge.commands.base import Opens, Outcome, Verb
from ragforge.commands.move_verbs import MoveArguments, moved_or_asked
from ragforge.domain.arguments import word

if TYPE_CHECKING:
    from ragforge.session.state import Session


class UndoArguments(MoveArguments, frozen=True, kw_only=True):
    """How many turns, and how."""

    count: Annotated[int, Meta(ge=1), word("N", "How many turns.")] = 1


async def _run(session: "Session", args: UndoArguments) -> Outcome:
    from ragforge.session.moves import undo

    moving = undo(session, args.count, choices=args.choices, part=args.part)
    return await moved_or_asked(moving, VERB, args)


VERB = Verb(
    "undo",
    "Undo the newest turn, or the newest N: file changes and chat.",
    UndoArguments,
    _run,
    more="Changes that you or another session made since then stay. Nothing is lost: `ragforge redo` "
    "redoes the turn, and `ragforge log` lists every version.",
    while_running=False,
    opens=Opens.NEWEST,
)
