"""`log`: the tree of versions."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from ragforge.commands.base import Open, Opens, Outcome, Report, Verb
from ragforge.domain.arguments import Former, shell_option, word
from ragforge.domain.commands import is_in_shell, typed

if TYPE_CHECKING:
    from ragforge.session.state import Session

LIMIT_MAX = 10_000
LIMIT_IN_SHELL = 30


class LogArguments(Struct, frozen=True):
    """How many versions to list."""

    limit: Annotated[int | None, Meta(ge=1, le=LIMIT_MAX), word("N", "List the newest N.")] = None
    json: Annotated[bool, shell_option("--json", help="Print a JSON list.")] = False


async def _run(session: "Session", args: LogArguments) -> Outcome:
    from ragforge.versions.log import log_json, log_lines, read_log

    if args.limit is None and not is_in_shell():
        return Open("log")
    limit = args.limit or LIMIT_IN_SHELL
    versions, project_id = session.workspace.store.versions, session.workspace.project.id
    found = await read_log(versions, project_id, await session.worktree.head(), limit=limit)
    if args.json:
        return Report(data=await log_json(versions, found))
    notes = () if found.rows else ("There is no version in this project yet: every turn makes one.",)
    if found.more:
        notes = (f"Older ones follow: {typed(f'log {2 * limit}')} lists more.",)
    return Report(log_lines(found), notes)


VERB = Verb(
    "log",
    "Look through the tree of versions: turns, your edits, restores, merges; with N, list them.",
    LogArguments,
    _run,
    opens=Opens.NONE,
    reads=True,
    former=(Former("--limit N", "N"),),
)
