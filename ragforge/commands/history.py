"""`/history`: what the contents of versions take, and removing what nothing needs."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from ragforge.commands.base import Confirm, NoArguments, Outcome, Tell, Verb
from ragforge.domain.arguments import option, word, written

if TYPE_CHECKING:
    from ragforge.session.state import Session

DAYS_MAX = 100_000


class CleanUpArguments(Struct, frozen=True):
    """How much is kept. yes: the question what would go was answered."""

    days: Annotated[
        int | None,
        Meta(ge=0, le=DAYS_MAX),
        word("DAYS", "Versions older than this that no branch, label or head needs give up their contents."),
    ] = None
    yes: Annotated[bool, option("--yes", hidden=True)] = False


async def _run(session: "Session", args: NoArguments) -> Outcome:
    from ragforge.session.storage import history_size, size_lines

    limit = session.workspace.settings.history.size_gb_max
    found = await history_size(session.workspace)
    lines = size_lines(found, size_gb_max=limit, gc="/history gc", older="/history gc DAYS")
    return Tell("\n\n".join(lines))


async def _clean_up(session: "Session", args: CleanUpArguments) -> Outcome:
    """Find out what would go and ask; remove it once that was answered with yes."""
    from ragforge.session.storage import clean_up, collected_words

    keep_days = session.workspace.settings.history.keep_days if args.days is None else args.days
    found = await clean_up(session.workspace, keep_days=keep_days, dry_run=not args.yes)
    told = collected_words(found, dry_run=not args.yes)
    if args.yes or not found.contents:
        return Tell(told)
    then = written(CleanUpArguments(args.days, yes=True))
    return Confirm(f"{told} Remove it for good?", f"history gc {then}")


VERB = Verb(
    "history",
    "Show what the contents of versions take on this machine; gc removes what nothing needs.",
    NoArguments,
    _run,
    verbs=(Verb("gc", "Remove contents that nothing needs.", CleanUpArguments, _clean_up),),
)
