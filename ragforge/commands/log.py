"""`/log`: the tree of versions."""

from ragforge.commands.base import Command, Open, Outcome, Tell
from ragforge.commands.move_arguments import count_of, parse_arguments
from ragforge.domain.errors import UsageError
from ragforge.session.state import Session
from ragforge.versions.log import log_lines, read_log


async def _run(session: Session, args: str) -> Outcome:
    given = parse_arguments("log", args, words_max=1)
    if not given.words:
        return Open("log")
    limit = count_of(given.words[0], "The number of versions to list")
    workspace = session.workspace
    log = await read_log(
        workspace.store.versions, workspace.project.id, await session.worktree.head(), limit=limit
    )
    if not log.rows:
        raise UsageError("There is no version yet: every turn makes one.")
    more = [f"Older ones follow: /log {2 * limit} lists more."] if log.more else []
    return Tell("\n".join(["```text", *log_lines(log), "```", *more]))


COMMAND = Command(
    "log",
    "Look through the tree of versions: turns, your edits, restores, merges; with N, list them.",
    _run,
    usage="[N]",
)
