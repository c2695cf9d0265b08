"""`/diff`: what differs between versions, or between one and the files as they are now."""

from ragforge.commands.base import Command, Outcome, Tell
from ragforge.commands.move_arguments import parse_arguments
from ragforge.session.state import Session
from ragforge.versions.comparison import compare
from ragforge.versions.difference import as_text, lines_changed
from ragforge.versions.words import compared_words, fenced

LINES_MAX = 1000


async def _run(session: Session, args: str) -> Outcome:
    given = parse_arguments("diff", args, words_max=2)
    compared = await compare(session, *given.words)
    added, removed = lines_changed(compared.files)
    title = compared_words(compared, added, removed)
    if not compared.files:
        return Tell(title)
    lines = as_text(compared.files).splitlines()
    more = (
        [f"{len(lines) - LINES_MAX} more lines: `ragforge diff` prints all."]
        if len(lines) > LINES_MAX
        else []
    )
    return Tell("\n".join([title, "", fenced("\n".join(lines[:LINES_MAX]), "diff"), *more]))


COMMAND = Command(
    "diff",
    "Show what the newest turn changed and what was edited since; or what differs since A, or from A to B.",
    _run,
    usage="[A [B]]",
)
