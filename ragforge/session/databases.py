"""The databases of conversations themselves: opened by their address, connected to, looked after, moved."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from ragforge.config.edit import set_value
from ragforge.config.paths import data_dir, make_private, user_file
from ragforge.config.secrets import STORE_PASSWORD_VARIABLE, save_store_password, store_password
from ragforge.config.settings import Loaded, SourceKind, load_settings
from ragforge.config.store_address import parse_store_url, with_user
from ragforge.domain.errors import StoreUnavailable, UsageError
from ragforge.domain.json import JsonValue
from ragforge.domain.redact import hide_url_passwords
from ragforge.session.connecting import Server
from ragforge.session.link import leave_store
from ragforge.store.base import Link, RecordKind, Store, StoreStatus
from ragforge.store.blobs import SqliteBlobs
from ragforge.store.open import migrate_store, open_store

FILE_SCHEME = "sqlite://"
DRAIN_S_MAX = 5.0
"""So long it is waited for rows on their way to a server before it is asked what it holds."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What databases are reached from: this machine's settings and its folder."""

    loaded: Loaded
    environ: Mapping[str, str]
    folder: Path

    @property
    def url(self) -> str:
        """The store in use."""
        return self.loaded.settings.store


def this_machine(
    *, cwd: Path, flags: Mapping[str, JsonValue], environ: Mapping[str, str], url: str = ""
) -> Machine:
    """The machine, with the store at this address in use where one is given. Raises UsageError."""
    chosen = {**flags, "store": url} if url else flags
    loaded = load_settings(cwd=cwd, flags=chosen, environ=environ)
    try:
        return Machine(loaded, environ, make_private(data_dir(environ)))
    except UsageError as error:
        raise StoreUnavailable(str(error)) from error


async def open_database(
    machine: Machine, url: str, *, password: str = "", adopt: bool = False, make: bool = False
) -> Store:
    """The store at the address. Its password is the one given, else the one that is known.

    make: a file that is missing is made. adopt: a database that holds other things too is used.
    Raises UsageError or StoreError.
    """
    if not make and url.startswith(FILE_SCHEME) and not Path(url.removeprefix(FILE_SCHEME)).exists():
        raise StoreUnavailable(
            f"There is no store {url.removeprefix(FILE_SCHEME)}. Check the address; a new store is made when "
            "ragforge is started with it."
        )
    known = password or await _password(machine, url)
    return await open_store(url, machine_dir=machine.folder, password=known, adopt=adopt)


@asynccontextmanager
async def opened(
    machine: Machine, url: str, *, tell: Callable[[str], object], password: str = "", make: bool = False
) -> AsyncGenerator[Store, None]:
    """The store at the address; `tell` hears of rows that still wait for a server at the end."""
    store = await open_database(machine, url, password=password, make=make)
    try:
        yield store
    finally:
        if waits := await leave_store(store):
            tell(f"{waits}.")


@asynccontextmanager
async def contents(machine: Machine) -> AsyncGenerator[SqliteBlobs, None]:
    """The contents of files and tool results that this machine keeps."""
    blobs = SqliteBlobs(machine.folder / "blobs.db")
    try:
        yield blobs
    finally:
        await blobs.close()


async def migrate_database(machine: Machine, url: str, *, tell: Callable[[str], None]) -> None:
    """Bring the database up to date; `tell` hears of each step. Raises UsageError or StoreError."""
    password = await _password(machine, url)
    await migrate_store(url, machine_dir=machine.folder, password=password, tell=tell)


@dataclass(frozen=True, slots=True)
class Found:
    """What is at an address, and what waits for it."""

    status: StoreStatus
    link: Link


async def look_at(machine: Machine, server: Server, *, adopt: bool = False) -> Found:
    """What is at the server, after it was made ready to keep conversations.

    Raises StoreForeign for a database that holds other things, until `adopt` says that this is meant;
    else StoreError or UsageError that says what went wrong.
    """
    store = await open_database(machine, server.url, password=server.password, adopt=adopt)
    try:
        if store.link.away:
            raise StoreUnavailable(store.link.away)
        return Found(await store.status(), store.link)
    finally:
        await store.close()


async def keep_server(machine: Machine, server: Server) -> list[str]:
    """Keep address and password in the user's own file and keyring; the sentences say where.

    Raises UsageError where they cannot be written.
    """
    environ, said = machine.environ, list[str]()
    # Kept too where it came by the environment: the next start may have another one.
    if password := server.password or environ.get(STORE_PASSWORD_VARIABLE, ""):
        # In a thread: the keyring may take seconds.
        said.append(await asyncio.to_thread(save_store_password, server.url, password, environ))
    await asyncio.to_thread(set_value, user_file(environ), "store", server.url)
    said.append(f"Conversations are kept at {server.url} from now on (store in {user_file(environ)}).")
    source = machine.loaded.sources["store"]
    if source.kind in (SourceKind.ENVIRONMENT, SourceKind.FLAG):
        said.append(
            f"While {source} names {hide_url_passwords(machine.url)}, that is used instead: take it away."
        )
    return said


def is_same(url: str, other: str) -> bool:
    """Whether both name one database; two users see the same."""
    return _place(url) == _place(other)


async def history_at(machine: Machine, url: str) -> Mapping[RecordKind, int]:
    """What the store holds, by kind; empty where it holds no session or is not there."""
    if url.startswith(FILE_SCHEME) and not Path(url.removeprefix(FILE_SCHEME)).exists():
        return {}
    store = await open_database(machine, url)
    try:
        counts = await store.archive.counts()
    finally:
        await store.close()
    return counts if counts.get(RecordKind.SESSION) else {}


async def _password(machine: Machine, url: str) -> str:
    # In a thread: the keyring may take seconds.
    key = await asyncio.to_thread(store_password, url, machine.environ)
    return key.value if key else ""


def _place(url: str) -> str:
    return with_user(url, "") if parse_store_url(url) else url
