"""SIGKILL at every step of a restore, and of its recovery: the folder is wholly old or wholly new afterwards.

The points are counted out, not random: each thing that is about to be done on the disk is told, and a real
process dies right before it. Recovery then runs in another process.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.faults.killing import Restorer, restoring_children
from tests.faults.restorer import THEN
from tests.restoring import (
    Tree,
    a_file,
    a_folder,
    a_link,
    open_place,
    read_tree,
    wanted_between,
    write_tree,
    write_wanted,
)
from tests.scope import some

LATIN = "plain" if sys.platform == "darwin" else os.fsdecode(b"caf\xe9")

BEFORE: Tree = {
    "changed": a_file("the assistant's\r\n"),
    "mode": a_file("#!/bin/sh\n", 0o644),
    "link": a_link("changed"),
    "removed/deep/x": a_file(bytes(range(256)), 0o444),
    "file to folder": a_file("1"),
    "file to empty": a_file("1", 0o600),
    "folder to file/a/b": a_file("2"),
    "folder to file/e": a_folder(0o700),
    "empty": a_folder(0o711),
    f"{LATIN}/y": a_file("3"),
    "stays/theirs": a_file("not ours"),
    "stays/ours": a_file("ours"),
}
AFTER: Tree = {
    "changed": a_file("the person's\n"),
    "mode": a_file("#!/bin/sh\n", 0o755),
    "link": a_link("removed/deep"),
    "file to folder/c/d": a_file("4"),
    "file to folder/f": a_folder(0o750),
    "file to empty": a_folder(0o1755),
    "folder to file": a_file("5", 0o600),
    "empty": a_file("6"),
    "added/g/h": a_file("7"),
    LATIN: a_link("changed"),
    "stays/theirs": a_file("not ours"),
}


@pytest.fixture(scope="module")
def restorer() -> Iterator[Restorer]:
    with restoring_children() as children:
        yield children


@dataclass(frozen=True)
class Ground:
    """A folder that can be had again as it was kept; always at one path, since journals belong to a path."""

    base: Path

    @property
    def folder(self) -> Path:
        return self.base / "ground"

    @property
    def root(self) -> Path:
        return self.folder / "project"

    def keep(self) -> None:
        shutil.rmtree(self.base / "kept", ignore_errors=True)
        copy(self.folder, self.base / "kept")

    def renew(self) -> Path:
        # Only root may take away what is in a folder that is read-only.
        for each in self.folder.rglob("*"):
            if each.is_dir() and not each.is_symlink():
                each.chmod(0o755)
        shutil.rmtree(self.folder)
        copy(self.base / "kept", self.folder)
        return self.folder

    async def is_settled(self) -> bool:
        """Whether no journal is left."""
        place = await open_place(self.folder)
        journal = await place.state.journal(place.root)
        await place.close()
        return journal is None


def copy(source: Path, target: Path) -> None:
    shutil.copytree(source, target, symlinks=True)
    if os.geteuid() == 0:  # which alone can have made them somebody else's
        for each in (source, *source.rglob("*")):
            seen = each.lstat()
            os.chown(target / each.relative_to(source), seen.st_uid, seen.st_gid, follow_symlinks=False)


@pytest.fixture
async def ground() -> AsyncIterator[Ground]:
    # In memory where that is possible: a killed process loses nothing that it wrote, synced or not.
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as base:
        Path(base).chmod(0o755)
        made = Ground(Path(base))
        await put(made, BEFORE, AFTER)
        yield made


async def put(ground: Ground, before: Tree, after: Tree) -> None:
    """The folder as it is before, and the wish for what comes after."""
    ground.folder.mkdir()
    place = await open_place(ground.folder)
    write_tree(place.root, before)
    await place.keep(after)
    await place.close()
    write_wanted(ground.folder, wanted_between(before, after))
    ground.keep()


def all_points(restorer: Restorer, ground: Ground, what: str) -> list[str]:
    """Everything that is told when nothing comes between."""
    return restorer.run(what, ground.renew()).points


async def test_a_restore_killed_at_any_point_is_finished_or_taken_back(
    restorer: Restorer, ground: Ground
) -> None:
    points = all_points(restorer, ground, "apply")
    staged = points.index("journal: staged") + 1
    assert len(points) > 40
    for point, what in some([*enumerate(points, start=1)]):
        killed = restorer.run("apply", ground.renew(), point)
        assert killed.points == points[:point]
        recovered = restorer.run("recover", ground.folder).result
        if point == 1:
            # Nothing was written down yet.
            assert (recovered, read_tree(ground.root)) == ({}, BEFORE), what
        elif point <= staged:
            assert read_tree(ground.root) == BEFORE, what
            assert recovered["finished"] is False
            assert "was undone" in recovered["text"]
        else:
            assert read_tree(ground.root) == AFTER, what
            assert recovered["finished"] is True
            assert "is now complete" in recovered["text"]
            assert recovered["then"] == THEN
            assert sorted(recovered["done"]) == [each.path for each in wanted_between(BEFORE, AFTER)]
            assert recovered["skipped"] == []
        assert await ground.is_settled()


KILLED_FIRST_BEFORE = (
    "write changed",
    "journal: staged",
    "remove folder to file/a/b",
    "make the folder file to folder/c",
    "set the mode of file to empty",
    "rename link",
    "journal: applied",
)


@pytest.mark.parametrize("first", KILLED_FIRST_BEFORE)
async def test_a_recovery_killed_at_any_point_is_ended_by_the_next(
    restorer: Restorer, ground: Ground, first: str
) -> None:
    points = all_points(restorer, ground, "apply")
    restorer.run("apply", ground.renew(), points.index(first) + 1)
    ground.keep()
    ends_new = points.index(first) > points.index("journal: staged")
    again = all_points(restorer, ground, "recover")
    assert again
    for point, what in some([*enumerate(again, start=1)]):
        restorer.run("recover", ground.renew(), point)
        recovered = restorer.run("recover", ground.folder).result
        assert read_tree(ground.root) == (AFTER if ends_new else BEFORE), what
        assert recovered["finished"] is ends_new
        assert await ground.is_settled()


async def test_temporary_files_that_somebody_removed_are_written_again(
    restorer: Restorer, ground: Ground
) -> None:
    points = all_points(restorer, ground, "apply")
    restorer.run("apply", ground.renew(), points.index("rename changed") + 1)
    waiting = sorted(each for each in ground.root.rglob("*.ragforge-tmp") if not each.is_symlink())
    assert len(waiting) > 3
    for number, each in enumerate(waiting):
        if number % 2:
            each.unlink()
        else:
            each.write_bytes(b"half")
    ground.keep()
    again = all_points(restorer, ground, "recover")
    for point, what in some([*enumerate(again, start=1)]):
        restorer.run("recover", ground.renew(), point)
        assert restorer.run("recover", ground.folder).result["finished"] is True
        assert read_tree(ground.root) == AFTER, what


async def test_what_somebody_did_after_the_crash_is_left_and_told(restorer: Restorer, ground: Ground) -> None:
    points = all_points(restorer, ground, "apply")
    restorer.run("apply", ground.renew(), points.index("rename changed") + 1)
    (ground.root / "changed").write_text("by hand, after the crash")
    recovered = restorer.run("recover", ground.folder).result
    assert recovered["finished"] is True
    assert recovered["skipped"] == [["changed", "it has just changed and is kept"]]
    assert read_tree(ground.root) == {**AFTER, "changed": a_file("by hand, after the crash")}


@pytest.mark.parametrize("stays_refused", [True, False])
async def test_a_way_back_killed_at_any_point_comes_to_one_end(
    restorer: Restorer, ground: Ground, stays_refused: bool
) -> None:
    before: Tree = {**BEFORE, "zone/x": a_file("8")}
    after: Tree = {**AFTER, "zone/x": a_file("9")}
    shutil.rmtree(ground.folder)
    await put(ground, before, after)
    # It becomes read-only in the middle, and is the last in the order: all else has been done by then.
    (ground.folder / "refusing").write_text("zone")
    hand_to_nobody(ground.folder)
    ground.keep()
    points = all_points(restorer, ground, "apply")
    start = points.index("go back")
    assert "rename changed" in points[:start]
    assert {"rename changed", "journal: going back", "journal: taken back"} <= set(points[start:])
    for point in some(range(start + 1, len(points) + 1)):
        restorer.run("apply", ground.renew(), point)
        if not stays_refused:
            (ground.root / "zone").chmod(0o755)
        recovered = restorer.run("recover", ground.folder).result
        (ground.root / "zone").chmod(0o755)
        if stays_refused:
            assert recovered["finished"] is False
            assert "permission denied" in recovered["text"]
            # Nothing can be removed from there, and what is left is named.
            for each in (ground.root / "zone").glob(".*.ragforge-tmp"):
                assert f"zone/{each.name}" in recovered["text"]
                each.unlink()
        assert read_tree(ground.root) == (after if recovered["finished"] else before), points[point - 1]
        assert await ground.is_settled()


def hand_to_nobody(folder: Path) -> None:
    """Root passes every permission, so the child becomes nobody, to whom all must belong."""
    if os.geteuid() == 0:
        for each in (folder, *folder.rglob("*")):
            os.chown(each, 65534, 65534, follow_symlinks=False)
