"""`ragforge search`: what was said and done, found again."""

import os
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec import Struct

from ragforge.cli.edge import tell
from ragforge.cli.numbers import whole
from ragforge.cli.options import Options, run_async
from ragforge.cli.output import json_line, one_line, printable
from ragforge.domain.errors import UsageError

if TYPE_CHECKING:  # costs more than all of `ragforge --version`
    from ragforge.domain.search import Hit, HitKind, Query
    from ragforge.memory.recall.search import RankedHit, SearchResults

HITS_MAX = 1_000
_AGO = {"h": "hours", "d": "days", "w": "weeks"}


def search(
    context: typer.Context,
    words: Annotated[list[str], typer.Argument(metavar="QUERY", help="What to look for.")],
    all_projects: Annotated[bool, typer.Option("--all", help="Search every project.")] = False,
    limit: Annotated[
        int, typer.Option("--limit", parser=whole(1, HITS_MAX), help="At most this many hits.")
    ] = 10,
    since: Annotated[
        str | None, typer.Option("--since", metavar="WHEN", help="A date such as 2026-11-21, or 12h, 3d, 2w.")
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="WHEN", help="Only what was before: as with --since.")
    ] = None,
    session: Annotated[
        str | None, typer.Option("--session", metavar="ID", help="Search only this session.")
    ] = None,
    kinds: Annotated[
        list[str] | None,
        typer.Option(
            "--kind",
            metavar="KIND",
            help="Only turn, tool_call, summary, memory or version; may be given again.",
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show what each source says of each hit.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Search what was said, done, remembered and changed in this project, by words and by meaning."""
    options: Options = context.obj
    if not "".join(words).strip():
        raise UsageError('Say what to look for, as in: ragforge search "database migration".')
    wanted = SearchArguments(" ".join(words), all_projects, limit, since, until, session, tuple(kinds or ()))

    async def work() -> int:
        answer = await _search(options, wanted)
        if as_json:
            _print_json(wanted.text, answer)
        else:
            _print_hits(wanted, answer, explain=explain)
        return 0

    raise typer.Exit(run_async(work))


class SearchArguments(Struct, frozen=True):
    """What was asked for, as it was typed."""

    text: str
    all_projects: bool
    limit: int
    since: str | None
    until: str | None
    session: str | None
    kinds: tuple[str, ...]

    def query(self, *, project_id: str, session_id: str | None) -> "Query":
        """The question. Raises UsageError for a date or a kind that is none."""
        from ragforge.domain.search import HitKind, Query

        moment = datetime.now(UTC)
        return Query(
            text=self.text,
            project_id=None if self.all_projects or session_id else project_id,
            session_id=session_id,
            since=parse_when(self.since, moment, flag="--since") if self.since else None,
            until=parse_when(self.until, moment, flag="--until") if self.until else None,
            kinds=tuple(parse_kind(kind) for kind in dict.fromkeys(self.kinds)) or tuple(HitKind),
            limit=self.limit,
        )


async def _search(options: Options, wanted: SearchArguments) -> "SearchResults":
    from ragforge.cli.library import opened_library
    from ragforge.memory.recall.search import search
    from ragforge.session.library import find_session
    from ragforge.session.link import limited_words
    from ragforge.session.recall_embedder import close_recall, open_recall

    async with opened_library(options) as library:
        session = (await find_session(library.store, wanted.session)).id if wanted.session else None
        query = wanted.query(project_id=library.project_id, session_id=session)
        searching = open_recall(library.store, library.loaded.settings, library.environ)
        try:
            answer = await search(searching, query)
        finally:
            await close_recall(searching)
        for limited in (limited_words(library.store.link), answer.limited):
            if limited:
                tell(limited)
    return answer


def parse_kind(text: str) -> "HitKind":
    """The kind of that name. Raises UsageError."""
    from ragforge.domain.search import HitKind

    try:
        return HitKind(text)
    except ValueError:
        known = ", ".join(HitKind)
        raise UsageError(f"--kind {text!r} is none. Choose from: {known}.") from None


def parse_when(text: str, moment: datetime, *, flag: str) -> datetime:
    """The moment that the text means: a date or time in ISO 8601, or an age. Raises UsageError."""
    number, unit = text[:-1], text[-1:]
    if number.isdigit() and unit in _AGO and len(number) < 6:
        return moment - timedelta(**{_AGO[unit]: int(number)})
    try:
        when = datetime.fromisoformat(text)
        return when if when.tzinfo else when.astimezone()
    except (ValueError, OverflowError):
        raise UsageError(
            f"{flag} {text!r} is no date. Write it like 2026-11-21, 2026-11-21T14:30, 12h, 3d or 2w."
        ) from None


def resume_command(hit: "Hit") -> str:
    """The command that opens what was found: the hit's session at its turn, else the memory or the version.

    What was undone is not on the path that `--at` counts along.
    """
    from ragforge.domain.ids import short_id

    if not hit.session_id or not hit.turn_id:
        version = hit.version_id and short_id(hit.version_id)
        return f"ragforge diff {version}~ {version}" if version else f"ragforge memory show {hit.id}"
    at = "" if hit.left else f" --at {hit.turn_index + 1}"
    return f"ragforge -r {hit.session_id}{at}"


def _print_json(text: str, answer: "SearchResults") -> None:
    found: list[dict[str, Any]] = [
        {
            "kind": hit.kind,
            "id": hit.id,
            "session": hit.session_id,
            "turn": hit.turn_index + 1 or None,
            "at": hit.at.isoformat(),
            "score": hit.score,
            "text": hit.text,
            "tool": hit.tool,
            "level": hit.level,
            "type": hit.memory_type,
            "version": hit.version_id,
            "undone": hit.left,
            "replaced": hit.replaced,
            "why": [
                {"source": why.source, "rank": why.rank, "score": why.score, "share": why.share}
                for why in each.why
            ],
            "resume": resume_command(hit),
        }
        for each in answer.found
        for hit in [each.hit]
    ]
    values = {"query": text, "took_ms": round(answer.took_ms, 1), "limited": answer.limited, "hits": found}
    typer.echo(json_line(values))


def _print_hits(wanted: SearchArguments, answer: "SearchResults", *, explain: bool) -> None:
    if not answer.found:
        where = "any project" if wanted.all_projects else "this project (--all searches every project)"
        typer.echo(f"Nothing found for {wanted.text!r} in {where}.", err=True)
    for each in answer.found:
        _print_hit(each, explain=explain)


def _print_hit(found: "RankedHit", *, explain: bool) -> None:
    from ragforge.domain.search import what
    from ragforge.memory.recall.explain import explained, reason

    hit = found.hit
    title = one_line(hit.session_title) or hit.session_id
    head = "  ".join(part for part in (f"{hit.at.astimezone():%Y-%m-%d %H:%M}", title) if part)
    typer.echo(typer.style(f"{head}  ({one_line(what(hit))})", bold=_styled()))
    typer.echo(f"  {_marked(hit)}")
    typer.echo(typer.style(f"  {hit.score:.3f}  {one_line(reason(found))}", dim=_styled()))
    for line in explained(found) if explain else ():
        typer.echo(typer.style(f"    {line}", dim=_styled()))
    typer.echo(typer.style(f"  {resume_command(hit)}", dim=_styled()))
    typer.echo()


def _marked(hit: "Hit") -> str:
    """The excerpt with its matched words marked: by colour on a terminal, else as *words*."""
    out, at = "", 0
    for start, end in hit.marks:
        word = printable(hit.text[start:end])
        marked = typer.style(word, bold=True, fg=typer.colors.YELLOW) if _styled() else f"*{word}*"
        out += printable(hit.text[at:start]) + marked
        at = end
    return " ".join((out + printable(hit.text[at:])).split())


def _styled() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ
