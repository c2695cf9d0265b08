"""Databases of conversations: open them by address, connect to a server, migrate, and move waiting rows."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from ragforge.config.edit import set_value, unset
from ragforge.config.paths import data_dir, make_private, user_file
from ragforge.config.secrets import STORE_PASSWORD_VARIABLE, save_store_password
from ragforge.config.settings import FILE_SCHEME, SourceKind, embedded_store, load_settings
from ragforge.config.store_address import parse_store_url
from ragforge.domain.errors import StoreUnavailable, UsageError
from ragforge.domain.json import JsonValue
from ragforge.domain.redact import hide_url_passwords
from ragforge.session.link import leave_store
from ragforge.session.machine import Machine
from ragforge.session.servers import Server
from ragforge.session.store_access import known_password, open_named, telling_who_named
from ragforge.store.base import Link, RecordKind, Store, StoreStatus
from ragforge.store.blobs import SqliteBlobs
from ragforge.store.files import contents_file
from ragforge.store.open import migrate_store
from ragforge.store.sqlite.connection import instead_of_file, not_a_file
from ragforge.store.survey import refuse_lost

if TYPE_CHECKING:  # most have no server
    from ragforge.store.neo4j import Neo4jStore
    from ragforge.store.neo4j.orphans import Stranded


def this_machine(
    *, cwd: Path, flags: Mapping[str, JsonValue], environ: Mapping[str, str], url: str = ""
) -> Machine:
    """Return the machine, with the store at this address if one is given. Raises UsageError."""
    chosen = {**flags, "store": url} if url else flags
    loaded = load_settings(cwd=cwd, flags=chosen, environ=environ)
    try:
        return Machine(loaded, environ, make_private(data_dir(environ)))
    except UsageError as error:
        raise StoreUnavailable(str(error)) from error


async def open_database(
    machine: Machine, url: str, *, password: str = "", adopt: bool = False, make: bool = False
) -> Store:
    """Open the store at the address, with the given password or else the known one.

    make: create a missing file. adopt: use a database that also contains other data.
    Raises UsageError or StoreError.
    """
    if (
        not make
        and url.startswith(FILE_SCHEME)
        and not (path := Path(url.removeprefix(FILE_SCHEME))).exists()
    ):
        with telling_who_named(url, machine.loaded, machine.environ):
            await asyncio.to_thread(refuse_lost, machine.data_dir, url)
            if other := not_a_file(path):
                raise instead_of_file(path, other)
            raise StoreUnavailable(
                f"There is no store {path}. Check the address. Starting ragforge with this address creates a "
                "new store."
            )
    return await open_named(
        machine.loaded,
        machine.environ,
        url,
        machine_dir=machine.data_dir,
        password=password,
        adopt=adopt,
        make=make,
    )


@asynccontextmanager
async def opened(
    machine: Machine, url: str, *, tell: Callable[[str], object], password: str = "", make: bool = False
) -> AsyncGenerator[Store, None]:
    """Open the store at the address; `tell` is told at the end about rows that still wait for a server."""
    store = await open_database(machine, url, password=password, make=make)
    try:
        yield store
    finally:
        if waits := await leave_store(store):
            tell(f"{waits}.")


def stranded_in(store: Store) -> "tuple[Stranded, ...]":
    """Return the rows that wait on this machine for other databases that were at the store's address
    before."""
    server = _server_store(store)
    return server.stranded if server else ()


async def take_stranded(store: Store) -> int:
    """Send them to the current database; return how many rows these are. Raises StoreError."""
    server = _server_store(store)
    return await server.take_stranded() if server else 0


async def discard_stranded(store: Store) -> None:
    """Remove them permanently. Raises StoreError."""
    if server := _server_store(store):
        await server.discard_stranded()


def _server_store(store: Store) -> "Neo4jStore | None":
    if parse_store_url(store.url) is None:
        return None
    from ragforge.store.neo4j import Neo4jStore  # most have no server

    return store if isinstance(store, Neo4jStore) else None


@asynccontextmanager
async def contents(machine: Machine) -> AsyncGenerator[SqliteBlobs, None]:
    """Open the contents of files and tool results on this machine."""
    blobs = SqliteBlobs(contents_file(machine.data_dir).path, store_url=machine.url)
    try:
        yield blobs
    finally:
        await blobs.close()


async def migrate_database(machine: Machine, url: str, *, tell: Callable[[str], None]) -> None:
    """Migrate the database; `tell` is told about each step. Raises UsageError or StoreError."""
    password = await known_password(url, machine.environ)
    with telling_who_named(url, machine.loaded, machine.environ):
        await migrate_store(url, machine_dir=machine.data_dir, password=password, tell=tell)


class StoreAtAddress(Struct, frozen=True):
    """What is at an address, and what waits for it."""

    status: StoreStatus
    link: Link


async def look_at(machine: Machine, server: Server, *, adopt: bool = False) -> StoreAtAddress:
    """Prepare the server for conversations, and return what it contains.

    Raises StoreForeign for a database with other data, unless `adopt`; otherwise StoreError or UsageError
    that says what went wrong.
    """
    store = await open_database(machine, server.url, password=server.password, adopt=adopt)
    try:
        if store.link.away:
            raise StoreUnavailable(store.link.away)
        return StoreAtAddress(await store.status(), store.link)
    finally:
        await store.close()


async def keep_server(machine: Machine, server: Server) -> list[str]:
    """Save address and password in the user's settings and keyring; return sentences that say where.

    Raises UsageError if they cannot be written.
    """
    environ, said = machine.environ, list[str]()
    # Saved even if it came from the environment: the next start may have another one.
    if password := server.password or environ.get(STORE_PASSWORD_VARIABLE, ""):
        # In a thread: the keyring may take seconds.
        said.append(await asyncio.to_thread(save_store_password, server.url, password, environ))
    await asyncio.to_thread(set_value, user_file(environ), "store", server.url)
    said.append(
        f"Conversations will be stored at {server.url} the next time you start ragforge (store in "
        f"{user_file(environ)})."
    )
    return [*said, *_what_wins(machine)]


async def keep_embedded(machine: Machine) -> list[str]:
    """Keep conversations on this machine again; return sentences that say where. Raises UsageError."""
    await asyncio.to_thread(unset, user_file(machine.environ), "store")
    place = embedded_store(machine.environ).removeprefix(FILE_SCHEME)
    return [
        f"Conversations are kept in {place} again the next time you start ragforge.",
        *_what_wins(machine),
    ]


async def history_at(machine: Machine, url: str) -> Mapping[RecordKind, int]:
    """Return the number of records in the store, by kind; empty if it contains no session or does not
    exist."""
    if url.startswith(FILE_SCHEME) and not Path(url.removeprefix(FILE_SCHEME)).exists():
        return {}
    store = await open_database(machine, url)
    try:
        counts = await store.archive.counts()
    finally:
        await store.close()
    return counts if counts.get(RecordKind.SESSION) else {}


def _what_wins(machine: Machine) -> list[str]:
    """Return what overrides the user's settings file, if anything does."""
    source = machine.loaded.sources["store"]
    if source.kind not in (SourceKind.ENVIRONMENT, SourceKind.FLAG):
        return []
    return [f"{source} names {hide_url_passwords(machine.url)}, which is used instead until you remove it."]
