"""`ragforge diff`: what differs between versions, or between one and the files as they are now."""

from typing import Annotated

import typer

from ragforge.cli.edge import tell
from ragforge.cli.options import Options, run_async
from ragforge.cli.output import answer_text
from ragforge.cli.versions import opened_session


def diff(
    context: typer.Context,
    start: Annotated[
        str, typer.Argument(metavar="[A]", help="Since this version; otherwise since before the newest turn.")
    ] = "",
    end: Annotated[str, typer.Argument(metavar="[B]", help="Up to this version; otherwise up to now.")] = "",
) -> None:
    """Show what the newest turn changed and what was edited since; or what differs from A to B."""
    options: Options = context.find_root().obj

    async def work() -> int:
        from ragforge.versions.comparison import compare
        from ragforge.versions.difference import as_text, lines_changed
        from ragforge.versions.words import compared_words

        async with opened_session(options) as session:
            compared = await compare(session.worktree, start, end)
        typer.echo(answer_text(as_text(compared.files)), nl=False)
        tell(compared_words(compared, *lines_changed(compared.files)))
        return 0

    raise typer.Exit(run_async(work))
