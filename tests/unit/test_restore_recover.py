"""What is told and kept of a restore that was cut off. That it is cut off anywhere: `tests/faults`."""

import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ragforge.domain.errors import StoreDamaged, StoreNewer
from ragforge.versions.restore.operation import Recovered, Skipped, apply, recover
from ragforge.versions.tree import WantedFile
from tests.restoring import Place, a_file, open_place, read_tree, wanted_between, write_tree

BEFORE = {"a": a_file("1"), "b": a_file("2"), "c": a_file("3")}
AFTER = {"a": a_file("4"), "b": a_file("5"), "d": a_file("6")}


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    opened = await open_place(tmp_path)
    write_tree(opened.root, BEFORE)
    await opened.keep(AFTER)
    yield opened
    await opened.close()


async def test_where_nothing_was_cut_off_there_is_nothing_to_tell(place: Place) -> None:
    assert await recover(place.root, place.state, place.blobs) is None
    await place.restore(wanted_between(BEFORE, AFTER))
    assert await recover(place.root, place.state, place.blobs) is None


async def test_a_caller_that_died_learns_what_it_wanted_to_write(place: Place) -> None:
    (place.root / "c").write_text("the person's")
    then = {"head": "v1", "paths": ["ä", "\udcff", None, 1.5], "nested": {"a": [True]}}
    plan = await place.plan(wanted_between(BEFORE, AFTER), then=then)
    (place.root / "b").write_text("just now")
    await apply(plan, place.state, place.blobs)
    for _ in range(2):  # until it clears the journal
        assert await recover(place.root, place.state, place.blobs) == Recovered(
            finished=True,
            title="undo of turn 1",
            text="undo of turn 1 was interrupted and is now complete: 2 paths restored, 2 left as they are.",
            then=then,
            done=("a", "d"),
            skipped=(
                Skipped("c", "it has changed since then and is kept"),
                Skipped("b", "it has just changed and is kept"),
            ),
        )
    await place.state.clear_journal(place.root)
    assert await recover(place.root, place.state, place.blobs) is None


async def test_it_is_ended_where_the_folder_lies_now(place: Place, tmp_path: Path) -> None:
    moved, heard = tmp_path / "moved", list[str]()

    def told(what: str) -> None:
        if "journal: staged" in heard and not moved.exists():
            shutil.copytree(place.root, moved)  # as it is when the process is killed here
        heard.append(what)

    await apply(await place.plan(wanted_between(BEFORE, AFTER)), place.state, place.blobs, told=told)
    assert read_tree(moved) != AFTER
    journal = json.loads(await place.state.journal(place.root) or b"")
    await place.state.set_journal(place.root, json.dumps({**journal, "phase": "staged"}).encode())
    shutil.rmtree(place.root)
    await place.state.move(place.root, moved)
    recovered = await recover(moved, place.state, place.blobs)
    assert recovered is not None
    assert recovered.finished
    assert read_tree(moved) == AFTER


async def test_what_happens_after_the_end_is_not_touched_by_a_late_recovery(place: Place) -> None:
    plan = await place.plan(wanted_between(BEFORE, AFTER))
    await apply(plan, place.state, place.blobs)
    (place.root / "d").unlink()
    (place.root / "a").write_text("new work")
    recovered = await recover(place.root, place.state, place.blobs)
    assert recovered is not None
    assert recovered.finished
    assert read_tree(place.root) == {"a": a_file("new work"), "b": a_file("5")}


async def test_a_journal_that_cannot_be_read_is_said_and_nothing_is_touched(place: Place) -> None:
    await apply(await place.plan(wanted_between(BEFORE, AFTER)), place.state, place.blobs)
    journal = await place.state.journal(place.root)
    assert journal is not None
    newer = json.dumps({**json.loads(journal), "format": 2}).encode()
    for content, error in ((newer, StoreNewer), (journal[:-9], StoreDamaged), (b"[]", StoreDamaged)):
        await place.state.set_journal(place.root, content)
        with pytest.raises(error, match="interrupted"):
            await recover(place.root, place.state, place.blobs)
        assert read_tree(place.root) == AFTER
        assert await place.state.journal(place.root) == content


async def test_a_plan_without_steps_is_done_at_once(place: Place) -> None:
    plan = await place.plan([WantedFile("a", None, BEFORE["a"].node)])
    applied = await apply(plan, place.state, place.blobs)
    assert (plan.steps, applied.done, applied.skipped) == ((), (), ())
    assert read_tree(place.root) == BEFORE
