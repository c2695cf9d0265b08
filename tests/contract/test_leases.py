import asyncio

import pytest

from ragforge.domain.ids import new_id
from ragforge.store.base import Store
from tests.contract.conftest import Opener


@pytest.fixture
def work() -> str:
    """What nobody else has a lease of."""
    return new_id()


async def test_lease_is_one_holders_who_may_prolong_it(opener: Opener, work: str) -> None:
    first, second = await opener(), await opener()
    assert await first.leases.take(work, seconds=60)
    assert await first.leases.take(work, seconds=60)
    assert not await second.leases.take(work, seconds=60)
    assert await second.leases.take(f"other {work}", seconds=60), "each work has a lease of its own"


async def test_lease_that_was_given_back_can_be_taken(opener: Opener, work: str) -> None:
    first, second = await opener(), await opener()
    await first.leases.take(work, seconds=60)
    for _ in range(2):
        await first.leases.give_back(work)
    assert await second.leases.take(work, seconds=60)


async def test_lease_of_another_cannot_be_given_back(opener: Opener, work: str) -> None:
    first, second = await opener(), await opener()
    await first.leases.take(work, seconds=60)
    await second.leases.give_back(work)
    await second.leases.give_back(f"never taken {work}")
    assert not await second.leases.take(work, seconds=60)


async def test_lease_that_ran_out_can_be_taken(opener: Opener, work: str) -> None:
    first, second = await opener(), await opener()
    assert await first.leases.take(work, seconds=0.2)
    async with asyncio.timeout(180):
        while not await second.leases.take(work, seconds=60):
            await asyncio.sleep(0.05)
    assert not await first.leases.take(work, seconds=60)


async def test_one_of_many_gets_the_lease(opener: Opener, work: str) -> None:
    stores = [await opener() for _ in range(4)]
    taken = await asyncio.gather(*(store.leases.take(work, seconds=60) for store in stores))
    assert sum(taken) == 1


async def test_any_name_will_do(store: Store) -> None:
    for what in ("", "a\ud800b", "'; DROP TABLE lease; --", "x" * 10_000):
        assert await store.leases.take(what, seconds=60)
        await store.leases.give_back(what)
