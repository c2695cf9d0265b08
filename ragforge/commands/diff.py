"""`/diff`: what differs between versions, or between one and the files as they are now."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from ragforge.commands.base import Outcome, Tell, Verb
from ragforge.domain.arguments import ValuesOf, word

if TYPE_CHECKING:
    from ragforge.session.state import Session

LINES_MAX = 1000


class DiffArguments(Struct, frozen=True):
    """From which version to which."""

    start: Annotated[
        str,
        word("A", "Since this version; otherwise since before the newest turn.", values=ValuesOf.BRANCHES),
    ] = ""
    end: Annotated[str, word("B", "Up to this version; otherwise up to now.", values=ValuesOf.BRANCHES)] = ""


async def _run(session: "Session", args: DiffArguments) -> Outcome:
    from ragforge.versions.comparison import compare
    from ragforge.versions.difference import as_text, lines_changed
    from ragforge.versions.words import compared_words, fenced

    compared = await compare(session.worktree, args.start, args.end)
    title = compared_words(compared, *lines_changed(compared.files))
    if not compared.files:
        return Tell(title)
    lines = as_text(compared.files).splitlines()
    more = (
        [f"{len(lines) - LINES_MAX} more lines: `ragforge diff` prints all."]
        if len(lines) > LINES_MAX
        else []
    )
    return Tell("\n".join([title, "", fenced("\n".join(lines[:LINES_MAX]), "diff"), *more]))


VERB = Verb(
    "diff",
    "Show what the newest turn changed and what was edited since; or what differs since A, or from A to B.",
    DiffArguments,
    _run,
)
