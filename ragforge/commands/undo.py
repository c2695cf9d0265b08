"""`/undo`: take back the newest turns, files and chat."""

from ragforge.commands.base import Command, Outcome
from ragforge.commands.move_arguments import ON_CONFLICT, count_of, parse_arguments
from ragforge.commands.move_outcome import moved_or_asked
from ragforge.session.state import Session
from ragforge.versions.moves import undo


async def _run(session: Session, args: str) -> Outcome:
    given = parse_arguments("undo", args, words_max=1)
    count = count_of(given.words[0], "The number of turns to undo") if given.words else 1
    moving = undo(session, count, choices=given.choices, part=given.part)
    return await moved_or_asked(moving, f"undo {args}")


COMMAND = Command(
    "undo",
    "Take back the newest turn, or N of them: what it changed in the files, and the chat.",
    _run,
    usage=f"[N] [--files | --chat] [{ON_CONFLICT} keep|restore|merge]",
    while_running=False,
)
