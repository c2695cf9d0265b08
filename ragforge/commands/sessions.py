"""`sessions`: resume, rename or delete one. In the interface a screen, on the command line by its id."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from ragforge.commands.base import Confirm, Instead, Open, Opens, Outcome, Report, Tell, Verb
from ragforge.domain.arguments import Face, ValuesOf, rest, shell_option, word
from ragforge.domain.errors import UsageError
from ragforge.domain.exports import ExportFormat, format_of
from ragforge.domain.ids import now
from ragforge.domain.printable import one_line
from ragforge.domain.words import cost_words, counted, first_words, moment_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ragforge.domain.shares import SharedSession
    from ragforge.session.consolidation import Expense
    from ragforge.session.machine import Library
    from ragforge.session.state import Session
    from ragforge.store.base_conversations import SessionRow

LIMIT_MAX = 10_000
DIGEST_CHARS_MAX = 200


class SessionsArguments(Struct, frozen=True):
    """Which to list."""

    words: Annotated[str, rest("WORDS", "To filter by.", only=Face.INTERFACE)] = ""
    all_projects: Annotated[bool, shell_option("--all", help="Include every project.")] = False
    limit: Annotated[
        int, Meta(ge=1, le=LIMIT_MAX), shell_option("--limit", metavar="N", help="At most this many.")
    ] = 50
    by: Annotated[
        str | None,
        shell_option("--by", metavar="NAME", help="Only those that this user started: a name or an id."),
    ] = None
    archived: Annotated[bool, shell_option("--archived", help="Only archived ones.")] = False
    json: Annotated[bool, shell_option("--json", help="Print a JSON list.")] = False


class RenameArguments(Struct, frozen=True):
    """Which, and its new title."""

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
            "--older-than",
            metavar="AGE",
            help="All sessions of the project without a message for this long: 30d, 8w.",
        ),
    ] = ""
    yes: Annotated[bool, shell_option("--yes", "-y", help="Do not ask.")] = False
    json: Annotated[bool, shell_option("--json", help="Print them as JSON.")] = False


class ConsolidateArguments(Struct, frozen=True):
    """How to print it."""

    json: Annotated[bool, shell_option("--json", help="Print the number as JSON.")] = False


class ExportArguments(Struct, frozen=True):
    """Which, where, and in which format."""

    id: Annotated[str, word("ID", "Its id, or a part of it.", values=ValuesOf.SESSIONS)]
    file: Annotated[str, word("FILE", "The file to write.")]
    format: Annotated[
        ExportFormat | None,
        shell_option(
            "--format",
            help="ragforge (to import elsewhere), md, html or json; by default, the "
            "file's extension decides.",
        ),
    ] = None
    files: Annotated[
        bool,
        shell_option(
            "--files", help="Include the versions of files; a version that contains a secret is left out."
        ),
    ] = False
    dry_run: Annotated[bool, shell_option("--dry-run", help="Only show what would be exported.")] = False


class ImportArguments(Struct, frozen=True):
    """Which file."""

    file: Annotated[str, word("FILE", "A file that `ragforge sessions export` wrote.")]


class UnarchiveArguments(Struct, frozen=True):
    """Which."""

    id: Annotated[str, word("ID", "Its id, or a part of it.", values=ValuesOf.SESSIONS)]


async def _run(session: "Session", args: SessionsArguments) -> Outcome:
    return Open("sessions", args.words)


async def _list(library: "Library", args: SessionsArguments) -> Outcome:
    from ragforge.session.persons import person_named, shows_persons

    project_id = None if args.all_projects else library.project.id
    limit = args.limit if args.by is None else LIMIT_MAX
    rows = await library.store.sessions.recent(project_id=project_id, archived=args.archived, limit=limit)
    marks = await _shared(library)
    if project_id and not args.archived and marks:
        every = await library.store.sessions.recent(limit=LIMIT_MAX)
        rows += [row for row in every if row.session.id in marks]
    begun_by = {row.session.id: row.session.begun_by(library.person) for row in rows}
    persons = set(begun_by.values())
    if args.by is not None and rows:
        wanted = person_named(args.by, persons)
        rows = [row for row in rows if begun_by[row.session.id] == wanted][: args.limit]
    here = [row.session.id for row in rows if row.session.project_id == library.project.id]
    digests: Mapping[str, str] = await _digests(library, here) if args.archived else {}
    if args.json:
        return Report(
            data=[
                {
                    **_as_json(row, begun_by[row.session.id], digests.get(row.session.id, "")),
                    "shared_by": marks[row.session.id].by if row.session.id in marks else None,
                }
                for row in rows
            ]
        )
    shown = begun_by if shows_persons(persons, library.person) else {}
    lines = [
        line
        for row in rows
        for line in (
            *_lines(row, shown.get(row.session.id, "")),
            *_shared_lines(marks, row),
            *_digest_lines(digests, row),
        )
    ]
    return Report(lines, () if rows else (await _none_words(library, args),))


async def _none_words(library: "Library", args: SessionsArguments) -> str:
    sessions, here = library.store.sessions, library.project.id
    if args.archived:
        return "This project has no archived sessions (--all lists those of every project)."
    if not args.all_projects and await sessions.recent(project_id=here, archived=True, limit=1):
        return "All sessions of this project are archived (--archived lists them)."
    return "No sessions in this project yet (--all lists those of every project)."


async def _shared(library: "Library") -> "Mapping[str, SharedSession]":
    """Return imported sessions, by their ids."""
    from ragforge.session.marks import shared_here

    return await shared_here(library.store, library.project.id)


def _shared_lines(marks: "Mapping[str, SharedSession]", row: "SessionRow") -> tuple[str, ...]:
    mark = marks.get(row.session.id)
    return (f"    shared by {one_line(mark.by)} on {moment_words(mark.exported_at)}",) if mark else ()


async def _digests(library: "Library", session_ids: "Sequence[str]") -> "Mapping[str, str]":
    from ragforge.session.consolidation import read_digests  # takes twice as long as a plain list

    return await read_digests(library, session_ids)


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
    shared = (
        f"; {counted(would.kept_turns, 'turn')} that another session shares {_stay(would.kept_turns)}"
        if would.kept_turns
        else ""
    )
    goes = f"{counted(would.turns, 'turn')} and {counted(would.tool_calls, 'tool call')}"
    facts = f"{record.title!r}: {goes} will be deleted{shared}."
    if not args.yes:
        unasked = "Standard input is not a terminal. Add --yes to delete the session without asking."
        return Confirm("Delete it permanently?", "", detail=facts, unasked=unasked)
    await delete_session(library.store, library.local, record.id)
    return Tell("Deleted.")


async def _archive(library: "Library", args: ArchiveArguments) -> Outcome:
    from ragforge.session.library import archive_session, find_session

    if bool(args.id) == bool(args.older_than):
        raise UsageError("Name the session to archive: its ID, or --older-than AGE for many.")
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
    from ragforge.session.consolidation import expense_of
    from ragforge.session.library import archive_session

    before = parse_when(args.older_than, now(), flag="--older-than")
    rows = await library.store.sessions.recent(project_id=library.project.id, archived=False, limit=LIMIT_MAX)
    quiet = [row.session for row in rows if row.session.last_activity_at < before]
    ids = [each.id for each in quiet]
    if ids and not args.yes:
        number = counted(len(ids), "session")
        unasked = f"Standard input is not a terminal. Add --yes to archive {number} without asking."
        detail = f"{number} of this project had no messages since {moment_words(before)}."
        detail += f" {_expense_words(await expense_of(library, quiet))}"
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
    notes = (
        (f"{counted(len(busy), 'session')} not archived, because open elsewhere: {', '.join(busy)}.",)
        if busy
        else ()
    )
    return Report((f"Archived {counted(len(archived), 'session')}.",), notes)


def _expense_words(expense: "Expense") -> str:
    """Return what the background will do, and its cost."""
    if not expense.model:
        return "Their summaries are made without a model, at no cost."
    if not expense.calls:
        return "They need no model calls."
    calls = counted(expense.calls, "call")
    return f"Their summaries take about {calls} to {expense.model}, {cost_words(expense.cost_usd)}."


async def _consolidate(session: "Session", args: ConsolidateArguments) -> Outcome:
    from ragforge.session.consolidation import consolidate

    if not session.workspace.settings.memory.enabled:
        raise UsageError("Memory is off. Set memory.enabled to consolidate sessions.")
    found = await consolidate(session)
    if args.json:
        return Report(data={"consolidated": found.done, "lacking": found.lacking})
    words = f"Consolidated {counted(found.done, 'archived session')} of this project."
    if found.lacking:
        more = f"{counted(found.lacking, 'archived session')} could not be consolidated now; try again later."
        return Report((words,), (more,))
    return Tell(words if found.done else "All archived sessions of this project are consolidated.")


async def _consolidate_instead(library: "Library", args: ConsolidateArguments) -> Outcome | Instead:
    """In a session, because it asks models: not in the interface, whose background does the same."""
    return Instead(Verb("consolidate", "", ConsolidateArguments, _consolidate, opens=Opens.NONE), args)


async def _unarchive(library: "Library", args: UnarchiveArguments) -> Outcome:
    from ragforge.session.library import find_session

    record = await find_session(library.store, args.id)
    await library.store.sessions.set_archived(record.id, None)
    return Tell(f"{record.id} is listed again.")


async def _export(library: "Library", args: ExportArguments) -> Outcome:
    from ragforge.domain.redact import Redactor
    from ragforge.session.databases import contents
    from ragforge.session.exporter import Exporter
    from ragforge.session.library import find_session, read_secrets

    record = await find_session(library.store, args.id)
    file = Path(args.file).expanduser()
    redactor = Redactor(await read_secrets(library))
    format = args.format or format_of(file, otherwise=ExportFormat.RAGFORGE)
    async with contents(library) as blobs:
        exporter = Exporter(library.store, blobs, redactor, library.person)
        if args.dry_run:
            return Report(await exporter.what_goes(record, files=args.files))
        return Report(await exporter.write(record, library.place.cwd / file, format, files=args.files))


async def _import(library: "Library", args: ImportArguments) -> Outcome:
    from ragforge.session.databases import contents
    from ragforge.session.session_import import Importer, import_session, read_received
    from ragforge.store.base import keep_project

    found = await read_received(library.place.cwd / Path(args.file).expanduser())
    await keep_project(library.store, library.project)
    async with contents(library) as blobs:
        person = library.person.id
        to = Importer(library.store, blobs, library.data_dir, library.project.id, person)
        is_new = await import_session(to, found)
    session = found.session
    if not is_new:
        return Report((f"{session.id} was already imported; nothing was changed.",))
    by = f"shared by {one_line(found.mark.by)} on {moment_words(found.mark.exported_at)}"
    lines = [
        f"Imported {one_line(session.title)!r}, {by}.",
        f"  ragforge -r {session.id}          shows it",
        f"  ragforge -r {session.id} --fork   continues in a session of yours",
    ]
    if memories := len(found.memories):
        number = "1 memory is" if memories == 1 else f"{memories:,} memories are"
        lines.append(f"{number} proposed. No model sees them until you accept them: ragforge proposals")
    return Report(lines)


def _digest_lines(digests: "Mapping[str, str]", row: "SessionRow") -> tuple[str, ...]:
    digest = digests.get(row.session.id, "")
    return (f"    {first_words(one_line(digest), DIGEST_CHARS_MAX)}",) if digest else ()


def _stay(turns: int) -> str:
    return "stays" if turns == 1 else "stay"


def _as_json(row: "SessionRow", person: str, digest: str) -> dict[str, object]:
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
        "digest": digest,
    }


def _lines(row: "SessionRow", person: str) -> tuple[str, str]:
    record = row.session
    when = moment_words(record.last_activity_at)
    return (
        f"{record.id}  {when}  {counted(row.turns, 'turn'):>10}  {one_line(record.title) or '(no title)'}",
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
            "Archive a session, or all old ones. They leave the list; search still finds them.",
            ArchiveArguments,
            shell=_archive,
        ),
        Verb(
            "consolidate",
            "Summarise each archived session of the project now instead of in the background.",
            ConsolidateArguments,
            shell=_consolidate_instead,
        ),
        Verb("unarchive", "List an archived session again.", UnarchiveArguments, shell=_unarchive),
        Verb(
            "export",
            "Write a session to a file, without secrets, to read it or import it elsewhere.",
            ExportArguments,
            shell=_export,
        ),
        Verb(
            "import",
            "Import a session that somebody else exported. No model sees it until you accept something "
            "from it.",
            ImportArguments,
            shell=_import,
        ),
        Verb(
            "delete",
            "Delete a session permanently; shows what will be deleted and asks first.",
            DeleteArguments,
            shell=_delete,
        ),
    ),
)
