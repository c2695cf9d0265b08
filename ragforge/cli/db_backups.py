"""`ragforge db backups` and `ragforge db recover`: the backups that the program makes by itself."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from ragforge.cli.db_progress import size
from ragforge.cli.db_transfer import number
from ragforge.cli.edge import tell
from ragforge.cli.library import this_machine
from ragforge.cli.options import Options, run_async
from ragforge.cli.output import json_line, printable
from ragforge.domain.errors import UsageError
from ragforge.domain.words import moment_words

if TYPE_CHECKING:  # costs more than all of `ragforge --version`
    from ragforge.commands.db import BackupsArguments, RecoverArguments
    from ragforge.session.backup_recovery import Recovered
    from ragforge.session.machine import Machine
    from ragforge.store.backups import BackupSet
    from ragforge.store.files import Role

NAMED_MAX = 5
"""How many missing contents are named."""


def backups(options: Options, args: "BackupsArguments") -> int:
    """Run `ragforge db backups`."""

    async def work() -> int:
        import asyncio

        from ragforge.store.backups import list_backups

        machine = this_machine(options)
        if args.now:
            await _make(machine)
        sets = await asyncio.to_thread(list_backups, machine.data_dir)
        if args.json:
            for each in sets:
                typer.echo(json_line(_facts(each)))
            return 0
        for each in sets:
            typer.echo(printable(_line(each, machine.url)))
        if sets:
            typer.echo("To restore one, close every ragforge and run: ragforge db recover NAME")
        else:
            typer.echo("No backups yet. ragforge makes one each day it is used; --now makes one now.")
        return 0

    return run_async(work)


def recover(options: Options, args: "RecoverArguments") -> int:
    """Run `ragforge db recover`."""

    async def work() -> int:
        from ragforge.session.backup_recovery import recover as bring_back

        machine = this_machine(options)
        if args.empty:
            await _begin_empty(machine, args.name)
            return 0
        if not args.name:
            raise UsageError("Give the NAME of a backup; `ragforge db backups` lists them.")
        _print_recovered(await bring_back(machine, args.name, only=_roles(args.only), tell=tell))
        return 0

    return run_async(work)


async def _begin_empty(machine: "Machine", name: str) -> None:
    import asyncio

    from ragforge.store.backup_recovery import begin_empty

    if name:
        raise UsageError("--empty creates an empty store, so it takes no NAME.")
    aside = await asyncio.to_thread(begin_empty, machine.data_dir, machine.url)
    typer.echo(printable(f"Created an empty store at {machine.url.removeprefix('sqlite://')}."))
    for path in aside:
        typer.echo(printable(f"The previous databases are in {path}"))


async def _make(machine: "Machine") -> None:
    import asyncio

    from ragforge.domain.errors import StoreUnavailable
    from ragforge.store.backup_copies import make_backup
    from ragforge.store.backups import Reason

    made = await asyncio.to_thread(make_backup, machine.data_dir, machine.url, reason=Reason.ASKED)
    if made is None:
        raise StoreUnavailable(
            "No backup was made: nothing is stored yet, or another process is making one right now."
        )


def _roles(names: Sequence[str]) -> "frozenset[Role]":
    from ragforge.store.files import ROLES, Backup, Role

    known = [role for role in Role if ROLES[role].backup is Backup.COPIED]
    if wrong := [name for name in names if name not in known]:
        raise UsageError(f"--only must be one of {', '.join(known)}, not {wrong[0]!r}.")
    return frozenset(map(Role, names))


def _line(made: "BackupSet", url: str) -> str:
    from ragforge.config.store_address import bare_url

    held = ", ".join(number(count, noun.removesuffix("s")) for noun, count in made.counts.items())
    roles = ", ".join(dict.fromkeys(file.role for file in made.files))
    elsewhere = "" if made.store == bare_url(url) else f"; of the store {made.store}"
    return (
        f"{made.name}  {moment_words(made.made_at)}  {size(made.bytes)}, {made.reason}: "
        f"{held or 'this machine only'} ({roles}){elsewhere}"
    )


def _facts(made: "BackupSet") -> dict[str, object]:
    return {
        "name": made.name,
        "made_at": made.made_at.isoformat(),
        "reason": made.reason,
        "store": made.store,
        "bytes": made.bytes,
        "counts": dict(made.counts),
        "files": {
            file.name: {"role": file.role, "bytes": file.bytes, "schema": file.schema} for file in made.files
        },
    }


def _print_recovered(found: "Recovered") -> None:
    brought = found.brought
    typer.echo(printable(f"Restored the backup of {moment_words(brought.made.made_at)}:"))
    for path in brought.files:
        typer.echo(printable(f"  {path}"))
    for path in brought.aside:
        typer.echo(printable(f"The previous databases are in {path}"))
    for path in brought.kept:
        typer.echo(printable(f"{path} stays as it is; --only outbox restores it too."))
    if found.missing:
        named = ", ".join(digest[:12] for digest in found.missing[:NAMED_MAX])
        more = f" and {len(found.missing) - NAMED_MAX} more" if len(found.missing) > NAMED_MAX else ""
        tell(
            f"{number(len(found.missing), 'content')} that the backup needs are missing: {named}"
            f"{more}. "
            "Versions that need them cannot be restored completely; conversations are complete."
        )
