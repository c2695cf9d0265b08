"""`ragforge` and its flags. Subcommands lie in files of their own.

Only what every call needs is imported at the top: `ragforge --version` is asked by scripts and prompts.
"""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from ragforge import __version__
from ragforge.cli import config, db, search, sessions
from ragforge.cli.options import EXIT_CODES, Options, OutputFormat, current_folder
from ragforge.domain.errors import UsageError

app = typer.Typer(
    name="ragforge",
    help="A coding assistant for the terminal that remembers.",
    epilog=EXIT_CODES,
    add_completion=False,
    no_args_is_help=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("search", epilog=EXIT_CODES)(search.search)
app.add_typer(sessions.app, name="sessions")
app.add_typer(config.app, name="config")
app.add_typer(db.app, name="db")


def run(arguments: Sequence[str]) -> int:
    """Run the command line to its exit code. Raises RagforgeError."""
    try:
        app(args=_checked(arguments))
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0
    return 0


def _checked(arguments: Sequence[str]) -> list[str]:
    """The arguments as the parser wants them. Raises UsageError for what is not text."""
    checked: list[str] = []
    for number, argument in enumerate(arguments, start=1):
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise UsageError(
                f"Argument {number} is not UTF-8 text: {argument!r}. Convert it, or pipe in a file that is."
            ) from None
        following = arguments[number : number + 1]
        if argument in ("-r", "--resume") and (not following or following[0].startswith("-")):
            checked.append("--resume=")  # the parser has no options whose value may be left out
        else:
            checked.append(argument)
    return checked


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ragforge {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    prompt: Annotated[
        str | None,
        typer.Option("-p", "--prompt", help="Run one turn without the interface; text piped in is added."),
    ] = None,
    output_format: Annotated[
        OutputFormat, typer.Option("--output-format", help="With -p: what goes to standard output.")
    ] = OutputFormat.TEXT,
    model: Annotated[
        str | None, typer.Option("-m", "--model", metavar="PROVIDER:NAME", help="The model to talk to.")
    ] = None,
    continue_: Annotated[
        bool, typer.Option("-c", "--continue", help="Continue the newest session of this folder.")
    ] = False,
    resume: Annotated[
        str | None,
        typer.Option(
            "-r",
            "--resume",
            metavar="[ID]",
            help="Resume a session, by its id or a part of it; without ID, choose from a list.",
        ),
    ] = None,
    at: Annotated[
        int | None, typer.Option("--at", metavar="N", min=1, help="With -r: show the session at this turn.")
    ] = None,
    fork: Annotated[
        bool, typer.Option("--fork", help="With -r or -c: a new session from there (or from --at).")
    ] = False,
    new: Annotated[bool, typer.Option("--new", help="Start a new session without showing the list.")] = False,
    max_turns: Annotated[
        int | None, typer.Option("--max-turns", min=1, help="With -p: at most this many model calls.")
    ] = None,
    max_price: Annotated[
        float | None, typer.Option("--max-price", metavar="USD", min=0, help="Stop a turn at this cost.")
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option("--allow", metavar="RULE", help="Consent for this run, such as 'shell(git status)'."),
    ] = None,
    yolo: Annotated[
        bool, typer.Option("--yolo", help="Ask nothing: files are written and commands run at will.")
    ] = False,
    store: Annotated[
        str | None, typer.Option("--store", metavar="URL", help="Where conversations are kept.")
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """A coding assistant for the terminal that remembers."""
    options = Options(
        cwd=current_folder(),
        prompt=prompt,
        output_format=output_format,
        continue_newest=continue_,
        resume=resume,
        at=at,
        fork=fork,
        new=new,
        model_calls_max=max_turns,
        allow=tuple(allow or ()),
        yolo=yolo,
        model=model,
        flags={"model": model, "store": store, "turn.price_usd_max": max_price},
    )
    if context.invoked_subcommand:
        context.obj = options
        return
    if prompt is not None or not sys.stdin.isatty():
        from ragforge.cli.headless import run_headless

        raise typer.Exit(run_headless(options))
    from ragforge.cli.interactive import run_interface

    raise typer.Exit(run_interface(options))
