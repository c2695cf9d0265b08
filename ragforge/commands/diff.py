"""`diff`: the differences between versions, or between one and the current files."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from ragforge.commands.base import Opens, Outcome, Report, Verb
from ragforge.domain.arguments import ValuesOf, word
from ragforge.domain.printable import fenced

if TYPE_CHECKING:
    from ragforge.session.state import Session

LINES_MAX = 1000


class DiffArguments(Struct, frozen=True):
    """From which version to which."""

    start: Annotated[
        str,
        word("A", "From this version; by default from before the newest turn.", values=ValuesOf.BRANCHES),
    ] = ""
    end: Annotated[str, word("B", "To this version; by default now.", values=ValuesOf.BRANCHES)] = ""


async def _run(session: "Session", args: DiffArguments) -> Outcome:
    from ragforge.versions.comparison import compare
    from ragforge.versions.difference import as_text, lines_changed
    from ragforge.versions.words import compared_words

    compared = await compare(session.worktree, args.start, args.end)
    title = compared_words(compared, *lines_changed(compared.files))
    text = as_text(compared.files)
    lines = text.splitlines()
    block = ["", fenced("\n".join(lines[:LINES_MAX]), "diff")] if lines else []
    more = len(lines) - LINES_MAX
    told = [f"{more} more lines: `ragforge diff` prints all."] if more > 0 else []
    return Report(exact=text, notes=(title,), markdown="\n".join([title, *block, *told]))


VERB = Verb(
    "diff",
    "Show what has changed since before the newest turn, since version A, or from A to B.",
    DiffArguments,
    _run,
    opens=Opens.NONE,
    reads=True,
)
