"""`ragforge db connect`: test a server, and save it as the store; the history may be copied to it."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

import typer
from msgspec import Struct

from ragforge.cli.db_transfer import copy_between
from ragforge.cli.edge import tell
from ragforge.cli.library import this_machine
from ragforge.cli.login import ask_password
from ragforge.cli.options import Options, run_async
from ragforge.cli.output import printable
from ragforge.domain import timeouts
from ragforge.domain.errors import RagforgeError, StoreError, StoreForeign, StoreLoginRefused, UsageError

if TYPE_CHECKING:  # costs more than all of `ragforge --version`
    from ragforge.commands.db import ConnectArguments
    from ragforge.session.databases import StoreAtAddress
    from ragforge.session.machine import Machine
    from ragforge.session.servers import Server
    from ragforge.store.base import RecordKind


def connect(options: Options, args: "ConnectArguments") -> int:
    """Run `ragforge db connect`."""
    machine = this_machine(options)
    asking = _Asking(machine, yes=args.yes, is_terminal=sys.stdin.isatty() and sys.stdout.isatty())
    server, found = asking.connected(args.url, args.user)
    _print_found(found)
    counts = asking.history(server)
    for words in run_async(lambda: _keep(machine, server)):
        typer.echo(printable(words))
    if counts and not args.no_copy:
        _offer_copy(asking, server, counts)
    return 0


class _Asking(Struct, frozen=True):
    """Questions to the user, or errors if nobody can answer."""

    machine: "Machine"
    yes: bool
    is_terminal: bool

    def connected(self, url: str, user: str) -> "tuple[Server, StoreAtAddress]":
        """Return a server that answered, and what it contains. Raises RagforgeError if nothing helps."""
        from ragforge.session.servers import logged_in

        server = self._named(url, user)
        named = server.user
        for _ in range(timeouts.PASSWORD_TRIES_MAX):
            try:
                return server, self._looked_at(server)
            except StoreForeign:
                raise
            except (StoreError, UsageError) as error:
                if not self.is_terminal:
                    raise
                if not _is_login(error) or server.password:  # else the question for one says everything
                    tell(str(error))
                if _is_login(error):
                    # A user who expects a question for the password only would type it where it is visible.
                    name = named or _ask("User", default=server.user or "neo4j")
                    server = logged_in(server, name, ask_password(f"Password of {name} (not shown)"))
                else:
                    server = self._named("", user, default=server.url)
                    named = server.user
        raise UsageError("Could not connect after ten tries. See docs/stores.md, then try again.")

    def history(self, server: "Server") -> "Mapping[RecordKind, int]":
        """Return what the store in use contains, if that is another one."""
        from ragforge.session.databases import history_at
        from ragforge.session.servers import is_same

        if is_same(self.machine.url, server.url):
            return {}
        try:
            return run_async(lambda: history_at(self.machine, self.machine.url))
        except RagforgeError as error:
            tell(f"Cannot read the current store: {error}")
            return {}

    def agrees(self, question: str) -> bool:
        """Whether the answer is yes; without a terminal, only with `--yes`."""
        if self.yes or not self.is_terminal:
            return self.yes
        try:
            return typer.confirm(question)
        except typer.Abort:
            raise KeyboardInterrupt from None

    def _named(self, url: str, user: str, *, default: str = "") -> "Server":
        """Return the server of the URL; ask for it if it is missing or invalid."""
        from ragforge.session.servers import applications_server, logged_in, server_of

        if not url and not self.is_terminal:
            raise UsageError(
                "Standard input is not a terminal. Give the server's address: ragforge db connect bolt://HOST"
            )
        if not url and not default and (words := applications_server(self.machine.environ)):
            tell(words)
        for _ in range(timeouts.PASSWORD_TRIES_MAX):
            try:
                server = server_of(url or _ask("Server", default=default or "bolt://localhost:7687"))
            except UsageError as error:
                if not self.is_terminal:
                    raise
                tell(str(error))
                url = ""
            else:
                return server if server.user or not user else logged_in(server, user, server.password)
        raise UsageError("No valid address after ten tries. Write it like bolt://localhost:7687.")

    def _looked_at(self, server: "Server") -> "StoreAtAddress":
        """Return what the server contains; ask before using a graph with other data."""
        from ragforge.session.databases import look_at

        if self.is_terminal:
            # The schema is built the first time, which takes a cold server a while.
            tell(f"Connecting to {server.url} ...")
        try:
            return run_async(lambda: look_at(self.machine, server), asks=False)
        except StoreForeign as error:
            if self.is_terminal and not self.yes:
                tell(str(error))
            if not self.agrees("Keep conversations in this database, next to its other data?"):
                if not self.is_terminal:
                    raise StoreForeign(f"{error} To use it anyway, add --yes.") from error
                raise typer.Exit(1) from None
            return run_async(lambda: look_at(self.machine, server, adopt=True), asks=False)


def _is_login(error: RagforgeError) -> bool:
    return isinstance(error, StoreLoginRefused) and not error.expired


def _ask(question: str, *, default: str) -> str:
    try:
        return str(typer.prompt(question, default=default)).strip()
    except typer.Abort:
        raise KeyboardInterrupt from None


async def _keep(machine: "Machine", server: "Server") -> list[str]:
    from ragforge.session.databases import keep_server

    return await keep_server(machine, server)


def _print_found(found: "StoreAtAddress") -> None:
    from ragforge.session.servers import facts_of

    for fact in facts_of(found.status, found.link):
        typer.echo(printable(f"{fact.name:<14} {fact.words}"))


def _offer_copy(asking: _Asking, server: "Server", counts: "Mapping[RecordKind, int]") -> None:
    from ragforge.domain.redact import hide_url_passwords
    from ragforge.session.servers import counts_words

    origin = hide_url_passwords(asking.machine.url)
    if asking.agrees(f"Copy the existing history ({counts_words(counts)}) to it?"):
        copy_between(asking.machine, asking.machine.url, server.url, password=server.password)
    else:
        typer.echo(
            printable(f"The history stays at {origin}. To copy it later:\n")
            + printable(f"ragforge db copy --from {origin} --to {server.url}")
        )
