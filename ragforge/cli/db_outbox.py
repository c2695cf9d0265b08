"""`ragforge db waiting`: rows that wait on this machine, and rows for a database that is gone."""

import re
import sys
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
    from ragforge.commands.db import WaitingArguments
    from ragforge.session.machine import Machine
    from ragforge.store.base import Store
    from ragforge.store.neo4j.orphans import Stranded

TITLES_MAX = 5


def waiting(options: Options, args: "WaitingArguments") -> int:
    """Run `ragforge db waiting`."""
    if args.carry and args.discard:
        raise UsageError("Use only one of --carry and --discard.")
    machine = this_machine(options, args.store)
    if args.discard and not args.yes:
        found = run_async(lambda: _found(machine))
        if found and not _agrees():
            return FAILED
    run_async(lambda: _work(machine, carry=args.carry, discard=args.discard))
    return 0


def _agrees() -> bool:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("Discarded rows cannot be restored. Add --yes to remove them without being asked.")
    try:
        return typer.confirm("Remove these rows for good?")
    except typer.Abort:
        raise KeyboardInterrupt from None


async def _found(machine: "Machine") -> "tuple[Stranded, ...]":
    """Return the stranded rows, after printing them."""
    from ragforge.session.databases import opened, stranded_in

    async with opened(machine, machine.url, tell=tell) as database:
        found = stranded_in(database)
    _print(found)
    return found


async def _work(machine: "Machine", *, carry: bool, discard: bool) -> None:
    from ragforge.session.databases import discard_stranded, opened, stranded_in, take_stranded

    async with opened(machine, machine.url, tell=tell) as database:
        found = stranded_in(database)
        if carry and found:
            taken = await take_stranded(database)
            typer.echo(
                printable(f"{counted(taken, 'row')} carried over: the waiting rows and what they refer to.")
            )
        elif discard and found:
            rows = sum(each.rows for each in found)
            await discard_stranded(database)
            typer.echo(printable(f"{counted(rows, 'row')} removed."))
        else:
            _print(found)
        await database.drain(timeout_s=timeouts.NEO4J_DRAIN_S_MAX)
        _print_link(database, told=bool(found))
    if found and not (carry or discard):
        tell("Add --carry to carry them into the current database, or --discard to remove them.")


def _print_link(database: "Store", *, told: bool) -> None:
    from ragforge.session.servers import link_facts

    link = database.link
    for fact in link_facts(link):
        if fact.name != "stranded":
            typer.echo(printable(f"{fact.name:<14} {fact.words}"))
    if not link.waiting and not told:
        typer.echo("Nothing is waiting: everything has reached the server.")


def _noun(label: str) -> str:
    """Return `turn` for ConversationTurn, `tool call` for ToolCall."""
    return " ".join(re.findall("[A-Z][a-z]+", label.removeprefix("Conversation"))).lower()


def _print(found: "tuple[Stranded, ...]") -> None:
    for each in found:
        kinds = ", ".join(counted(number, _noun(label)) for label, number in each.counts.items())
        typer.echo(
            printable(
                f"{counted(each.rows, 'row')} for database {each.database_id}, which no longer "
                f"exists: {kinds}"
            )
        )
        for title in each.titles[:TITLES_MAX]:
            typer.echo(printable(f"  of the session {title!r}"))
        if len(each.titles) > TITLES_MAX:
            typer.echo(f"  and of {counted(len(each.titles) - TITLES_MAX, 'other session')}")
