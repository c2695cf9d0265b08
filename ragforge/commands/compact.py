"""`/compact`: send less of the conversation verbatim, from now on."""

from typing import TYPE_CHECKING

from ragforge.commands.base import NoArguments, Outcome, Tell, Verb

if TYPE_CHECKING:
    from ragforge.session.state import Session


async def _run(session: "Session", args: NoArguments) -> Outcome:
    from ragforge.session.context import compact, dropped_words

    before = session.live.view.window.tokens
    dropped = await compact(session)
    if dropped is None:
        return Tell(f"Nothing to compact: only {before:,} tokens are sent to the model word for word.")
    return Tell(dropped_words([dropped]))


VERB = Verb(
    "compact",
    "Stop sending older turns and results word for word.",
    NoArguments,
    _run,
    while_running=False,
)
