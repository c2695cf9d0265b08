"""`ragforge branch`: names for lines of work."""

from typing import Annotated

import typer

from ragforge.cli.options import Options, run_async
from ragforge.cli.output import printable
from ragforge.cli.versions import opened_session
from ragforge.domain.errors import UsageError


def branch(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="The name of a new branch.")] = None,
    version: Annotated[
        str | None, typer.Argument(metavar="[VERSION]", help="Where it starts; otherwise here.")
    ] = None,
    delete: Annotated[
        str | None,
        typer.Option("-d", "--delete", metavar="NAME", help="Take this name away; versions stay."),
    ] = None,
) -> None:
    """List the branches, start one here or at a version, or take a name away."""
    options: Options = context.find_root().obj
    if delete is not None and name is not None:
        raise UsageError("-d takes a name away and starts no branch: leave the other name out.")

    async def work() -> int:
        from ragforge.domain.ids import now
        from ragforge.versions import branches
        from ragforge.versions.names import HEAD
        from ragforge.versions.words import branch_words, branched_words

        async with opened_session(options) as session:
            if delete is not None:
                await branches.delete_branch(session.worktree, delete)
                lines = [f"The name {delete} is gone; its versions stay."]
            elif name is not None:
                lines = [branched_words(await branches.start_branch(session.worktree, name, version or HEAD))]
            else:
                lines = [branch_words(row, now()) for row in await branches.list_branches(session.worktree)]
        for line in lines:
            typer.echo(printable(line))
        if not lines:
            typer.echo("There are no branches yet: `ragforge branch NAME` starts one.", err=True)
        return 0

    raise typer.Exit(run_async(work))
