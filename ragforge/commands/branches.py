"""`/branches`: the names of lines of work."""

from typing import TYPE_CHECKING

from ragforge.commands.base import NoArguments, Outcome, Tell, Verb
from ragforge.domain.ids import now

if TYPE_CHECKING:
    from ragforge.session.state import Session


async def _run(session: "Session", args: NoArguments) -> Outcome:
    from ragforge.versions.branches import list_branches
    from ragforge.versions.words import branch_words

    rows = await list_branches(session.worktree)
    if not rows:
        return Tell("There are no branches yet. `/branch NAME` starts one here.")
    return Tell("\n".join(f"- {branch_words(row, now())}" for row in rows))


VERB = Verb("branches", "List the branches and the versions that they point to.", NoArguments, _run)
