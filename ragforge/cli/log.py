"""`ragforge log`: the tree of versions."""

from typing import Annotated

import typer

from ragforge.cli.numbers import LIMIT_MAX, whole
from ragforge.cli.options import Options, run_async
from ragforge.cli.output import json_line, printable
from ragforge.cli.versions import opened_session


def log(
    context: typer.Context,
    limit: Annotated[
        int, typer.Option("--limit", parser=whole(1, LIMIT_MAX), help="At most this many.")
    ] = 30,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> None:
    """Show the tree of versions, newest first: turns, your own edits, restores and merges."""
    options: Options = context.find_root().obj

    async def work() -> int:
        from ragforge.versions.log import log_json, log_lines, read_log

        async with opened_session(options) as session:
            versions, project_id = session.workspace.store.versions, session.workspace.project.id
            found = await read_log(versions, project_id, await session.worktree.head(), limit=limit)
            listed = await log_json(versions, found) if as_json else None
        if listed is not None:
            typer.echo(json_line(listed))
            return 0
        for line in log_lines(found):
            typer.echo(printable(line))
        if not found.rows:
            typer.echo("There is no version in this project yet: every turn makes one.", err=True)
        elif found.more:
            typer.echo(f"The first {limit}; --limit shows more.", err=True)
        return 0

    raise typer.Exit(run_async(work))
