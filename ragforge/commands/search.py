"""`search`: find what was said and done. In the interface while typing, on the command line as a list."""

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct
from msgspec.structs import replace

from ragforge.commands.base import Emphasis, Open, Outcome, Report, Span, Verb
from ragforge.domain.arguments import ValuesOf, option, rest, shell_option
from ragforge.domain.errors import UsageError
from ragforge.domain.printable import one_line
from ragforge.domain.words import moment_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ragforge.domain.search import Hit, HitKind, Query
    from ragforge.memory.recall.search import RankedHit, SearchResults
    from ragforge.session.machine import Library
    from ragforge.session.state import Session

HITS_MAX = 1_000
BY = "--by "
_BY_LINE = re.compile(rf"\s*{BY.strip()}[\s=]+(\S+)\s*")
_AGO = {"h": "hours", "d": "days", "w": "weeks"}


class SearchArguments(Struct, frozen=True):
    """What to search for, and where."""

    words: Annotated[str, rest("WORDS", "What to look for.")] = ""
    all_projects: Annotated[bool, shell_option("--all", help="Search every project.")] = False
    limit: Annotated[
        int,
        Meta(ge=1, le=HITS_MAX),
        shell_option("--limit", metavar="N", help="At most this many hits."),
    ] = 10
    since: Annotated[
        str | None,
        shell_option("--since", metavar="WHEN", help="A date such as 2026-11-21, or 12h, 3d, 2w."),
    ] = None
    until: Annotated[
        str | None,
        shell_option("--until", metavar="WHEN", help="Only from before this date, written as for --since."),
    ] = None
    by: Annotated[
        str | None, option("--by", metavar="NAME", help="Only what this user said: a name or an id.")
    ] = None
    session: Annotated[
        str | None,
        shell_option("--session", metavar="ID", help="Search only this session.", values=ValuesOf.SESSIONS),
    ] = None
    kinds: Annotated[
        tuple[str, ...],
        shell_option(
            "--kind",
            metavar="KIND",
            help="Only turn, tool_call, summary, memory, version or program; repeatable.",
        ),
    ] = ()
    explain: Annotated[bool, shell_option("--explain", help="Show how each source scored each hit.")] = False
    json: Annotated[bool, shell_option("--json", help="Print one JSON object.")] = False

    def query(self, *, project_id: str, session_id: str | None, person: str, by: str) -> "Query":
        """Return the query. Raises UsageError for an invalid date or kind."""
        from ragforge.domain.search import HitKind, Query

        moment = datetime.now(UTC)
        return Query(
            text=self.words,
            project_id=None if self.all_projects or session_id else project_id,
            session_id=session_id,
            person=person,
            by=by,
            since=parse_when(self.since, moment, flag="--since") if self.since else None,
            until=parse_when(self.until, moment, flag="--until") if self.until else None,
            kinds=tuple(parse_kind(kind) for kind in dict.fromkeys(self.kinds)) or tuple(HitKind),
            limit=self.limit,
        )


async def _run(session: "Session", args: SearchArguments) -> Outcome:
    return Open("search", f"{BY}{args.by} {args.words}" if args.by else args.words)


async def _list(library: "Library", args: SearchArguments) -> Outcome:
    from ragforge.memory.recall.explain import marked
    from ragforge.session.library import find_session
    from ragforge.session.marks import search_everything, shared_among
    from ragforge.session.persons import writer_named, writers_shown
    from ragforge.session.recall_embedder import close_recall, forgotten_now, open_recall

    if not args.words.strip():
        raise UsageError('Add what to look for, for example: ragforge search "database migration".')
    session = (await find_session(library.store, args.session)).id if args.session else None
    by = await writer_named(library.store, args.by) if args.by else ""
    query = args.query(project_id=library.project.id, session_id=session, person=library.person.id, by=by)
    searching = open_recall(library.store, library.loaded.settings, library.environ)
    try:
        answer = await search_everything(searching, query)
        answer = marked(answer, await forgotten_now(library.store, library.project.id))
    finally:
        await close_recall(searching)
    notes = (answer.limited,) if answer.limited else ()
    writers, shown = await writers_shown(library.store, [hit.turn_id for hit in answer.hits], library.person)
    shared = await shared_among(library.store, [hit.session_id for hit in answer.hits])
    if args.json:
        return Report(notes=notes, data=_as_json(args.words, answer, writers, shared))
    if not answer.found:
        where = "any project" if args.all_projects else "this project (--all searches every project)"
        where += f", said by {by}" if by else ""
        notes = (*notes, f"Nothing found for {args.words!r} in {where}.")
    named = {**(writers if shown else {}), **shared}
    return Report(
        [line for each in answer.found for line in _lines(each, named, explain=args.explain)], notes
    )


def split_by(line: str) -> tuple[str, str]:
    """Return the name and the words of a line that begins with `--by NAME`; no name if it does not."""
    found = _BY_LINE.match(line)
    return (found[1], line[found.end() :]) if found else ("", line)


def parse_kind(text: str) -> "HitKind":
    """Return the kind of that name. Raises UsageError for an unknown one."""
    from ragforge.domain.search import HitKind

    try:
        return HitKind(text)
    except ValueError:
        known = ", ".join(HitKind)
        raise UsageError(f"Unknown kind {text!r}. Choose from: {known}.") from None


def parse_when(text: str, moment: datetime, *, flag: str, end_of_day: bool = False) -> datetime:
    """Return the moment that the text means: a date or time in ISO 8601, or an age.

    end_of_day: a date without a time means its last moment, not its first. Raises UsageError.
    """
    number, unit = text[:-1], text[-1:]
    if number.isdigit() and unit in _AGO and len(number) < 6:
        return moment - timedelta(**{_AGO[unit]: int(number)})
    try:
        when = datetime.fromisoformat(text)
        if end_of_day and len(text) == len("2026-11-21"):
            when += timedelta(days=1) - timedelta.resolution
        return when if when.tzinfo else when.astimezone()
    except (ValueError, OverflowError):
        raise UsageError(
            f"{flag} {text!r} is not a date. Write it like 2026-11-21, 2026-11-21T14:30, 12h, 3d or 2w."
        ) from None


def who_of(hit: "Hit", writers: "Mapping[str, str]") -> str:
    """Return whose it is: who shared its session, else who wrote its turn."""
    return one_line(writers.get(hit.session_id) or ("" if hit.level > 1 else writers.get(hit.turn_id, "")))


def resume_command(hit: "Hit") -> str:
    """Return the command that opens the hit: its session at its turn, else the memory or the version.

    Empty for a program's messages, which nothing opens.

    What was undone is not on the path that `--at` counts along.
    """
    from ragforge.domain.ids import short_id
    from ragforge.domain.search import HitKind

    if hit.kind is HitKind.PROGRAM:
        return ""
    if not hit.session_id or not hit.turn_id:
        version = hit.version_id and short_id(hit.version_id)
        return f"ragforge diff {version}~ {version}" if version else f"ragforge memory show {hit.id}"
    at = "" if hit.abandoned else f" --at {hit.turn_index + 1}"
    return f"ragforge -r {hit.session_id}{at}"


def _as_json(
    words: str, answer: "SearchResults", writers: "Mapping[str, str]", shared: "Mapping[str, str]"
) -> dict[str, Any]:
    found: list[dict[str, Any]] = [
        {
            "kind": hit.kind,
            "id": hit.id,
            "session": hit.session_id,
            "turn": hit.turn_index + 1 or None,
            "shared": shared.get(hit.session_id, ""),
            "person": "" if hit.level > 1 else writers.get(hit.turn_id, ""),
            "at": hit.at.isoformat(),
            "score": hit.score,
            "text": hit.text,
            "tool": hit.tool,
            "level": hit.level,
            "type": hit.memory_type,
            "version": hit.version_id,
            "undone": hit.abandoned,
            "replaced": hit.replaced,
            "forgotten": hit.forgotten,
            "why": [
                {"source": why.source, "rank": why.rank, "score": why.score, "share": why.share}
                for why in each.why
            ],
            "resume": resume_command(hit),
        }
        for each in answer.found
        for hit in [each.hit]
    ]
    return {"query": words, "took_ms": round(answer.took_ms, 1), "limited": answer.limited, "hits": found}


def _lines(found: "RankedHit", writers: "Mapping[str, str]", *, explain: bool) -> list[list[Span]]:
    from ragforge.domain.search import what
    from ragforge.memory.recall.explain import explained, reason

    hit = found.hit
    title = one_line(hit.session_title) or hit.session_id
    who = who_of(hit, writers)
    head = "  ".join(part for part in (moment_words(hit.at), title, who) if part)
    details = explained(found) if explain else ()
    return [
        [Span(f"{head}  ({one_line(what(hit))})", Emphasis.STRONG)],
        [Span("  "), *_marked(hit)],
        [Span(f"  {hit.score:.3f}  {one_line(reason(found))}", Emphasis.FAINT)],
        *([Span(f"    {line}", Emphasis.FAINT)] for line in details),
        *([[Span(f"  {command}", Emphasis.FAINT)]] if (command := resume_command(hit)) else []),
        [],
    ]


def _marked(hit: "Hit") -> list[Span]:
    """Return the excerpt on one line, its matched words marked."""
    spans: list[Span] = []
    at = 0
    for start, end in (*hit.marks, (len(hit.text), len(hit.text))):
        spans += [Span(hit.text[at:start]), Span(hit.text[start:end], Emphasis.MARKED)]
        at = end
    spaced = [replace(span, text=re.sub(r"\s+", " ", span.text)) for span in spans if span.text]
    return [*spaced[:-1], *(replace(span, text=span.text.rstrip()) for span in spaced[-1:])]


VERB = Verb(
    "search",
    "Search the conversations, actions and memories of this project.",
    SearchArguments,
    _run,
    _list,
    while_running=False,
    reads=True,
)
