"""`ragforge db person`: export or remove all of one user's data in a store."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ragforge.cli.edge import FAILED, tell
from ragforge.cli.library import this_machine
from ragforge.cli.options import Options, run_async
from ragforge.cli.output import printable
from ragforge.domain import timeouts
from ragforge.domain.errors import UsageError
from ragforge.domain.words import counted

if TYPE_CHECKING:  # costs more than all of `ragforge --version`
    from ragforge.commands.db import PersonExportArguments, PersonRemoveArguments
    from ragforge.session.machine import Machine
    from ragforge.session.person_data import PersonData, Removal
    from ragforge.store.base import Store


def person_export(options: Options, args: "PersonExportArguments") -> int:
    """Run `ragforge db person export`."""

    async def work() -> int:
        from ragforge.session.databases import contents, opened
        from ragforge.session.person_data import UNREACHED, export_person

        machine = this_machine(options, args.store)
        async with opened(machine, machine.url, tell=tell) as store, contents(machine) as blobs:
            data = await _read(machine, store, args.name)
            lines, missing = await export_person(store, blobs, data, Path(args.file), force=args.force)
        typer.echo(printable(f"{args.file}: {counted(lines, 'line')} of {data.person}, with {data.words}."))
        if missing:
            tell(f"{counted(missing, 'content')} missing, because they are on other machines.")
        tell(UNREACHED)
        return 0

    return run_async(work)


def person_remove(options: Options, args: "PersonRemoveArguments") -> int:
    """Run `ragforge db person remove`."""
    machine = this_machine(options, args.store)
    plan = run_async(lambda: _planned(machine, args.name))
    if not args.yes and not _agrees(plan):
        return FAILED
    busy = run_async(lambda: _remove(machine, plan))
    if busy:
        tell(
            f"{counted(len(busy), 'session')} not removed, because they are open elsewhere: "
            f"{', '.join(busy)}. Run the command again once they are closed."
        )
        return FAILED
    typer.echo(printable(f"Removed the data of {plan.data.person}."))
    return 0


async def _read(machine: "Machine", store: "Store", named: str) -> "PersonData":
    from ragforge.session.person_data import person_of, read_person
    from ragforge.session.persons import known_person

    link = await store.drain(timeout_s=timeouts.NEO4J_DRAIN_S_MAX)
    if link.away or link.waiting:
        raise UsageError(
            "Not everything has reached the server yet. Try again when `ragforge db status` reports "
            "nothing waiting."
        )
    user = await known_person(machine.data_dir, machine.url)
    return await read_person(store, await person_of(store, named, user), user)


async def _planned(machine: "Machine", named: str) -> "Removal":
    from ragforge.session.databases import opened
    from ragforge.session.person_data import plan_removal

    async with opened(machine, machine.url, tell=tell) as store:
        return await plan_removal(store, await _read(machine, store, named))


async def _remove(machine: "Machine", plan: "Removal") -> list[str]:
    from ragforge.session.databases import opened
    from ragforge.session.person_data import remove_person
    from ragforge.store.local.state import open_local_state

    async with opened(machine, machine.url, tell=tell) as store:
        local = await open_local_state(machine.data_dir)
        try:
            return await remove_person(store, local, plan, machine.data_dir)
        finally:
            await local.close()


def _agrees(plan: "Removal") -> bool:
    typer.echo(printable(plan.words))
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("Add --yes to remove it without being asked.")
    try:
        return typer.confirm("Remove it for good?")
    except typer.Abort:
        raise KeyboardInterrupt from None
