"""`/rename`: set the session's title."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from ragforge.commands.base import Outcome, Tell, Verb
from ragforge.domain.arguments import rest
from ragforge.domain.errors import UsageError
from ragforge.domain.printable import inline_code

if TYPE_CHECKING:
    from ragforge.session.state import Session


TITLE_CHARS_MAX = 200


class RenameArguments(Struct, frozen=True):
    """What follows the name."""

    title: Annotated[str, rest("TITLE", "The new title.")]


async def _run(session: "Session", args: RenameArguments) -> Outcome:
    words = " ".join(args.title.split())
    if not words:
        raise UsageError("Give the new title: /rename TITLE.")
    # Redacted before it is cut: a truncated secret cannot be recognised.
    title = session.workspace.redactor.text(words)[:TITLE_CHARS_MAX]
    session.change(title=title)
    if session.live.stored and not session.live.read_only:
        await session.workspace.store.sessions.rename(session.id, title)
    return Tell(f"This session is now called {inline_code(title)}.")


VERB = Verb("rename", "Give this session a title.", RenameArguments, _run)
