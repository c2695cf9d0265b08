"""`/compact`: send less of the conversation word for word, from now on."""

from ragforge.commands.base import Command, Outcome, Tell
from ragforge.session.context import compact, dropped_words
from ragforge.session.state import Session


async def _run(session: Session, args: str) -> Outcome:
    before = session.live.window.tokens
    dropped = await compact(session)
    if dropped is None:
        return Tell(f"There is nothing to compact: {before:,} tokens go to the model word for word.")
    return Tell(dropped_words([dropped]))


COMMAND = Command(
    "compact", "Send older turns and results no longer word for word.", _run, while_running=False
)
