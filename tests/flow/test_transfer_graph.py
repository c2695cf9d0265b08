"""Copies between a file and a real server: every record arrives as it was, there and back."""

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragforge.store.blobs import SqliteBlobs
from ragforge.store.open import open_store
from ragforge.store.transfer import backup, copy, restore, verified
from tests.flow.transferring import all_of, lived_in
from tests.servers.shared import Servers


# One kind is enough: the two differ in nothing that is asked here.
@pytest.fixture(params=["neo4j-5"])
def graph_url(request: pytest.FixtureRequest, neo4j_servers: Servers) -> Iterator[str]:
    """A server that holds nothing."""
    with neo4j_servers.emptied(request.param) as server:
        yield server.url


async def test_a_history_comes_back_from_the_graph_as_it_was(graph_url: str, tmp_path: Path):
    blobs = SqliteBlobs(tmp_path / "blobs.db")
    urls = (f"sqlite://{tmp_path}/one.db", graph_url, f"sqlite://{tmp_path}/back.db")
    one, graph, back = [await open_store(url, machine_dir=tmp_path) for url in urls]
    await lived_in(one, blobs)
    records = await all_of(one)

    # The copy is killed among the turns, and goes on.
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.flow.copier", *urls[:2], str(tmp_path)), stdin=pipe, stdout=pipe
    )
    assert process.stdin is not None
    assert process.stdout is not None
    async with asyncio.timeout(180):
        for _ in range(3):
            assert (await process.stdout.readline()).startswith(b"copying")
            process.stdin.write(b"\n")
            await process.stdin.drain()
        process.kill()
        assert await process.wait() == -9
    moved = await copy(one, graph, blobs, machine_dir=tmp_path)
    assert (sum(moved.counts.values()), moved.kept) == (len(records), 0)
    assert moved.new < len(records)
    assert await all_of(graph) == records
    again = await copy(one, graph, blobs, machine_dir=tmp_path)
    assert (again.new, again.kept) == (0, 0)

    await copy(graph, back, blobs, machine_dir=tmp_path)
    assert await all_of(back) == records
    assert await graph.check() == []

    made = [
        await backup(store, blobs, tmp_path / f"{number}.gz") for number, store in enumerate((one, graph))
    ]
    assert made[0].closing == made[1].closing
    restored = await restore(await verified(tmp_path / "0.gz"), graph, blobs, machine_dir=tmp_path)
    assert (restored.new, restored.kept) == (0, 0)
    for store in (one, graph, back):
        await store.close()
    await blobs.close()
