"""`/fork`: continue from here in a separate session."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from ragforge.commands.base import Fork, Outcome, Verb
from ragforge.domain.arguments import word
from ragforge.domain.errors import UsageError

if TYPE_CHECKING:
    from ragforge.session.state import Session


class ForkArguments(Struct, frozen=True):
    """From where."""

    turn: Annotated[int | None, Meta(ge=1), word("TURN", "Its number, counted from 1.")] = None


async def _run(session: "Session", args: ForkArguments) -> Outcome:
    if not session.live.stored:
        raise UsageError("This session has no messages yet, so there is nothing to fork.")
    return Fork(args.turn)


VERB = Verb(
    "fork",
    "Continue from here, or from an earlier turn, in a new session.",
    ForkArguments,
    _run,
    while_running=False,
)
