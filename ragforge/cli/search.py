"""`ragforge search`: what was said and done, found again."""

import os
import sys
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragforge.cli.edge import tell
from ragforge.cli.options import Options, run_async
from ragforge.cli.printing import json_line, one_line, printable
from ragforge.domain.errors import UsageError

if TYPE_CHECKING:  # costs more than all of `ragforge --version`
    from ragforge.domain.search import Hit

_AGO = {"h": "hours", "d": "days", "w": "weeks"}


def search(
    context: typer.Context,
    words: Annotated[list[str], typer.Argument(metavar="QUERY", help="What to look for.")],
    all_projects: Annotated[bool, typer.Option("--all", help="Search every project.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="At most this many hits.")] = 10,
    since: Annotated[
        str | None, typer.Option("--since", metavar="WHEN", help="A date such as 2026-11-21, or 12h, 3d, 2w.")
    ] = None,
    session: Annotated[
        str | None, typer.Option("--session", metavar="ID", help="Search only this session.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Search every turn and tool call of this project."""
    options: Options = context.obj

    async def work() -> int:
        return await _search(options, " ".join(words), all_projects, limit, since, session, as_json=as_json)

    raise typer.Exit(run_async(work))


async def _search(
    options: Options,
    text: str,
    all_projects: bool,
    limit: int,
    since: str | None,
    session: str | None,
    *,
    as_json: bool,
) -> int:
    from ragforge.cli.library import opened_library
    from ragforge.domain.search import Query
    from ragforge.memory import recall
    from ragforge.session.library import find_session
    from ragforge.session.link import limited_words

    async with opened_library(options) as library:
        query = Query(
            text=text,
            project_id=None if all_projects or session else library.project_id,
            session_id=(await find_session(library.store, session)).id if session else None,
            since=parse_since(since, datetime.now(UTC)) if since else None,
            limit=limit,
        )
        started = time.perf_counter()
        hits = await recall.search(library.store, query)
        took_ms = (time.perf_counter() - started) * 1000
        if limited := limited_words(library.store.link):
            tell(limited)
    if as_json:
        _print_json(text, took_ms, hits)
    else:
        _print_hits(text, hits, everywhere=all_projects)
    return 0


def parse_since(text: str, moment: datetime) -> datetime:
    """The moment that the text means: a date or time in ISO 8601, or an age. Raises UsageError."""
    number, unit = text[:-1], text[-1:]
    if number.isdigit() and unit in _AGO and len(number) < 6:
        return moment - timedelta(**{_AGO[unit]: int(number)})
    try:
        when = datetime.fromisoformat(text)
        return when if when.tzinfo else when.astimezone()
    except (ValueError, OverflowError):
        raise UsageError(
            f"--since {text!r} is no date. Write it like 2026-11-21, 2026-11-21T14:30, 12h, 3d or 2w."
        ) from None


def resume_command(hit: "Hit") -> str:
    """The command that opens the hit's session at its turn."""
    return f"ragforge -r {hit.session_id} --at {hit.turn_index + 1}"


def _print_json(text: str, took_ms: float, hits: "list[Hit]") -> None:
    found: list[dict[str, Any]] = [
        {
            "kind": hit.kind,
            "id": hit.id,
            "session": hit.session_id,
            "turn": hit.turn_index + 1,
            "at": hit.at.isoformat(),
            "score": hit.score,
            "text": hit.text,
            "resume": resume_command(hit),
        }
        for hit in hits
    ]
    typer.echo(json_line({"query": text, "took_ms": round(took_ms, 1), "hits": found}))


def _print_hits(text: str, hits: "list[Hit]", *, everywhere: bool) -> None:
    if not hits:
        where = "any project" if everywhere else "this project (--all searches every project)"
        typer.echo(f"Nothing found for {text!r} in {where}.", err=True)
        return
    for hit in hits:
        head = f"{hit.at.astimezone():%Y-%m-%d %H:%M}  {one_line(hit.session_title) or hit.session_id}"
        typer.echo(typer.style(f"{head}  ({_what(hit)})", bold=_styled()))
        typer.echo(f"  {_marked(hit)}")
        typer.echo(typer.style(f"  {resume_command(hit)}", dim=_styled()))
        typer.echo()


def _what(hit: "Hit") -> str:
    """What was found, and where in its session."""
    turn = f"turn {hit.turn_index + 1}"
    if hit.tool:
        return f"{hit.tool} call of {turn}"
    return f"summary up to {turn}" if hit.level else turn


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
