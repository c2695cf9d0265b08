"""The flags of `ragforge` itself, as the parser reads them and `--help` shows them."""

from collections.abc import Callable
from typing import Annotated, TypeVar

import typer

from ragforge import __version__
from ragforge.cli.options import OutputFormat

Number = TypeVar("Number", int, float)


def _tell_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ragforge {__version__}")
        raise typer.Exit


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """Return a parser of whole numbers from `least` to `most`."""
    return _reading(int, "whole number", least, most)


def amount(least: float) -> Callable[[str], float]:
    """Return a parser of numbers from `least` up."""
    return _reading(float, "number", least, None)


def _reading(
    kind: Callable[[str], Number], noun: str, least: Number, most: Number | None
) -> Callable[[str], Number]:
    range_ = f"from {least} to {most:,}" if most is not None else f"of at least {least}"

    def number(text: str) -> Number:  # its name is shown in the help
        try:
            value = kind(text)
        except ValueError:
            value = None
        # `not value >= least` rather than `value < least`: comparisons with NaN are always false.
        if value is None or not value >= least or (most is not None and value > most):
            raise typer.BadParameter(f"must be a {noun} {range_}, not {text!r}.")
        return value

    return number


PIPED = "-"
"""Given as the prompt: standard input."""
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
