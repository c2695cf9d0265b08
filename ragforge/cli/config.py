"""`ragforge config`: works even if settings are invalid, or the store is away."""

import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import typer

from ragforge.cli.options import Options
from ragforge.commands.config import ConfigArguments, SetArguments, UnsetArguments
from ragforge.domain.errors import UsageError

if TYPE_CHECKING:  # not loaded by calls that show nothing of it
    from ragforge.config.schema import Endpoint


def _show(options: Options, args: ConfigArguments) -> int:
    from ragforge.config.paths import data_dir, user_file
    from ragforge.config.project import find_project
    from ragforge.config.settings import load_settings

    root = find_project(options.cwd).root
    loaded = load_settings(cwd=options.cwd, flags=options.flags, environ=os.environ, project_root=root)
    rows = loaded.rows()
    if args.json:
        typer.echo(json.dumps([{"key": r.key, "value": r.value, "source": str(r.source)} for r in rows]))
        return 0
    for row in rows:
        typer.echo(f"{row.key:<32} {row.value or '(unset)':<40} {row.source}")
    typer.echo(f"\nYour file: {user_file(os.environ)}\nData: {data_dir(os.environ)}", err=True)
    for notice in loaded.notices:
        typer.echo(notice, err=True)
    return 0


def _set(options: Options, args: SetArguments) -> int:
    from ragforge.config.paths import user_file
    from ragforge.session.setting import set_setting

    file = user_file(os.environ)
    if args.key.startswith("keys."):
        from ragforge.tui import keys  # only the interface knows them, and it is slow to load

        keys.check(args.key, args.value, beside=_keys(options))
    set_setting(file, args.key, args.value, endpoints=_endpoints(options))
    typer.echo(f"{args.key} = {args.value} in {file}")
    return 0


def _endpoints(options: Options) -> "Mapping[str, Endpoint]":
    """Return the services; if the settings are invalid and being corrected, the built-in ones."""
    from ragforge.config.schema import BUILT_IN_ENDPOINTS
    from ragforge.config.settings import load_settings

    try:
        return load_settings(cwd=options.cwd, flags=options.flags, environ=os.environ).settings.endpoints
    except UsageError:
        return BUILT_IN_ENDPOINTS


def _keys(options: Options) -> "Mapping[str, str]":
    """Return the keys that are set; none if the settings are invalid and being corrected."""
    from ragforge.config.settings import load_settings

    try:
        return load_settings(cwd=options.cwd, flags=options.flags, environ=os.environ).settings.keys
    except UsageError:
        return {}


def _unset(options: Options, args: UnsetArguments) -> int:
    from ragforge.config.paths import user_file
    from ragforge.session.setting import unset_setting

    file = user_file(os.environ)
    if args.key.startswith("keys."):
        from ragforge.tui import keys  # as for `set`

        keys.check_unset(args.key, beside=_keys(options))
    unset_setting(file, args.key)
    typer.echo(f"{args.key} is no longer set in {file}")
    return 0


RUNS = {"config": _show, "set": _set, "unset": _unset}
