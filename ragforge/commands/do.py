"""`/do`: leave plan mode, and carry the plan out."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from ragforge.commands.base import Outcome, Send, Verb
from ragforge.domain.approvals import Mode
from ragforge.domain.arguments import option, rest
from ragforge.domain.errors import UsageError

if TYPE_CHECKING:
    from ragforge.session.state import Session

MESSAGE = "Carry out the plan."


class DoArguments(Struct, frozen=True):
    """How, and additional instructions."""

    words: Annotated[str, rest("WORDS", "What to do differently.")] = ""
    accept_edits: Annotated[
        bool, option("--accept-edits", help="Change files inside the project without asking.")
    ] = False


async def _run(session: "Session", args: DoArguments) -> Outcome:
    if session.live.consent.mode is not Mode.PLAN:
        raise UsageError("There is no plan to carry out, because plan mode is off. /plan TASK makes one.")
    before = session.live.consent.before_plan
    await session.set_mode(Mode.ACCEPT_EDITS if args.accept_edits else before)
    return Send(" ".join(filter(None, [MESSAGE, args.words.strip()])))


VERB = Verb(
    "do",
    "Leave plan mode and carry out the plan; the message `do it` does the same.",
    DoArguments,
    _run,
    while_running=False,
)
