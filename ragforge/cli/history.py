"""`ragforge history`: what the contents of versions take, removing what nothing needs, having one back."""

import sys
from typing import Annotated

import typer

from ragforge.cli.edge import tell
from ragforge.cli.library import opened_session
from ragforge.cli.numbers import whole
from ragforge.cli.options import EXIT_CODES, Options, run_async
from ragforge.cli.output import json_line
from ragforge.domain.errors import UsageError

app = typer.Typer(
    help="See what the contents of versions take, remove what nothing needs, have one content back.",
    no_args_is_help=True,
    epilog=EXIT_CODES,
)
DAYS_MAX = 100_000


@app.command("size", epilog=EXIT_CODES)
def size(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Tell what the contents take on this machine, and what for."""
    options: Options = context.find_root().obj

    async def work() -> int:
        import msgspec

        from ragforge.session.storage import history_size, size_lines

        async with opened_session(options) as session:
            found = await history_size(session.workspace)
            limit = session.workspace.settings.history.size_gb_max
        if as_json:
            typer.echo(json_line(msgspec.to_builtins(found)))
            return 0
        for line in size_lines(found, size_gb_max=limit):
            typer.echo(line)
        return 0

    raise typer.Exit(run_async(work))


@app.command("gc", epilog=EXIT_CODES)
def gc(
    context: typer.Context,
    keep_days: Annotated[
        int | None,
        typer.Option(
            "--keep-days",
            parser=whole(0, DAYS_MAX),
            help="Give up contents of versions that are older and that no branch, label or head needs; 0: of "
            "none. Otherwise as history.keep_days says.",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    gone: Annotated[
        str | None,
        typer.Option("--gone", metavar="URL", help="This store is gone for good: keep nothing for it."),
    ] = None,
) -> None:
    """Remove contents that nothing needs; asks where old versions would lose theirs."""
    options: Options = context.find_root().obj
    if dry_run and gone is not None:
        raise UsageError("--gone is remembered, and --dry-run changes nothing: give only one of them.")
    lost = run_async(lambda: _collect(options, keep_days, dry_run=True, tells=dry_run, gone=gone))
    if dry_run:
        raise typer.Exit(0)
    # Asked between the two: within the loop, Ctrl+C would not end the question.
    if lost and not (yes or _is_confirmed(lost)):
        raise typer.Exit(1)
    run_async(lambda: _collect(options, keep_days, dry_run=False, tells=True))
    raise typer.Exit(0)


@app.command("show", epilog=EXIT_CODES)
def show(
    context: typer.Context,
    version: Annotated[str, typer.Argument(help="A branch, a label, HEAD or a part of an id.")],
    path: Annotated[str, typer.Argument(help="Relative to the project's folder.")],
    number: Annotated[
        int | None, typer.Argument(metavar="[N]", parser=whole(1), help="Print this content; else list them.")
    ] = None,
) -> None:
    """List what lay at a path in a version, from before it to its end, or print one of these contents.

    What a turn wrote and then overwrote itself is among them.
    """
    options: Options = context.find_root().obj

    async def work() -> int:
        from ragforge.files.open import size
        from ragforge.versions.path_nodes import lay_at

        async with opened_session(options) as session:
            found = await lay_at(session.worktree, version, path)
            if number is None:
                for place, node in enumerate(found, 1):
                    typer.echo(f"{place}  {node.digest[:12]}  {size(node.size)}")
                return 0
            if number > len(found):
                raise UsageError(f"{len(found)} contents lay there, so there is no number {number}.")
            content = await session.workspace.blobs.get(found[number - 1].digest)
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
        return 0

    raise typer.Exit(run_async(work))


async def _collect(
    options: Options, keep_days: int | None, *, dry_run: bool, tells: bool, gone: str | None = None
) -> int:
    """Remove, or only find out; how many versions lose contents."""
    from ragforge.session.storage import clean_up, collected_words, forget_store, shown_url

    async with opened_session(options) as session:
        workspace = session.workspace
        if gone is not None and not await forget_store(workspace, gone):
            tell(f"No contents were kept for {shown_url(gone)}.")
        days = workspace.settings.history.keep_days if keep_days is None else keep_days
        found = await clean_up(workspace, keep_days=days, dry_run=dry_run)
    if tells:
        typer.echo(collected_words(found, dry_run=dry_run))
    return found.versions


def _is_confirmed(versions: int) -> bool:
    if not sys.stdin.isatty():
        raise UsageError(
            f"{versions} old versions would lose contents, and there is no terminal to ask in. Add --yes to "
            "remove them without asking, or --keep-days 0 to keep them."
        )
    try:
        return typer.confirm(f"{versions} old versions would lose contents. Remove them for good?")
    except typer.Abort:
        raise KeyboardInterrupt from None
