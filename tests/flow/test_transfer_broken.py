"""A copy that broke off goes on where it was, however it was broken off."""

import asyncio
import sys
from collections.abc import Awaitable, Callable

import pytest

from ragforge.store.transfer import Progress
from tests.flow.transferring import Place, all_of, lived_in


async def test_a_cancelled_copy_goes_on(place: Place):
    source, target = await place.store("one"), await place.store("two")
    await lived_in(source, place.blobs, sessions=4)
    copying: list[asyncio.Task[object]] = []

    def stop_among_turns(progress: Progress) -> None:
        if progress.done > 20:
            copying[0].cancel()

    copying.append(asyncio.create_task(place.copy(source, target, tell=stop_among_turns)))
    with pytest.raises(asyncio.CancelledError):
        await copying[0]
    assert 0 < len(await all_of(target)) < len(await all_of(source))
    await place.copy(source, target)
    assert await all_of(target) == await all_of(source)


Killed = Callable[[int], Awaitable[None]]


@pytest.fixture
def killed_after(place: Place) -> Killed:
    """Starts a copy from "one" to "two" as a process, and kills it after so many chunks."""

    async def run(count: int) -> None:
        urls = [f"sqlite://{place.folder}/{name}.db" for name in ("one", "two")]
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.flow.copier", *urls, str(place.folder)), stdin=pipe, stdout=pipe
        )
        assert process.stdin is not None
        assert process.stdout is not None
        async with asyncio.timeout(180):
            for _ in range(count):
                assert (await process.stdout.readline()).startswith(b"copying")
                process.stdin.write(b"\n")
                await process.stdin.drain()
            process.kill()
            assert await process.wait() == -9

    return run


async def test_a_killed_copy_goes_on_where_it_was(place: Place, killed_after: Killed):
    source = await place.store("one")
    await lived_in(source, place.blobs, sessions=4)
    for count in (1, 2, 4):
        await killed_after(count)
    target = await place.store("two")
    partly = await all_of(target)
    assert 0 < len(partly) < len(await all_of(source))
    # It remembers what has arrived; a line that was being written when the process died is no harm.
    (remembered,) = (place.folder / "copies").iterdir()
    assert len(remembered.read_text().split()) >= 3
    remembered.write_text(remembered.read_text() + "c0ffee")

    moved = await place.copy(source, target)
    assert await all_of(target) == await all_of(source)
    assert moved.new < sum(moved.counts.values())
    assert await target.check() == []


async def test_what_the_target_lost_since_a_copy_broke_off_is_sent_again(place: Place, killed_after: Killed):
    source = await place.store("one")
    history = await lived_in(source, place.blobs, sessions=4)
    await killed_after(4)
    target = await place.store("two")
    deleted = await target.sessions.delete(history.sessions[1].id)
    assert deleted.turns == 4
    await place.copy(source, target)
    assert await all_of(target) == await all_of(source)


async def test_a_lost_memory_of_a_broken_copy_costs_time_only(place: Place, killed_after: Killed):
    source = await place.store("one")
    await lived_in(source, place.blobs, sessions=4)
    await killed_after(4)
    (remembered,) = (place.folder / "copies").iterdir()
    remembered.unlink()
    target = await place.store("two")
    moved = await place.copy(source, target)
    assert await all_of(target) == await all_of(source)
    assert moved.new < sum(moved.counts.values())
