"""A copy that is stopped with Ctrl+C: what has arrived stays, and the same command goes on from it."""

import asyncio
import signal
from contextlib import aclosing, closing
from pathlib import Path

import apsw

from ragforge.store.base import Record
from ragforge.store.open import open_store
from ragforge.store.sqlite.connection import raw_connection
from tests.cli.running import Program, ended
from tests.contract.builders import a_project, a_session, a_turn

TURNS = 4_000
DEADLINE_S = 60


async def filled(url: str, folder: Path) -> None:
    """A history that takes long enough to be copied."""
    store = await open_store(url, machine_dir=folder)
    session = a_session(a_project().id)
    turns = [a_turn(session, f"Question {number}: {'feed the zebra ' * 40}") for number in range(TURNS)]
    records: list[Record] = [a_project(id=session.project_id), session, *turns]
    await store.archive.load(records)
    await store.close()


def turns_in(path: Path) -> int:
    """How many turns the file holds, as another process sees it."""
    if not path.exists():
        return 0
    with closing(raw_connection(path)) as connection:
        try:
            return next(connection.execute("SELECT count(*) FROM turn"))[0]
        except apsw.Error:  # it is only being made
            return 0


async def test_a_copy_that_is_stopped_says_so_and_goes_on(alone: Program, tmp_path: Path) -> None:
    origin, goal = f"sqlite://{tmp_path}/one.db", tmp_path / "two.db"
    await filled(origin, tmp_path)
    process = await alone.start("db", "copy", "--from", origin, "--to", f"sqlite://{goal}")
    async with asyncio.timeout(DEADLINE_S):
        while await asyncio.to_thread(turns_in, goal) == 0:
            await asyncio.sleep(0.01)
    process.send_signal(signal.SIGINT)
    stopped = await ended(process)
    assert stopped.code == 130
    assert "Stopped. What was copied so far is kept; run the same command again to continue." in stopped.err
    arrived = turns_in(goal)
    assert 0 < arrived < TURNS

    again = await alone.run("db", "copy", "--from", origin, "--to", f"sqlite://{goal}")
    assert again.code == 0
    assert f"{TURNS:,} turns" in again.out
    assert "already there" in again.out
    one, two = [await open_store(url, machine_dir=tmp_path) for url in (origin, f"sqlite://{goal}")]
    async with aclosing(one.archive.dump()) as sent, aclosing(two.archive.dump()) as found:
        assert [record async for record in found] == [record async for record in sent]
    for store in (one, two):
        await store.close()
