"""`/branches`: the names of lines of work."""

from ragforge.commands.base import Command, Outcome, Tell
from ragforge.domain.ids import now
from ragforge.session.state import Session
from ragforge.versions.branches import list_branches
from ragforge.versions.words import branch_words


async def _run(session: Session, args: str) -> Outcome:
    rows = await list_branches(session)
    if not rows:
        return Tell("There are no branches yet. `/branch NAME` starts one here.")
    return Tell("\n".join(f"- {branch_words(row, now())}" for row in rows))


COMMAND = Command("branches", "List the branches and the versions that they point to.", _run)
