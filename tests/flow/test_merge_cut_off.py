"""A merge that dies at one of its writes: afterwards the files' head says what the folder contains."""

from pathlib import Path

import pytest

from ragforge.session.moves import checkout
from ragforge.session.state import Session
from ragforge.versions.attempts.merge import merge
from ragforge.versions.tree import state_of
from tests.flow.moving import head_of, line_of
from tests.flow.recorded import assert_head_is_disk
from tests.flow.running import environ
from tests.property.history_world import World, settled


async def commanded(world: World, session: Session, words: str, *, write: str = "", remove: str = "") -> str:
    """A turn whose command writes or removes a file; the version that it makes."""
    async with world.turn(session, words) as turn, turn.command():
        if write:
            (world.root / write).parent.mkdir(exist_ok=True)
            (world.root / write).write_text(words)
        if remove:
            (world.root / remove).unlink()
    await settled(session)
    return (await head_of(session)).version


@pytest.mark.parametrize("writes", [0, 1, 2, 3, 99])  # the last one ends in good order
async def test_a_merge_into_an_empty_folder_records_that_it_filled_it(tmp_path: Path, writes: int) -> None:
    world = World(tmp_path, environ(tmp_path))
    await world.open()
    try:
        session = world.sessions[0]
        base = await commanded(world, session, "base", write="x/a.txt")
        theirs = await commanded(world, session, "theirs", write="x/b.txt")
        await checkout(session, base)
        ours = await commanded(world, session, "ours", remove="x/a.txt")

        async def merging() -> None:
            await merge(session, theirs)

        await world.dying(session, merging(), writes=writes, after=True)
        [session, _] = world.sessions
        is_merged = writes > 0
        assert (world.root / "x" / "b.txt").exists() is is_merged
        assert (state_of(await line_of(session))["x"] is None) is is_merged
        await assert_head_is_disk(session)
        await checkout(session, ours)
        assert list((world.root / "x").iterdir()) == []
        await assert_head_is_disk(session)
    finally:
        await world.close()
