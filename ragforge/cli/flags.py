"""The flags of `ragforge` itself, as the parser reads them and `--help` shows them."""

from typing import Annotated

import typer

from ragforge import __version__
from ragforge.cli.numbers import amount, whole
from ragforge.cli.options import OutputFormat


def _tell_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ragforge {__version__}")
        raise typer.Exit


PIPED = "-"
"""Given as the prompt: what is piped in."""
Prompt = Annotated[
    str | None,
    typer.Option(
        "-p",
        "--prompt",
        help="Run one turn without the interface; piped input is added to the prompt, or is all of it.",
    ),
]
Format = Annotated[OutputFormat, typer.Option("--output-format", help="With -p: the output format.")]
Model = Annotated[
    str | None, typer.Option("-m", "--model", metavar="PROVIDER:NAME", help="The model to use.")
]
Continue = Annotated[
    bool, typer.Option("-c", "--continue", help="Continue the newest session of this folder.")
]
Resume = Annotated[
    str | None,
    typer.Option(
        "-r",
        "--resume",
        metavar="[ID]",
        help="Resume a session, by its id or a part of it; without ID, choose from a list.",
    ),
]
At = Annotated[
    int | None,
    typer.Option("--at", metavar="N", parser=whole(1), help="With -r: open the session at this turn."),
]
Fork = Annotated[
    bool, typer.Option("--fork", help="With -r or -c: continue in a new session (from --at if given).")
]
New = Annotated[bool, typer.Option("--new", help="Start a new session without showing the list.")]
MaxTurns = Annotated[
    int | None,
    typer.Option("--max-turns", metavar="N", parser=whole(1), help="With -p: at most this many model calls."),
]
MaxPrice = Annotated[
    float | None,
    typer.Option(
        "--max-price", metavar="USD", parser=amount(0), help="Stop a turn once it has cost this much."
    ),
]
Allow = Annotated[
    list[str] | None,
    typer.Option(
        "--allow", metavar="RULE", help="Allow this without asking in this run, such as 'shell(git status)'."
    ),
]
Yolo = Annotated[
    bool, typer.Option("--yolo", help="Never ask: the model may write any file and run any command.")
]
TrustProject = Annotated[
    bool,
    typer.Option(
        "--trust-project", help="Read the project's instruction files, such as AGENTS.md, without asking."
    ),
]
NoMemory = Annotated[
    bool, typer.Option("--no-memory", help="Do not recall anything from earlier conversations.")
]
Incognito = Annotated[bool, typer.Option("--incognito", help="Keep nothing from this run after it ends.")]
Plain = Annotated[
    bool,
    typer.Option(
        "--plain",
        help="Use plain lines of text instead of the full screen, for example with a screen reader.",
    ),
]
StoreUrl = Annotated[str | None, typer.Option("--store", metavar="URL", help="Where conversations are kept.")]
Version = Annotated[
    bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Show the version.")
]
