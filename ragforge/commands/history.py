"""`/history`: what the contents of versions take, and removing what nothing needs."""

from collections.abc import Sequence

from ragforge.commands.base import Command, Confirm, Outcome, Tell
from ragforge.domain.errors import UsageError
from ragforge.session.state import Session
from ragforge.session.storage import clean_up, collected_words, history_size, size_lines

DAYS_MAX = 100_000
YES = "--yes"


async def _run(session: Session, args: str) -> Outcome:
    match args.split():
        case []:
            limit = session.workspace.settings.history.size_gb_max
            found = await history_size(session.workspace)
            lines = size_lines(found, size_gb_max=limit, gc="/history gc", older="/history gc DAYS")
            return Tell("\n\n".join(lines))
        case ["gc", *words]:
            return await _clean_up(session, words)
        case _:
            raise UsageError(
                "/history tells what is kept, /history gc removes what nothing needs, and "
                f"`/history gc DAYS` what only older versions need. It does not know {args.strip()!r}."
            )


async def _clean_up(session: Session, words: Sequence[str]) -> Outcome:
    """Find out what would go and ask; remove it once that was answered with yes."""
    days = [word for word in words if word != YES]
    keep_days = _days(days) if days else session.workspace.settings.history.keep_days
    is_confirmed = YES in words
    found = await clean_up(session.workspace, keep_days=keep_days, dry_run=not is_confirmed)
    told = collected_words(found, dry_run=not is_confirmed)
    if is_confirmed or not found.contents:
        return Tell(told)
    return Confirm(f"{told} Remove it for good?", " ".join(["history gc", *days, YES]))


def _days(words: Sequence[str]) -> int:
    """After how many days contents of versions are given up. Raises UsageError."""
    word = words[0]
    if len(words) > 1 or not (
        word.isascii() and word.isdecimal() and len(word) < 7 and int(word) <= DAYS_MAX
    ):
        raise UsageError(
            f"/history gc takes a number of days from 0 to {DAYS_MAX}, after which versions that no branch, "
            f"label or head needs give up their contents, and not {' '.join(words)!r}."
        )
    return int(word)


COMMAND = Command(
    "history",
    "Show what the contents of versions take on this machine; gc removes what nothing needs.",
    _run,
    usage="[gc [DAYS]]",
)
