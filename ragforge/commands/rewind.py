"""`/rewind`: go back to before a turn."""

from ragforge.commands.base import Command, Open, Outcome
from ragforge.commands.move_arguments import ON_CONFLICT, count_of, parse_arguments
from ragforge.commands.move_outcome import moved_or_asked
from ragforge.session.state import Session
from ragforge.versions.moves import rewind


async def _run(session: Session, args: str) -> Outcome:
    given = parse_arguments("rewind", args, words_max=1)
    if not given.words:
        return Open("rewind")
    number = count_of(given.words[0], "The number of a turn")
    moving = rewind(session, number, choices=given.choices, part=given.part)
    return await moved_or_asked(moving, f"rewind {args}")


COMMAND = Command(
    "rewind",
    "Go back to before turn N, files and chat; without N, choose from the turns.",
    _run,
    usage=f"[N] [--files | --chat] [{ON_CONFLICT} keep|restore|merge]",
    while_running=False,
)
