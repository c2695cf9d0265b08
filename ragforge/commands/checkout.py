"""`/checkout`: bring files and chat to any version."""

from ragforge.commands.base import Command, Outcome
from ragforge.commands.move_arguments import ON_CONFLICT, parse_arguments
from ragforge.commands.move_outcome import moved_or_asked
from ragforge.domain.errors import UsageError
from ragforge.session.state import Session
from ragforge.versions.moves import checkout


async def _run(session: Session, args: str) -> Outcome:
    given = parse_arguments("checkout", args, words_max=1)
    if not given.words:
        raise UsageError("Say where to: /checkout NAME or VERSION. /branches and /log list them.")
    moving = checkout(session, given.words[0], choices=given.choices, part=given.part)
    return await moved_or_asked(moving, f"checkout {args}")


COMMAND = Command(
    "checkout",
    "Bring files and chat to a branch's newest version, or to any version.",
    _run,
    usage=f"NAME | VERSION [--files | --chat] [{ON_CONFLICT} keep|restore|merge]",
    while_running=False,
)
