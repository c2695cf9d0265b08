"""`ragforge db`: the database of conversations itself, looked after, backed up and copied."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragforge.cli.db_backups import backups, recover
from ragforge.cli.db_connect import connect
from ragforge.cli.db_embedder import embedder
from ragforge.cli.db_outbox import waiting
from ragforge.cli.db_progress import shown
from ragforge.cli.db_transfer import RESUMES, copy_between, number, print_backup, print_moved, stoppable
from ragforge.cli.edge import FAILED, tell
from ragforge.cli.options import EXIT_CODES, Options, run_async
from ragforge.cli.output import json_line, printable
from ragforge.domain import timeouts

if TYPE_CHECKING:  # costs more than all of `ragforge --version`
    from ragforge.session.machine import Machine


def _epilog(*examples: str) -> str:
    """Examples a line each, then the exit codes."""
    return "\n\n".join([*(f"Example: {example}" for example in examples), EXIT_CODES])


app = typer.Typer(
    help="Look after the database that conversations are kept in: connect, back up, copy.",
    no_args_is_help=True,
    epilog=_epilog("ragforge db backup history.jsonl.gz"),
)
app.command(
    epilog=_epilog("ragforge db connect neo4j+s://ada@graph.example.org", "ragforge db connect (it asks)")
)(connect)

app.command(epilog=_epilog("ragforge db waiting", "ragforge db waiting --carry"))(waiting)
app.command(epilog=_epilog("ragforge db embedder static", "ragforge db embedder ollama:nomic-embed-text"))(
    embedder
)
app.command(epilog=_epilog("ragforge db backups", "ragforge db backups --now"))(backups)
app.command(
    epilog=_epilog(
        "ragforge db recover 20261122T131500Z", "ragforge db recover 20261122T131500Z --only machine"
    )
)(recover)

StoreOption = Annotated[
    str, typer.Option("--store", metavar="URL", help="This store instead of the one in use.")
]


@app.command(epilog=_epilog("ragforge db status", "ragforge db status --json"))
def status(
    context: typer.Context,
    store: StoreOption = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Tell which store is used, what it holds and how it is: schema, indexes, latency, what waits."""

    async def work() -> int:
        from ragforge.session.databases import opened
        from ragforge.session.servers import facts_of

        machine = _machine(context, store)
        async with opened(machine, machine.url, tell=tell) as database:
            link = await database.drain(timeout_s=timeouts.NEO4J_DRAIN_S_MAX)
            found = await database.status()
        if as_json:
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

    raise typer.Exit(run_async(work))


@app.command(epilog=_epilog("ragforge db migrate", "ragforge db migrate --store bolt://localhost:7687"))
def migrate(context: typer.Context, store: StoreOption = "") -> None:
    """Bring the database's schema up to date, after ragforge was updated on all machines that share it.

    A file of SQLite is brought up to date whenever it is opened.
    """

    async def work() -> int:
        from ragforge.session.databases import migrate_database, opened

        machine = _machine(context, store)
        await migrate_database(machine, machine.url, tell=lambda words: typer.echo(printable(words)))
        async with opened(machine, machine.url, tell=tell) as database:
            found = await database.status()
        typer.echo(printable(f"{found.place} has schema {found.schema}, which is what this ragforge needs."))
        return 0

    raise typer.Exit(run_async(work))


@app.command(epilog=_epilog("ragforge db check", "ragforge db check --repair"))
def check(
    context: typer.Context,
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Repair what can be: indexes, contents, what is derived from turns."),
    ] = False,
    store: StoreOption = "",
) -> None:
    """Look for what is wrong with any file of the store; exit code 1 if something is.

    Each file is named: conversations, contents, versions, this machine's state, what waits for servers.
    """

    async def work() -> int:
        from ragforge.session.store_check import check_store
        from ragforge.store.files import REPAIR

        checked = await check_store(_machine(context, store), repair=repair, tell=tell)
        for each in checked:
            state = f"{number(len(each.wrong), 'thing')} wrong" if each.wrong else "sound"
            typer.echo(printable(f"{each.title}: {state}."))
            for sentence in (*each.done, *each.wrong, *each.notes):
                typer.echo(printable(f"  {sentence}"))
        if wrong := sum(len(each.wrong) for each in checked):
            hint = "" if repair else f" `{REPAIR}` repairs what can be repaired."
            tell(f"{number(wrong, 'thing')} wrong with the store.{hint}")
            return FAILED
        typer.echo("The store is sound.")
        return 0

    raise typer.Exit(run_async(work))


@app.command(epilog=_epilog("ragforge db backup history.jsonl.gz"))
def backup(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")],
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace the file where it exists.")] = False,
    partial: Annotated[
        bool, typer.Option("--partial", help="Leave out what has not reached the server yet.")
    ] = False,
    store: StoreOption = "",
) -> None:
    """Write all conversations and versions, with their contents, to one file that every store reads.

    Keep it private: it holds all that was said. Nobody but you can read the file.
    """

    async def work() -> int:
        from ragforge.session.databases import contents, opened
        from ragforge.store import transfer

        machine = _machine(context, store)
        async with opened(machine, machine.url, tell=tell) as database, contents(machine) as blobs:
            with shown() as progress:
                made = await transfer.backup(
                    database, blobs, file, force=force, partial=partial, tell=progress
                )
        print_backup(made)
        return 0

    raise typer.Exit(stoppable(work, "There is no new file."))


@app.command(
    epilog=_epilog("ragforge db restore history.jsonl.gz", "ragforge db restore FILE --to bolt://localhost")
)
def restore(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `ragforge db backup` wrote.")],
    to: Annotated[
        str, typer.Option("--to", metavar="URL", help="Into this store instead of the one in use.")
    ] = "",
) -> None:
    """Put a backup's conversations into a store, beside those that it has; doing so twice changes nothing.

    The file is read to its end first: one that is cut or altered changes nothing.
    """

    async def work() -> int:
        from ragforge.session.databases import contents, opened
        from ragforge.session.persons import known_person
        from ragforge.store import transfer

        machine = _machine(context, to)
        with shown() as progress:
            found = await transfer.verified(file, tell=progress)
            async with (
                opened(machine, machine.url, tell=tell, make=True) as database,
                contents(machine) as blobs,
            ):
                person = await known_person(machine.data_dir, database.url)
                moved = await transfer.restore(
                    found, database, blobs, machine_dir=machine.data_dir, person=person, tell=progress
                )
        made = f"{found.header.made_at[:10]} from {found.header.origin}"
        typer.echo(printable(f"{file}, made on {made}:"))
        if found.closing.waiting:
            tell(f"The backup was made while {number(found.closing.waiting, 'row')} had not arrived yet.")
        print_moved(moved)
        return 0

    raise typer.Exit(stoppable(work, RESUMES))


@app.command(
    epilog=_epilog(
        "ragforge db copy --to bolt://localhost:7687",
        "ragforge db copy --from bolt://localhost:7687 --to sqlite:///home/me/mine.db",
    )
)
def copy(
    context: typer.Context,
    to: Annotated[str, typer.Option("--to", metavar="URL", help="Into this store.")],
    origin: Annotated[
        str, typer.Option("--from", metavar="URL", help="From this store instead of the one in use.")
    ] = "",
) -> None:
    """Copy all conversations from one store to another, which keeps what it has; read back at the end.

    Broken off, the same command goes on where it was. Copying twice changes nothing.
    """

    machine = _machine(context, origin)
    copy_between(machine, machine.url, to)


def _machine(context: typer.Context, url: str) -> "Machine":
    """This machine, with the store at the address in use where one is given."""
    from ragforge.session.databases import this_machine

    options: Options = context.find_root().obj
    return this_machine(cwd=options.cwd, flags=options.flags, environ=os.environ, url=url)
