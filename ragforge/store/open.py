"""Open the store that a URL names. Each kind of store is a folder here, named like the URL's scheme."""

import asyncio
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Protocol, cast

from ragforge.domain.errors import UsageError
from ragforge.domain.redact import hide_url_passwords
from ragforge.store.base import Store

ALIASES = {"bolt": "neo4j"}
"""Schemes that lead to a store of another name: Neo4j's own for one server, without routing."""


class Opener(Protocol):
    """The function `open_store` of a store's package."""

    def __call__(self, url: str, *, machine_dir: Path, password: str, adopt: bool) -> Awaitable[Store]:
        """Return the open store."""
        ...


class Migrator(Protocol):
    """The function `migrate_store` of a store's package, if opening does not migrate it."""

    def __call__(
        self, url: str, *, machine_dir: Path, password: str, tell: Callable[[str], None]
    ) -> Awaitable[int]:
        """Return the new version of the schema."""
        ...


async def open_store(url: str, *, machine_dir: Path, password: str = "", adopt: bool = False) -> Store:
    """Return the store, ready for use.

    machine_dir: the folder for this machine's data about it: who writes which session, and what waits.
    password: for a server, if the URL has none. adopt: use a database that also contains other data.

    Raises UsageError for an unknown scheme, and StoreUnavailable, StoreDamaged, StoreNewer or StoreForeign.
    """
    await asyncio.to_thread(_prepare_opening, machine_dir, url)
    # In a thread: a server's driver takes half a second, in which the interface goes on.
    package = await asyncio.to_thread(_package, url)
    opener = cast("Opener", package.open_store)
    return await opener(url, machine_dir=machine_dir, password=password, adopt=adopt)


async def migrate_store(
    url: str, *, machine_dir: Path, password: str = "", tell: Callable[[str], None] = lambda _: None
) -> None:
    """Migrate the database to the current schema. A file is migrated whenever it is opened; a server only by
    this.

    tell: receives a sentence for each step. Raises like `open_store`.
    """
    package = await asyncio.to_thread(_package, url)
    if hasattr(package, "migrate_store"):
        migrate = cast("Migrator", package.migrate_store)
        await migrate(url, machine_dir=machine_dir, password=password, tell=tell)
    else:
        store = await open_store(url, machine_dir=machine_dir, password=password)
        await store.close()


def check_scheme(url: str) -> str:
    """Return the scheme of the URL. Raises UsageError if no kind of store has it."""
    # `neo4j+s://` and the like are ways to reach the same store.
    scheme = url.partition(":")[0].partition("+")[0]
    if scheme not in schemes():
        known = ", ".join(f"{name}://" for name in schemes())
        shown = hide_url_passwords(url)
        raise UsageError(f"Not a store's address: {shown!r}. It must begin with one of: {known}.")
    return scheme


def _prepare_opening(machine_dir: Path, url: str) -> None:
    from ragforge.store.survey import prepare_opening  # knows every kind of store's files, which ask here

    check_scheme(url)
    prepare_opening(machine_dir, url)


def _package(url: str) -> ModuleType:
    scheme = check_scheme(url)
    return import_module(f"ragforge.store.{ALIASES.get(scheme, scheme)}")


def schemes() -> list[str]:
    """Return the known schemes."""
    folders = {folder.parent.name for folder in Path(__file__).parent.glob("*/__init__.py")}
    return sorted(folders | {alias for alias, name in ALIASES.items() if name in folders})
