"""`sessions`: resume, rename or delete one. In the interface on a screen, on the command line by its id."""

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from ragforge.commands.base import Confirm, Open, Outcome, Report, Tell, Verb
from ragforge.domain.arguments import Face, ValuesOf, rest, shell_option, word
from ragforge.domain.errors import UsageError
from ragforge.domain.ids import now
from ragforge.domain.printable import one_line
from ragforge.domain.words import counted, moment_words

if TYPE_CHECKING:
    from ragforge.session.machine import Library
    from ragforge.session.state import Session
    from ragforge.store.base_conversations import SessionRow

LIMIT_MAX = 10_000


class SessionsArguments(Struct, frozen=True):
    """Which to list."""

    words: Annotated[str, rest("WORDS", "To filter by.", only=Face.INTERFACE)] = ""
    all_projects: Annotated[bool, shell_option("--all", help="Those of every project.")] = False
    limit: Annotated[
        int, Meta(ge=1, le=LIMIT_MAX), shell_option("--limit", metavar="N", help="At most this many.")
    ] = 50
    by: Annotated[
        str | None, shell_option("--by", metavar="NAME", help="Those that this user began: a name or an id.")
    ] = None
    archived: Annotated[bool, shell_option("--archived", help="Those that are archived.")] = False
    json: Annotated[bool, shell_option("--json", help="Print a JSON list.")] = False


class RenameArguments(Struct, frozen=True):
    """Which, and how it is called from now on."""

    id: Annotated[str, word("ID", "Its id, or a part of it.", values=ValuesOf.SESSIONS)]
    title: Annotated[str, rest("TITLE", "A few words.")]


class DeleteArguments(Struct, frozen=True):
    """Which."""

    id: Annotated[str, word("ID", "Its id, or a part of it.", values=ValuesOf.SESSIONS)]
    yes: Annotated[bool, shell_option("--yes", "-y", help="Do not ask.")] = False


class ArchiveArguments(Struct, frozen=True):
    """Which."""

    id: Annotated[str, word("ID", "Its id, or a part of it.", values=ValuesOf.SESSIONS)] = ""
    older_than: Annotated[
        str,
        shell_option(
            "--older-than", metavar="AGE", help="Those of the project without a message for so long: 30d, 8w."
        ),
    ] = ""
    yes: Annotated[bool, shell_option("--yes", "-y", help="Do not ask.")] = False
    json: Annotated[bool, shell_option("--json", help="Print which as JSON.")] = False


class UnarchiveArguments(Struct, frozen=True):
    """Which."""

    id: Annotated[str, word("ID", "Its id, or a part of it.", values=ValuesOf.SESSIONS)]


async def _run(session: "Session", args: SessionsArguments) -> Outcome:
    return Open("sessions", args.words)


async def _list(library: "Library", args: SessionsArguments) -> Outcome:
    from ragforge.session.persons import person_named

    project_id = None if args.all_projects else library.project.id
    limit = args.limit if args.by is None else LIMIT_MAX
    rows = await library.store.sessions.recent(project_id=project_id, archived=args.archived, limit=limit)
    begun_by = {row.session.id: row.session.begun_by(library.person) for row in rows}
    persons = set(begun_by.values())
    if args.by is not None and rows:
        wanted = person_named(args.by, persons)
        rows = [row for row in rows if begun_by[row.session.id] == wanted][: args.limit]
    if args.json:
        return Report(data=[_as_json(row, begun_by[row.session.id]) for row in rows])
    none = "No session of this project is archived" if args.archived else "No sessions in this project yet"
    none += " (--all lists those of every project)."
    shown = begun_by if len(persons) > 1 else {}
    lines = [line for row in rows for line in _lines(row, shown.get(row.session.id, ""))]
    return Report(lines, () if rows else (none,))


async def _rename(library: "Library", args: RenameArguments) -> Outcome:
    from ragforge.session.library import find_session, redacted

    words = " ".join(args.title.split())
    if not words:
        raise UsageError("A title needs at least one word.")
    record = await find_session(library.store, args.id)
    title = await redacted(library, words)
    await library.store.sessions.rename(record.id, title)
    return Tell(f"{record.id} is now called {title!r}.")


async def _delete(library: "Library", args: DeleteArguments) -> Outcome:
    from ragforge.session.library import delete_session, find_session

    record = await find_session(library.store, args.id)
    would = await library.store.sessions.delete(record.id, dry_run=True)
    shared = f"; {would.kept_turns} turns stay, another session shares them" if would.kept_turns else ""
    facts = f"{record.title!r}: {would.turns} turns and {would.tool_calls} tool calls would go{shared}."
    if not args.yes:
        unasked = "There is no terminal to ask in. Add --yes to delete the session without asking."
        return Confirm("Delete it for good?", "", detail=facts, unasked=unasked)
    await delete_session(library.store, library.local, record.id)
    return Tell("Deleted.")


async def _archive(library: "Library", args: ArchiveArguments) -> Outcome:
    from ragforge.session.library import archive_session, find_session

    if bool(args.id) == bool(args.older_than):
        raise UsageError("Say which session to archive: its ID, or --older-than AGE for many.")
    if args.older_than:
        return await _archive_older(library, args)
    record = await find_session(library.store, args.id)
    if record.archived_at is None:
        await archive_session(library.store, record.id)
    if args.json:
        return Report(data={"archived": [record.id], "open": []})
    return Tell(f"{record.id} is archived; search finds it, and `ragforge sessions --archived` lists it.")


async def _archive_older(library: "Library", args: ArchiveArguments) -> Outcome:
    from ragforge.commands.search import parse_when
    from ragforge.domain.errors import SessionBusy
    from ragforge.session.library import archive_session

    before = parse_when(args.older_than, now(), flag="--older-than")
    rows = await library.store.sessions.recent(project_id=library.project.id, archived=False, limit=LIMIT_MAX)
    ids = [row.session.id for row in rows if row.session.last_activity_at < before]
    if ids and not args.yes:
        number = counted(len(ids), "session")
        unasked = f"There is no terminal to ask in. Add --yes to archive {number} without asking."
        detail = f"{number} of this project had no message since {moment_words(before)}."
        return Confirm("Archive them?", "", detail=detail, unasked=unasked)
    archived, busy = list[str](), list[str]()
    for session_id in ids:
        try:
            await archive_session(library.store, session_id)
            archived.append(session_id)
        except SessionBusy:
            busy.append(session_id)
    if args.json:
        return Report(data={"archived": archived, "open": busy})
    notes = (f"{counted(len(busy), 'session')} open elsewhere stayed: {', '.join(busy)}.",) if busy else ()
    return Report((f"Archived {counted(len(archived), 'session')}.",), notes)


async def _unarchive(library: "Library", args: UnarchiveArguments) -> Outcome:
    from ragforge.session.library import find_session

    record = await find_session(library.store, args.id)
    await library.store.sessions.set_archived(record.id, None)
    return Tell(f"{record.id} is listed again.")


def _as_json(row: "SessionRow", person: str) -> dict[str, object]:
    return {
        "id": row.session.id,
        "title": row.session.title,
        "cwd": row.session.cwd,
        "started": row.session.started_at.isoformat(),
        "last_activity": row.session.last_activity_at.isoformat(),
        "turns": row.turns,
        "last_message": row.last_message,
        "model": row.session.model,
        "person": person,
        "archived": at.isoformat() if (at := row.session.archived_at) else None,
    }


def _lines(row: "SessionRow", person: str) -> tuple[str, str]:
    record = row.session
    when = moment_words(record.last_activity_at)
    return (
        f"{record.id}  {when}  {row.turns:>4} turns  {one_line(record.title) or '(no title)'}",
        f"    {one_line(record.cwd)}  {one_line(record.model) or 'no model'}"
        + (f"  {one_line(person)}" if person else ""),
    )


VERB = Verb(
    "sessions",
    "List the sessions of this folder and project; resume, rename or delete one.",
    SessionsArguments,
    _run,
    _list,
    aliases=("resume", "continue"),
    while_running=False,
    reads=True,
    verbs=(
        Verb("rename", "Give a session a title.", RenameArguments, shell=_rename),
        Verb(
            "archive",
            "Take a session, or all old ones, off the list; search still finds what was said in them.",
            ArchiveArguments,
            shell=_archive,
        ),
        Verb("unarchive", "List an archived session again.", UnarchiveArguments, shell=_unarchive),
        Verb(
            "delete", "Delete a session for good; asks, and says what goes.", DeleteArguments, shell=_delete
        ),
    ),
)
