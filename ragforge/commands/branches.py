"""`/branches`: the names of lines of work."""

from typing import TYPE_CHECKING

from ragforge.commands.base import NoArguments, Outcome, Report, Verb
from ragforge.domain.commands import typed
from ragforge.domain.ids import now

if TYPE_CHECKING:
    from ragforge.session.state import Session


async def _run(session: "Session", args: NoArguments) -> Outcome:
    from ragforge.versions.branches import list_branches
    from ragforge.versions.words import branch_words

    lines = [branch_words(row, now()) for row in await list_branches(session.worktree)]
    none = f"There are no branches yet. `{typed('branch NAME')}` starts one here."
    return Report(lines, () if lines else (none,), markdown="\n".join(f"- {line}" for line in lines) or none)


VERB = Verb(
    "branches", "List the branches and the versions that they point to.", NoArguments, _run, reads=True
)
