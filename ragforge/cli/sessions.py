"""`ragforge sessions`: list, rename and delete sessions."""

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ragforge.cli.completion import names_of
from ragforge.cli.numbers import LIMIT_MAX, whole
from ragforge.cli.options import EXIT_CODES, Options, run_async
from ragforge.cli.output import json_line, one_line
from ragforge.domain.arguments import ValuesOf
from ragforge.domain.errors import UsageError

if TYPE_CHECKING:  # costs more than all of `ragforge --version`
    from ragforge.store.base_conversations import SessionRow

app = typer.Typer(help="List, rename or delete sessions.", invoke_without_command=True, epilog=EXIT_CODES)


@app.callback()
def sessions(
    context: typer.Context,
    all_projects: Annotated[bool, typer.Option("--all", help="Those of every project.")] = False,
    limit: Annotated[
        int, typer.Option("--limit", parser=whole(1, LIMIT_MAX), help="At most this many.")
    ] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> None:
    """List the sessions of this project, the last active first."""
    if context.invoked_subcommand:
        return
    options: Options = context.obj

    async def work() -> int:
        from ragforge.cli.library import opened_library

        async with opened_library(options) as library:
            project_id = None if all_projects else library.project_id
            rows = await library.store.sessions.recent(project_id=project_id, limit=limit)
        if as_json:
            typer.echo(json_line([_as_json(row) for row in rows]))
        else:
            _print_rows(rows)
        return 0

    raise typer.Exit(run_async(work))


@app.command(epilog=EXIT_CODES)
def rename(
    context: typer.Context,
    session_id: Annotated[str, typer.Argument(metavar="ID", autocompletion=names_of(ValuesOf.SESSIONS))],
    title: Annotated[list[str], typer.Argument(metavar="TITLE")],
) -> None:
    """Give a session a title."""
    options: Options = context.find_root().obj

    async def work() -> int:
        from ragforge.cli.library import opened_library
        from ragforge.config.secrets import all_secrets
        from ragforge.domain.redact import Redactor
        from ragforge.session.library import find_session

        words = " ".join(" ".join(title).split())
        if not words:
            raise UsageError("A title needs at least one word.")
        async with opened_library(options) as library:
            record = await find_session(library.store, session_id)
            settings = library.loaded.settings
            secrets = all_secrets(os.environ, endpoints=settings.endpoints, store_url=settings.store)
            kept = Redactor(secrets).text(words)
            await library.store.sessions.rename(record.id, kept)
        typer.echo(f"{record.id} is now called {kept!r}.")
        return 0

    raise typer.Exit(run_async(work))


@app.command(epilog=EXIT_CODES)
def delete(
    context: typer.Context,
    session_id: Annotated[str, typer.Argument(metavar="ID", autocompletion=names_of(ValuesOf.SESSIONS))],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Delete a session for good; asks, and says what goes."""
    options: Options = context.find_root().obj
    found: list[str] = []

    async def show() -> int:
        from ragforge.cli.library import opened_library
        from ragforge.session.library import find_session

        async with opened_library(options) as library:
            record = await find_session(library.store, session_id)
            would = await library.store.sessions.delete(record.id, dry_run=True)
        found.append(record.id)
        shared = f"; {would.kept_turns} turns stay, another session shares them" if would.kept_turns else ""
        typer.echo(
            f"{record.title!r}: {would.turns} turns and {would.tool_calls} tool calls would go{shared}."
        )
        return 0

    async def remove() -> int:
        from ragforge.cli.library import opened_library
        from ragforge.session.library import delete_session

        async with opened_library(options) as library:
            await delete_session(library.store, library.local, found[0])
        typer.echo("Deleted.")
        return 0

    run_async(show)
    # Asked between the two: within the loop, Ctrl+C would not end the question.
    if not (yes or _is_confirmed()):
        raise typer.Exit(1)
    raise typer.Exit(run_async(remove))


def _is_confirmed() -> bool:
    if not sys.stdin.isatty():
        raise UsageError("There is no terminal to ask in. Add --yes to delete the session without asking.")
    try:
        return typer.confirm("Delete it for good?")
    except typer.Abort:
        raise KeyboardInterrupt from None


def _as_json(row: "SessionRow") -> dict[str, object]:
    return {
        "id": row.session.id,
        "title": row.session.title,
        "cwd": row.session.cwd,
        "started": row.session.started_at.isoformat(),
        "last_activity": row.session.last_activity_at.isoformat(),
        "turns": row.turns,
        "last_message": row.last_message,
        "model": row.session.model,
    }


def _print_rows(rows: "list[SessionRow]") -> None:
    if not rows:
        typer.echo("No sessions in this project yet (--all lists those of every project).", err=True)
    for row in rows:
        record = row.session
        when = f"{record.last_activity_at.astimezone():%Y-%m-%d %H:%M}"
        typer.echo(f"{record.id}  {when}  {row.turns:>4} turns  {one_line(record.title) or '(no title)'}")
        typer.echo(f"    {one_line(record.cwd)}  {one_line(record.model) or 'no model'}")
