"""`/redo`: bring again what was undone."""

from ragforge.commands.base import Command, Outcome
from ragforge.commands.move_arguments import COUNT_MAX, ON_CONFLICT, count_of, parse_arguments
from ragforge.commands.move_outcome import moved_or_asked
from ragforge.session.state import Session
from ragforge.versions.moves import redo

_COUNT_CHARS_MAX = len(str(COUNT_MAX)) - 1


async def _run(session: Session, args: str) -> Outcome:
    given = parse_arguments("redo", args, words_max=1)
    word = given.words[0] if given.words else "1"
    # Parts of ids that are nothing but digits are longer than any count that makes sense.
    is_count = word.isdecimal() and len(word) <= _COUNT_CHARS_MAX
    count = count_of(word, "The number of turns to redo") if is_count else 1
    turn = "" if is_count else word
    moving = redo(session, count, turn=turn, choices=given.choices, part=given.part)
    return await moved_or_asked(moving, f"redo {args}")


COMMAND = Command(
    "redo",
    "Bring again the turn that was undone last, or N of them, or the one with this id.",
    _run,
    usage=f"[N | ID] [--files | --chat] [{ON_CONFLICT} keep|restore|merge]",
    while_running=False,
)
