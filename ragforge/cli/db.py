"""`ragforge db`: maintain, back up and copy the database of conversations."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ragforge.cli.db_backups import backups, recover
from ragforge.cli.db_connect import connect
from ragforge.cli.db_embedder import embedder
from ragforge.cli.db_outbox import waiting
from ragforge.cli.db_person import person_export, person_remove
from ragforge.cli.db_progress import shown
from ragforge.cli.db_transfer import RESUMES, copy_between, number, print_backup, print_moved, stoppable
from ragforge.cli.edge import FAILED, tell
from ragforge.cli.library import this_machine
from ragforge.cli.options import Options, run_async
from ragforge.cli.output import json_line, printable
from ragforge.domain import timeouts

if TYPE_CHECKING:  # costs more than all of `ragforge --version`
    from ragforge.commands.db import (
        BackupArguments,
        CheckArguments,
        CopyArguments,
        RestoreArguments,
        StatusArguments,
        StoreArguments,
    )


def _status(options: Options, args: "StatusArguments") -> int:
    async def work() -> int:
        from ragforge.session.databases import opened
        from ragforge.session.servers import facts_of

        machine = this_machine(options, args.store)
        async with opened(machine, machine.url, tell=tell) as database:
            link = await database.drain(timeout_s=timeouts.NEO4J_DRAIN_S_MAX)
            found = await database.status()
        if args.json:
            told: dict[str, Any] = {
                "kind": found.kind,
                "place": found.place,
                "schema": found.schema,
                "latency_ms": round(found.latency_ms, 2),
                "counts": dict(found.counts),
                "indexes": dict(found.indexes),
                "details": dict(found.details),
                "waiting": link.waiting,
                "away": link.away,
                "held": link.held,
                "stranded": link.stranded,
            }
            typer.echo(json_line(told))
            return 0
        for fact in facts_of(found, link):
            typer.echo(printable(f"{fact.name:<14} {fact.words}"))
        return 0

    return run_async(work)


def _migrate(options: Options, args: "StoreArguments") -> int:
    async def work() -> int:
        from ragforge.session.databases import migrate_database, opened

        machine = this_machine(options, args.store)
        await migrate_database(machine, machine.url, tell=lambda words: typer.echo(printable(words)))
        async with opened(machine, machine.url, tell=tell) as database:
            found = await database.status()
        typer.echo(printable(f"{found.place} is up to date (schema {found.schema})."))
        return 0

    return run_async(work)


def _check(options: Options, args: "CheckArguments") -> int:
    async def work() -> int:
        from ragforge.session.store_check import check_store
        from ragforge.store.files import REPAIR

        checked = await check_store(this_machine(options, args.store), repair=args.repair, tell=tell)
        for each in checked:
            state = f"{number(len(each.wrong), 'problem')}" if each.wrong else "sound"
            typer.echo(printable(f"{each.title}: {state}."))
            for sentence in (*each.done, *each.wrong, *each.notes):
                typer.echo(printable(f"  {sentence}"))
        if wrong := sum(len(each.wrong) for each in checked):
            hint = f"`{REPAIR}` repairs what can be repaired."
            if args.repair or all(each.tried for each in checked if each.wrong):
                hint = f"`{REPAIR}` could not repair {'it' if wrong == 1 else 'them'}."
            tell(f"{number(wrong, 'problem')} found in the store. {hint}")
            return FAILED
        typer.echo("The store has no problems.")
        return 0

    return run_async(work)


def _backup(options: Options, args: "BackupArguments") -> int:
    async def work() -> int:
        from ragforge.session.databases import contents, opened
        from ragforge.store import transfer

        machine = this_machine(options, args.store)
        async with opened(machine, machine.url, tell=tell) as database, contents(machine) as blobs:
            with shown() as progress:
                made = await transfer.backup(
                    database, blobs, Path(args.file), force=args.force, partial=args.partial, tell=progress
                )
        print_backup(made)
        return 0

    return stoppable(work, "No file was written.")


def _restore(options: Options, args: "RestoreArguments") -> int:
    async def work() -> int:
        from ragforge.session.databases import contents, opened
        from ragforge.session.persons import known_person
        from ragforge.session.union_copy import follow_unions
        from ragforge.store import transfer
        from ragforge.store.transfer_stream import items_of

        machine = this_machine(options, args.to)
        with shown() as progress:
            found = await transfer.verified(Path(args.file), tell=progress)
            async with (
                opened(machine, machine.url, tell=tell, make=True) as database,
                contents(machine) as blobs,
            ):
                person = await known_person(machine.data_dir, database.url)
                await follow_unions(items_of(found.file), database)
                moved = await transfer.restore(
                    found, database, blobs, machine_dir=machine.data_dir, person=person, tell=progress
                )
        made = f"{found.header.made_at[:10]} from {found.header.origin}"
        typer.echo(printable(f"{args.file}, made on {made}:"))
        if found.closing.waiting:
            tell(
                f"The backup lacks {number(found.closing.waiting, 'row')} that had not reached the server "
                "yet."
            )
        print_moved(moved)
        return 0

    return stoppable(work, RESUMES)


def _copy(options: Options, args: "CopyArguments") -> int:
    machine = this_machine(options, args.origin)
    copy_between(machine, machine.url, args.to)
    return 0


RUNS: Mapping[str, Callable[[Options, Any], int]] = {
    "backup": _backup,
    "backups": backups,
    "check": _check,
    "connect": connect,
    "copy": _copy,
    "embedder": embedder,
    "export": person_export,
    "migrate": _migrate,
    "recover": recover,
    "remove": person_remove,
    "restore": _restore,
    "status": _status,
    "waiting": waiting,
}
