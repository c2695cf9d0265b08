"""`log`: the tree of versions."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from ragforge.commands.base import Open, Opens, Outcome, Report, Verb
from ragforge.domain.arguments import Former, option, shell_option, word
from ragforge.domain.commands import has_screens, typed

if TYPE_CHECKING:
    from ragforge.session.state import Session

LIMIT_MAX = 10_000
LIMIT_IN_SHELL = 30
NO_VERSION = "This project has no versions yet. Every turn makes one."


class LogArguments(Struct, frozen=True):
    """How many versions to list."""

    limit: Annotated[int | None, Meta(ge=1, le=LIMIT_MAX), word("N", "List the newest N.")] = None
    by: Annotated[
        str | None,
        option("--by", metavar="NAME", help="Only versions of this user's turns: a name or an id."),
    ] = None
    json: Annotated[bool, shell_option("--json", help="Print a JSON list.")] = False


async def _run(session: "Session", args: LogArguments) -> Outcome:
    from ragforge.session.persons import writer_named, writers_shown
    from ragforge.versions.log import log_json, log_lines, read_log, read_log_of

    if args.limit is None and args.by is None and has_screens():
        return Open("log")
    limit = args.limit or LIMIT_IN_SHELL
    store, project_id = session.workspace.store, session.workspace.project.id
    by = await writer_named(store, args.by) if args.by else ""
    head = await session.worktree.head()
    if by:
        found = await read_log_of(store, project_id, head, person=by, limit=limit)
    else:
        found = await read_log(store.versions, project_id, head, limit=limit)
    ids = [row.version.turn_id for row in found.rows]
    writers, shown = await writers_shown(store, ids, session.workspace.person)
    if args.json:
        return Report(data=await log_json(store.versions, found, writers))
    none = f"{by} has no versions in this project." if by else NO_VERSION
    notes = () if found.rows else (none,)
    if found.more:
        more = f"log {2 * limit}{f' --by {args.by}' if args.by else ''}"
        notes = (f"There are older versions: {typed(more)} lists more.",)
    return Report(log_lines(found, writers if shown else {}), notes)


VERB = Verb(
    "log",
    "Browse the tree of versions: turns, your edits, restores, merges; with N, list them.",
    LogArguments,
    _run,
    opens=Opens.NONE,
    reads=True,
    former=(Former("--limit N", "N"),),
)
