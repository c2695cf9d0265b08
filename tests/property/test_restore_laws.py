"""Laws of restoring, over folders of any shape."""

import asyncio
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ragforge.domain.moves import ConflictChoice
from ragforge.versions.restore.plan import find_conflicts
from tests.faults.killing import Restorer, restoring_children
from tests.faults.restorer import THEN
from tests.restoring import (
    FOLDER_MODE,
    A,
    Place,
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

NAMES = ["a", "b", "a b", "ä", "-", "a.b", "..."]
if sys.platform != "darwin":
    NAMES.append(os.fsdecode(b"\xff\xfe"))

MODES = st.sampled_from([0o644, 0o755, 0o600, 0o444])
THINGS = st.one_of(
    st.builds(a_file, st.binary(max_size=8), MODES),
    st.builds(a_file, st.sampled_from([b"", b"x", b"y\r\n"]), MODES),
    st.builds(a_link, st.sampled_from(["a", "../..", "/etc/passwd", "nowhere"])),
    st.builds(a_folder, st.sampled_from([0o755, 0o700, 0o777])),
)
PATHS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join)


def fit(things: dict[str, A]) -> dict[str, A]:
    """Those that can lie in one folder together: nothing lies below a file or a link.

    A folder with something in it is a path of its own only where its mode is another than that of others.
    """
    return {
        path: what
        for path, what in things.items()
        if not any(other.startswith(f"{path}/") for other in things)
        or (what.content is None and what.mode != FOLDER_MODE)
    }


TREES = st.dictionaries(PATHS, THINGS, max_size=8).map(fit)


@st.composite
def trees_near(draw: st.DrawFn) -> tuple[Tree, Tree, Tree]:
    """Before, after, and a third one that shares much with either."""
    before, after, other = draw(TREES), draw(TREES), draw(TREES)
    for tree in (before, after):
        other |= {path: what for path, what in tree.items() if draw(st.booleans())}
    return before, after, fit(other)


@pytest.fixture(scope="module")
def restorer() -> Iterator[Restorer]:
    with restoring_children() as children:
        yield children


CLOSED_AND_FILLED: Tree = {"b": a_folder(0o700), "a": a_link("a"), "b/a": a_link("a")}
"""A folder was closed in the same step in which something came into it."""


def in_a_place(work: Callable[[Place], Awaitable[None]]) -> None:
    memory = Path("/dev/shm")

    async def run() -> None:
        with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
            place = await open_place(Path(name))
            try:
                await work(place)
            finally:
                await place.close()

    asyncio.run(run())


async def nothing_is_lost(place: Place, before: Tree) -> None:
    """Every content that lay on the disk lies there still, or in the blob store."""
    there = {what.content for what in read_tree(place.root).values()}
    for what in before.values():
        if what.content is not None and what.content not in there:
            assert await place.blobs.get(what.node.digest) == what.content


@settings(max_examples=80)
@given(TREES, TREES)
@example({"b/b": a_link("a")}, {**CLOSED_AND_FILLED, "b/b": a_link("a")})
def test_undo_then_redo_changes_nothing(before: Tree, after: Tree) -> None:
    async def work(place: Place) -> None:
        write_tree(place.root, before)
        await place.keep(after)
        applied = await place.restore(wanted_between(before, after))
        assert (read_tree(place.root), applied.skipped) == (after, ())
        applied = await place.restore(wanted_between(after, before))
        assert (read_tree(place.root), applied.skipped) == (before, ())
        # And once more there is nothing to do.
        assert (await place.plan(wanted_between(after, before))).steps == ()

    in_a_place(work)


@settings(max_examples=80)
@given(trees_near())
def test_what_somebody_changed_since_stays_as_it_is(trees: tuple[Tree, Tree, Tree]) -> None:
    before, after, disk = trees

    async def work(place: Place) -> None:
        write_tree(place.root, disk)
        await place.keep(after)
        wanted = {each.path: each for each in wanted_between(before, after)}
        conflicts = {each.path for each in await find_conflicts(place.root, [*wanted.values()])}
        applied = await place.restore([*wanted.values()])
        then = read_tree(place.root)
        for path, what in disk.items():
            if path in conflicts or path not in wanted:
                # An empty folder may hold something now.
                filled = what.content is None and (place.root / path).is_dir()
                assert then.get(path) == what or filled
        left = {each.path for each in applied.skipped}
        assert conflicts <= left
        for path, each in wanted.items():
            if path not in left and (each.wanted is None or path in then):
                assert (then[path].node if path in then else None) == each.wanted
        # Nothing came that nobody wanted, and no folder was left empty.
        assert {path for path in then if path not in disk} <= {*wanted}
        await nothing_is_lost(place, disk)

    in_a_place(work)


@settings(max_examples=60)
@given(trees_near())
@example(({}, CLOSED_AND_FILLED, {"b/b": a_link("a")}))
def test_whatever_is_overwritten_by_choice_can_be_had_again(trees: tuple[Tree, Tree, Tree]) -> None:
    before, after, disk = trees

    async def work(place: Place) -> None:
        write_tree(place.root, disk)
        await place.keep(after)
        wanted = wanted_between(before, after)
        await place.restore(wanted, {each.path: ConflictChoice.RESTORE for each in wanted})
        then = read_tree(place.root)
        await nothing_is_lost(place, disk)
        asked = {each.path for each in wanted}
        for path, what in disk.items():
            if path not in asked and what.content is not None:
                assert then[path] == what
        # What was there is restored as any other state is.
        await place.restore(wanted_between(then, disk))
        assert read_tree(place.root) == disk

    in_a_place(work)


@settings(max_examples=60)
@given(TREES, TREES, st.lists(st.integers(1, 60), min_size=1, max_size=4))
@example({**CLOSED_AND_FILLED, "b/b": a_link("a")}, {"b/b": a_link("a")}, [12, 12, 12])
def test_however_often_it_is_killed_it_ends_wholly_old_or_wholly_new(
    restorer: Restorer, before: Tree, after: Tree, points: list[int]
) -> None:
    async def work(place: Place) -> None:
        write_tree(place.root, before)
        await place.keep(after)
        folder = place.root.parent
        write_wanted(folder, wanted_between(before, after))
        restorer.run("apply", folder, points[0])
        recovered = [restorer.run("recover", folder, point) for point in (*points[1:], 0)]
        is_new = read_tree(place.root) == after
        assert is_new or read_tree(place.root) == before
        results = [each.result for each in recovered if each.result]
        assert len(results) <= 1
        if results and before != after:
            assert results[0]["finished"] is is_new
            assert results[0]["then"] == (THEN if is_new else None)

    in_a_place(work)
