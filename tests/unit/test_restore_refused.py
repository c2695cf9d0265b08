"""A restore that the disk refuses, or that is cancelled: nothing is changed, nothing is left behind."""

import asyncio
import contextlib
import os
import resource
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ragforge.domain.errors import UsageError
from ragforge.versions.restore.operation import RestoreFailed, RestoreStopped, apply, recover
from tests.disks import small_disk
from tests.restoring import (
    Place,
    Tree,
    a_file,
    a_folder,
    a_link,
    open_place,
    read_tree,
    wanted_between,
    write_tree,
)
from tests.tool_context import folder_of_nobody

BEFORE: Tree = {
    "changed": a_file("new"),
    "d/e/removed": a_file("1"),
    "kind": a_folder(0o700),
    "link": a_link("x"),
    "private/removed": a_file("2", 0o755),
    "z/changed": a_file("3"),
    "z/removed": a_file("4"),
}
AFTER: Tree = {
    "added/f/g": a_file("5"),
    "changed": a_file("old"),
    "kind": a_file("6"),
    "link": a_link("y"),
    "z/added": a_folder(0o711),
    "z/changed": a_file("7"),
}


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    opened = await open_place(tmp_path)
    yield opened
    await opened.close()


async def as_it_was(place: Place, before: Tree = BEFORE) -> None:
    """Nothing differs, nothing is left behind, nothing has to be recovered."""
    assert read_tree(place.root) == before
    assert await place.state.journal(place.root) is None
    assert await recover(place.root, place.state, place.blobs) is None


async def test_a_full_disk_takes_back_what_was_staged(place: Place) -> None:
    write_tree(place.root, BEFORE)
    large = a_file(os.urandom(100_000))
    after = {**AFTER, "large": large}
    await place.keep(after)
    plan = await place.plan(wanted_between(BEFORE, after))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def told(what: str) -> None:
        if what == "write large":
            resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
        if what.startswith("remove the temporary file"):
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    try:
        with pytest.raises(RestoreFailed) as raised:
            await apply(plan, place.state, place.blobs, told=told)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert str(raised.value) == (
        "undo of turn 1: nothing was changed, because the disk does not allow changing large: the file would "
        "be larger than this system allows."
    )
    await as_it_was(place)


async def test_a_disk_that_is_really_full_is_named(tmp_path: Path) -> None:
    with small_disk(tmp_path / "project"):
        place = await open_place(tmp_path)
        write_tree(place.root, BEFORE)
        after = {**AFTER, **{f"large{number}": a_file(os.urandom(300_000)) for number in range(5)}}
        await place.keep(after)
        plan = await place.plan(wanted_between(BEFORE, after))
        with pytest.raises(RestoreFailed, match="the disk is full"):
            await apply(plan, place.state, place.blobs)
        await as_it_was(place)
        await place.close()


@contextlib.asynccontextmanager
async def place_of_nobody() -> AsyncIterator[Place]:
    with folder_of_nobody() as folder:
        place = await open_place(folder)
        yield place
        for each in place.root.rglob("*"):
            if each.is_dir() and not each.is_symlink():
                each.chmod(0o755)
        await place.close()


@pytest.mark.parametrize("folder", ["", "z", "private", "d/e"])
async def test_a_folder_without_permission_refuses_the_whole_before_it_begins(folder: str) -> None:
    async with place_of_nobody() as place:
        write_tree(place.root, BEFORE)
        await place.keep(AFTER)
        plan = await place.plan(wanted_between(BEFORE, AFTER))
        (place.root / folder).chmod(0o555)
        said: list[str] = []
        with pytest.raises(RestoreFailed, match=r"nothing was changed.*permission denied"):
            await apply(plan, place.state, place.blobs, told=said.append)
        assert "journal: staged" not in said
        (place.root / folder).chmod(0o755)
        await as_it_was(place)


async def test_a_folder_that_was_to_be_closed_is_put_back_although_it_holds_others() -> None:
    before = {"b/b": a_file("1"), "z/c": a_file("2")}
    after = {**before, "b": a_folder(0o700), "b/a": a_file("3"), "z/d": a_file("4")}
    async with place_of_nobody() as place:
        write_tree(place.root, before)
        await place.keep(after)
        plan = await place.plan(wanted_between(before, after))

        def told(what: str) -> None:
            if what == "rename z/d":
                (place.root / "z").chmod(0o555)
            if what == "go back":
                (place.root / "z").chmod(0o755)

        with pytest.raises(RestoreFailed, match=r"nothing was changed.*permission denied") as raised:
            await apply(plan, place.state, place.blobs, told=told)
        assert "not restored" not in str(raised.value)
        await as_it_was(place, before)


def moments() -> list[str]:
    """Everything that is told from the moment on that all is staged."""
    said: list[str] = []

    async def listen() -> None:
        async with place_of_nobody() as place:
            write_tree(place.root, BEFORE)
            await place.keep(AFTER)
            plan = await place.plan(wanted_between(BEFORE, AFTER))
            await apply(plan, place.state, place.blobs, told=said.append)

    asyncio.run(listen())
    start = said.index("journal: staged")
    return [what for what in said[start + 1 :] if "sync" not in what and "journal" not in what]


@pytest.mark.parametrize("folder", ["", "z", "private", "d/e"])
def test_permission_that_is_lost_in_the_middle_puts_everything_back(folder: str) -> None:
    refused = 0
    for moment in moments():
        refused += asyncio.run(permission_lost(folder, moment))
    assert refused


async def permission_lost(folder: str, moment: str) -> bool:
    """Whether that stood in the way: then all is as it was, else all is as planned."""
    async with place_of_nobody() as place:
        before = {**BEFORE, "d": a_folder(0o700)}  # it goes, and may have to be made again
        write_tree(place.root, before)
        await place.keep(AFTER)
        plan = await place.plan(wanted_between(before, AFTER))
        lost = False

        def told(what: str) -> None:
            nonlocal lost
            if what == moment and not lost and (place.root / folder).exists():
                lost = True
                (place.root / folder).chmod(0o555)
            # It is there again for the way back, as where a disk was full for a moment.
            if what == "go back":
                (place.root / folder).chmod(0o755)

        refusal = ""
        try:
            await apply(plan, place.state, place.blobs, told=told)
        except RestoreFailed as error:
            refusal = str(error)
        if refusal:
            assert "permission denied" in refusal
            assert "nothing was changed" in refusal
            await as_it_was(place, before)
            return True
        # An emptied folder that could not be removed is all that may be left.
        left = {path for path in read_tree(place.root) if path not in AFTER}
        assert left <= {"private", "d", "d/e", folder}
        return False


async def test_where_neither_way_is_open_it_goes_on_at_the_next_start() -> None:
    async with place_of_nobody() as place:
        write_tree(place.root, BEFORE)
        await place.keep(AFTER)
        plan = await place.plan(wanted_between(BEFORE, AFTER))

        def told(what: str) -> None:
            if what == "rename changed":
                place.root.chmod(0o555)

        with pytest.raises(RestoreStopped, match=r"is half done.*permission denied"):
            await apply(plan, place.state, place.blobs, told=told)
        with pytest.raises(RestoreStopped):
            await recover(place.root, place.state, place.blobs)
        place.root.chmod(0o755)
        recovered = await recover(place.root, place.state, place.blobs)
        assert recovered is not None
        assert recovered.finished
        assert read_tree(place.root) == AFTER


async def test_a_project_that_is_gone_is_said(place: Place, tmp_path: Path) -> None:
    write_tree(place.root, BEFORE)
    await place.keep(BEFORE, AFTER)
    plan = await place.plan(wanted_between(BEFORE, AFTER))
    place.root.rename(tmp_path / "elsewhere")
    with pytest.raises(RestoreFailed, match=r"nothing was changed.*does not exist"):
        await apply(plan, place.state, place.blobs)
    (tmp_path / "elsewhere").rename(place.root)
    await as_it_was(place)

    def told(what: str) -> None:
        if what == "journal: staged":
            place.root.rename(tmp_path / "elsewhere")

    with pytest.raises(RestoreStopped, match="does not exist"):
        await apply(plan, place.state, place.blobs, told=told)
    (tmp_path / "elsewhere").rename(place.root)
    # What is half done is ended before anything else begins.
    with pytest.raises(RestoreStopped, match="an earlier restore"):
        await apply(plan, place.state, place.blobs)
    recovered = await recover(place.root, place.state, place.blobs)
    assert recovered is not None
    assert recovered.finished
    assert read_tree(place.root) == AFTER


async def test_a_restore_that_is_cancelled_early_changes_nothing(place: Place) -> None:
    write_tree(place.root, BEFORE)
    await place.keep(AFTER)
    plan = await place.plan(wanted_between(BEFORE, AFTER))
    staging, cancelled = threading.Event(), threading.Event()

    def told(what: str) -> None:
        if what.startswith("stage "):
            staging.set()
            assert cancelled.wait(10)

    applying = asyncio.create_task(apply(plan, place.state, place.blobs, told=told))
    await asyncio.to_thread(staging.wait, 10)
    applying.cancel()
    cancelled.set()
    with pytest.raises(asyncio.CancelledError):
        await applying
    await as_it_was(place)


async def test_a_restore_that_is_cancelled_late_comes_to_its_end(place: Place) -> None:
    write_tree(place.root, BEFORE)
    await place.keep(AFTER)
    plan = await place.plan(wanted_between(BEFORE, AFTER), then={"head": "v1"})
    renaming, cancelled = threading.Event(), threading.Event()

    def told(what: str) -> None:
        if what.startswith("rename "):
            renaming.set()
            assert cancelled.wait(10)

    applying = asyncio.create_task(apply(plan, place.state, place.blobs, told=told))
    await asyncio.to_thread(renaming.wait, 10)
    applying.cancel()
    cancelled.set()
    with pytest.raises(asyncio.CancelledError):
        await applying
    assert read_tree(place.root) == AFTER
    # What was to be written then still is.
    recovered = await recover(place.root, place.state, place.blobs)
    assert recovered is not None
    assert (recovered.finished, recovered.then) == (True, {"head": "v1"})


async def test_contents_that_go_missing_after_the_plan_stop_it(place: Place) -> None:
    write_tree(place.root, BEFORE)
    await place.keep(AFTER)
    plan = await place.plan(wanted_between(BEFORE, AFTER))
    await place.blobs.delete([AFTER["z/changed"].node.digest])
    with pytest.raises(UsageError, match="z/changed"):
        await apply(plan, place.state, place.blobs)
    await as_it_was(place)
