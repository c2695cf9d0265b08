"""`ragforge db embedder`: show and change the embedder of a store."""

import sys
from typing import TYPE_CHECKING

import typer

from ragforge.cli.edge import FAILED, tell
from ragforge.cli.library import this_machine
from ragforge.cli.options import Options, run_async
from ragforge.cli.output import printable
from ragforge.domain.errors import UsageError
from ragforge.domain.words import counted

if TYPE_CHECKING:  # costs more than all of `ragforge --version`
    from ragforge.commands.db import EmbedderArguments
    from ragforge.session.embedder_change import EmbedderChange
    from ragforge.session.machine import Machine


def embedder(options: Options, args: "EmbedderArguments") -> int:
    """Run `ragforge db embedder`."""
    machine = this_machine(options, args.store)
    plan = run_async(lambda: _planned(machine, args.name))
    if plan.old == plan.new:
        typer.echo(printable(f"The store already uses the embedder {plan.new}."))
    elif not args.yes and not _agrees(plan):
        return FAILED
    run_async(lambda: _change(machine, args.name))
    typer.echo(
        printable(f"The store uses the embedder {plan.new}; memory.embedder is set to {args.name} here.")
    )
    if plan.old not in ("", plan.new):
        tell("Other machines that use this store need the same memory.embedder.")
    return 0


async def _planned(machine: "Machine", name: str) -> "EmbedderChange":
    from ragforge.session.databases import opened
    from ragforge.session.embedder_change import plan_change

    async with opened(machine, machine.url, tell=tell) as database:
        return await plan_change(machine, database, name)


async def _change(machine: "Machine", name: str) -> None:
    from ragforge.session.databases import opened
    from ragforge.session.embedder_change import change_embedder

    async with opened(machine, machine.url, tell=tell) as database:
        await change_embedder(machine, database, name)


def _agrees(plan: "EmbedderChange") -> bool:
    before = f" of {plan.old}" if plan.old else ""
    lost = f"{counted(plan.vectors, 'vector')}{before} will be rebuilt with {plan.new}."
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(f"{lost} Add --yes to change it without being asked.")
    try:
        return typer.confirm(f"{lost} Change it for everybody who uses the store?")
    except typer.Abort:
        raise KeyboardInterrupt from None
