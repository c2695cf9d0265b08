"""`redo`: redo what was undone."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from ragforge.commands.base import Opens, Outcome, Verb
from ragforge.commands.move_verbs import MoveArguments, moved_or_asked
from ragforge.domain.arguments import Former, word

if TYPE_CHECKING:
    from ragforge.session.state import Session


class RedoArguments(MoveArguments, frozen=True, kw_only=True):
    """How many turns or which one, and how."""

    turns: Annotated[
        int | str, Meta(ge=1), word("N|ID", "How many turns, or a part of the id of one turn.")
    ] = 1


async def _run(session: "Session", args: RedoArguments) -> Outcome:
    from ragforge.session.moves import redo

    count, turn = (1, args.turns) if isinstance(args.turns, str) else (args.turns, "")
    moving = redo(session, count, turn=turn, choices=args.choices, part=args.part)
    return await moved_or_asked(moving, VERB, args)


VERB = Verb(
    "redo",
    "Redo the turn that you undid last, the last N, or the one with this id.",
    RedoArguments,
    _run,
    while_running=False,
    opens=Opens.NEWEST,
    former=(Former("--turn ID", "ID"),),
)
