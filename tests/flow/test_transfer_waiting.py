"""Backups and copies of a store of which rows have not reached their server."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from ragforge.domain.errors import StoreUnavailable
from ragforge.store.base import Link, Store
from ragforge.store.transfer import backup
from tests.flow.transferring import Place, all_of, lived_in

WHY = "Neo4j at bolt://db does not answer. Start it."


@dataclass
class Behind:
    """The store, as if it were that of a server to which not all has come."""

    store: Store
    link: Link

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    async def drain(self, *, timeout_s: float) -> Link:
        return self.link


def behind(store: Store, link: Link) -> Store:
    return cast("Store", Behind(store, link))


async def test_a_backup_without_what_waits_is_made_only_where_it_is_asked_for(place: Place, tmp_path: Path):
    store = behind(await place.store("one"), Link(2))
    await lived_in(store, place.blobs)
    with pytest.raises(StoreUnavailable) as refused:
        await backup(store, place.blobs, tmp_path / "all.gz")
    assert str(refused.value) == (
        "2 rows have not reached the server yet and would be missing. Try again when it answers. "
        "`--partial` makes a backup without them."
    )
    assert not (tmp_path / "all.gz").exists()
    made = await backup(store, place.blobs, tmp_path / "all.gz", partial=True)
    assert made.closing.waiting == 2


async def test_why_the_server_is_away_is_said_once_and_no_way_is_offered_that_there_is_not(
    place: Place, tmp_path: Path
):
    store = behind(await place.store("one"), Link(1, WHY))
    with pytest.raises(StoreUnavailable) as refused:
        await backup(store, place.blobs, tmp_path / "all.gz")
    assert str(refused.value) == (
        f"1 row has not reached the server yet and would be missing. {WHY} Try again when it answers."
    )


async def test_nothing_is_copied_while_rows_wait(place: Place):
    source, target = await place.store("one"), await place.store("two")
    await lived_in(source, place.blobs)
    with pytest.raises(StoreUnavailable, match="2 rows have not reached the server yet"):
        await place.copy(behind(source, Link(2)), target)
    assert await all_of(target) == []
