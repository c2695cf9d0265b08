"""`/rename`: give the session a title."""

from ragforge.commands.base import Command, Outcome, Tell
from ragforge.domain.errors import UsageError
from ragforge.session.state import Session

TITLE_CHARS_MAX = 200


async def _run(session: Session, args: str) -> Outcome:
    title = " ".join(args.split())[:TITLE_CHARS_MAX]
    if not title:
        raise UsageError("Say the new title: /rename TITLE.")
    title = session.workspace.redactor.text(title)
    session.change(title=title)
    if session.live.stored and not session.live.read_only:
        await session.workspace.store.sessions.rename(session.id, title)
    return Tell(f"This session is now called **{title}**.")


COMMAND = Command("rename", "Give this session a title.", _run, usage="TITLE")
