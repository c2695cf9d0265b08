"""`ragforge completion`: the script that completes the command line in a shell, and the names it offers."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ragforge.cli.options import COMPLETION_VARIABLE, Options, current_folder, run_async
from ragforge.domain.arguments import ValuesOf
from ragforge.domain.errors import RagforgeError

NAMES_MAX = 200


class Shell(StrEnum):
    """Shells that complete the command line."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="bash|zsh|fish", help="The shell to complete for.")],
) -> None:
    """Print the script that completes commands, options and names in your shell.

    For bash, put this in ~/.bashrc: eval "$(ragforge completion bash)". For zsh, the same with zsh in
    ~/.zshrc, after compinit. For fish: ragforge completion fish > ~/.config/fish/completions/ragforge.fish
    """
    from typer.completion import get_completion_script  # pyright: ignore[reportPrivateImportUsage]

    typer.echo(get_completion_script(prog_name="ragforge", complete_var=COMPLETION_VARIABLE, shell=shell))


def prepare() -> None:
    """Let the parser complete its arguments."""
    from typer.completion import get_completion_inspect_parameters

    get_completion_inspect_parameters()  # registers the shells with the parser


def names_of(values: ValuesOf, incomplete: str) -> list[str]:
    """Return the names of this kind with this prefix."""
    try:
        found = _settings() if values is ValuesOf.SETTINGS else _stored(values)
    except RagforgeError:
        return []  # errors cannot be shown while a line is edited
    return [name for name in found if name.startswith(incomplete)]


def _settings() -> list[str]:
    from ragforge.config.keys import KEYS

    return [str(key) for key in KEYS.values()]


def _stored(values: ValuesOf) -> list[str]:
    """Return names from the store, if it is an existing file: a key must not wait for a server."""
    from ragforge.config.settings import load_settings

    options = Options(cwd=current_folder())
    store = load_settings(cwd=options.cwd, flags={}, environ=os.environ).settings.store
    if not (store.startswith("sqlite://") and Path(store.removeprefix("sqlite://")).exists()):
        return []

    async def read() -> list[str]:
        from ragforge.cli.library import opened_library

        async with opened_library(options) as library:
            if values is ValuesOf.BRANCHES:
                return [branch.name for branch in await library.store.versions.branches(library.project.id)]
            rows = await library.store.sessions.recent(project_id=library.project.id, limit=NAMES_MAX)
            return [row.session.id for row in rows]

    return run_async(read, asks=False)
