"""Opening the store that a URL names. A store is a folder here, called as the URL's scheme."""

from collections.abc import Awaitable
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from ragforge.domain.errors import UsageError
from ragforge.domain.redact import hide_url_passwords
from ragforge.store.base import Store


class Opener(Protocol):
    """What each store's package offers as `open_store`."""

    def __call__(self, url: str, *, lock_dir: Path) -> Awaitable[Store]:
        """The open store."""
        ...


async def open_store(url: str, *, lock_dir: Path) -> Store:
    """The store, ready for use; `lock_dir` lies on this machine and holds who writes which session.

    Raises UsageError for an unknown scheme, and StoreUnavailable, StoreDamaged or StoreNewer.
    """
    # `neo4j+s://` and the like are ways to reach the same store.
    scheme = url.partition(":")[0].partition("+")[0]
    if scheme not in schemes():
        known = ", ".join(f"{name}://" for name in schemes())
        shown = hide_url_passwords(url)
        raise UsageError(f"No store answers to {shown!r}. Its address begins with one of: {known}.")
    opener = cast("Opener", import_module(f"ragforge.store.{scheme}").open_store)
    return await opener(url, lock_dir=lock_dir)


def schemes() -> list[str]:
    """The kinds of store that there are."""
    return sorted(folder.parent.name for folder in Path(__file__).parent.glob("*/__init__.py"))
