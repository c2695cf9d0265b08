"""Bringing a backup set back, and which contents it needs that are not here."""

import asyncio
from collections.abc import Callable, Collection
from contextlib import aclosing

from msgspec import Struct

from ragforge.config.store_address import parse_store_url
from ragforge.session.databases import contents, opened
from ragforge.session.machine import Machine
from ragforge.store.archive_items import blobs_of
from ragforge.store.backup_recovery import BroughtBack, recover_backup
from ragforge.store.files import Role


class Recovered(Struct, frozen=True):
    """What took its place again. missing: hashes of contents that the set needs and this machine lacks."""

    brought: BroughtBack
    missing: tuple[str, ...] = ()


async def recover(
    machine: Machine, name: str, *, only: Collection[Role], tell: Callable[[str], object]
) -> Recovered:
    """Bring the set back, then look for the contents that it needs. Raises as `recover_backup`."""
    brought = await asyncio.to_thread(recover_backup, machine.data_dir, name, only=only)
    url = brought.made.store
    if parse_store_url(url) is not None:  # what a server's versions need was not touched
        return Recovered(brought)
    needed: set[str] = set()
    async with opened(machine, url, tell=tell) as store, contents(machine) as blobs:
        async with aclosing(store.archive.dump()) as records:
            async for record in records:
                needed.update(blobs_of(record))
        return Recovered(brought, tuple(await blobs.missing(sorted(needed))))
