"""`/log`: the tree of versions."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from ragforge.commands.base import Open, Outcome, Tell, Verb
from ragforge.domain.arguments import word
from ragforge.domain.errors import UsageError

if TYPE_CHECKING:
    from ragforge.session.state import Session


class LogArguments(Struct, frozen=True):
    """How many versions to list."""

    limit: Annotated[int | None, Meta(ge=1, le=10_000), word("N", "List the newest N.")] = None


async def _run(session: "Session", args: LogArguments) -> Outcome:
    from ragforge.versions.log import log_lines, read_log

    if args.limit is None:
        return Open("log")
    versions, project_id = session.workspace.store.versions, session.workspace.project.id
    log = await read_log(versions, project_id, await session.worktree.head(), limit=args.limit)
    if not log.rows:
        raise UsageError("There is no version yet: every turn makes one.")
    more = [f"Older ones follow: /log {2 * args.limit} lists more."] if log.more else []
    return Tell("\n".join(["```text", *log_lines(log), "```", *more]))


VERB = Verb(
    "log",
    "Look through the tree of versions: turns, your edits, restores, merges; with N, list them.",
    LogArguments,
    _run,
)
