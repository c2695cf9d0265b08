"""`checkout`: move files and chat to any version."""

from typing import TYPE_CHECKING, Annotated

from ragforge.commands.base import Opens, Outcome, Verb
from ragforge.commands.move_verbs import MoveArguments, moved_or_asked
from ragforge.domain.arguments import ValuesOf, word

if TYPE_CHECKING:
    from ragforge.session.state import Session


class CheckoutArguments(MoveArguments, frozen=True, kw_only=True):
    """Where to, and how."""

    name: Annotated[
        str,
        word("NAME|VERSION", "A branch, a label, HEAD, or a part of an id.", values=ValuesOf.BRANCHES),
    ]


async def _run(session: "Session", args: CheckoutArguments) -> Outcome:
    from ragforge.session.moves import checkout

    moving = checkout(session, args.name, choices=args.choices, part=args.part)
    return await moved_or_asked(moving, VERB, args)


VERB = Verb(
    "checkout",
    "Switch files and chat to a branch or to any version.",
    CheckoutArguments,
    _run,
    more="Only files that differ are written. Files that another session has changed since then are kept "
    "unless --on-conflict says otherwise.",
    while_running=False,
    opens=Opens.NEWEST_OR_NEW,
)
