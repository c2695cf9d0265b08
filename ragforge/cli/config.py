"""`ragforge config`: every setting with its value and where that comes from."""

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from ragforge.cli.completion import names_of
from ragforge.cli.options import EXIT_CODES, Options, run_async
from ragforge.domain.arguments import ValuesOf
from ragforge.domain.errors import UsageError

if TYPE_CHECKING:  # a call that shows nothing of it does not load it
    from ragforge.config.schema import Endpoint

Key = Annotated[str, typer.Argument(metavar="KEY", autocompletion=names_of(ValuesOf.SETTINGS))]

app = typer.Typer(help="Show or change settings.", invoke_without_command=True, epilog=EXIT_CODES)


@app.callback()
def config(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list.")] = False,
) -> None:
    """Show every setting, its value and where it comes from."""
    if context.invoked_subcommand:
        return
    options: Options = context.obj

    async def work() -> int:
        from ragforge.config.paths import data_dir, user_file
        from ragforge.config.project import find_project
        from ragforge.config.settings import load_settings

        root = find_project(options.cwd).root
        loaded = load_settings(cwd=options.cwd, flags=options.flags, environ=os.environ, project_root=root)
        rows = loaded.rows()
        if as_json:
            typer.echo(json.dumps([{"key": r.key, "value": r.value, "source": str(r.source)} for r in rows]))
            return 0
        for row in rows:
            typer.echo(f"{row.key:<32} {row.value or '(unset)':<40} {row.source}")
        typer.echo(f"\nYour file: {user_file(os.environ)}\nData: {data_dir(os.environ)}", err=True)
        for notice in loaded.notices:
            typer.echo(notice, err=True)
        return 0

    raise typer.Exit(run_async(work))


@app.command("set", epilog=EXIT_CODES)
def set_(
    context: typer.Context,
    key: Key,
    value: Annotated[str, typer.Argument(metavar="VALUE")],
) -> None:
    """Set a value in your own file."""

    async def work() -> int:
        from ragforge.config.paths import user_file
        from ragforge.session.setting import set_setting

        file = user_file(os.environ)
        set_setting(file, key, value, endpoints=_endpoints(context.obj))
        typer.echo(f"{key} = {value} in {file}")
        return 0

    raise typer.Exit(run_async(work))


def _endpoints(options: Options) -> "Mapping[str, Endpoint]":
    """The services that there are; where the settings are wrong and are mended now, those built in."""
    from ragforge.config.schema import BUILT_IN_ENDPOINTS
    from ragforge.config.settings import load_settings

    try:
        return load_settings(cwd=options.cwd, flags=options.flags, environ=os.environ).settings.endpoints
    except UsageError:
        return BUILT_IN_ENDPOINTS


@app.command(epilog=EXIT_CODES)
def unset(key: Key) -> None:
    """Remove a value from your own file; the default holds again."""

    async def work() -> int:
        from ragforge.config import edit
        from ragforge.config.paths import user_file

        file = user_file(os.environ)
        if not edit.unset(file, key):
            raise UsageError(f"{key} is not set in {file}. `ragforge config` shows where a value comes from.")
        typer.echo(f"{key} is no longer set in {file}")
        return 0

    raise typer.Exit(run_async(work))
