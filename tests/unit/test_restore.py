"""What lies in the folder after a restore, and what is left alone."""

import os
import socket
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ragforge.domain.moves import ConflictChoice
from ragforge.versions.restore.operation import Skipped, apply
from ragforge.versions.restore.plan import find_conflicts
from ragforge.versions.tree import WantedFile
from tests.restoring import (
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
)

RAW = os.fsdecode(b"caf\xe9")
"""A name that is no UTF-8; macOS knows no such."""
RAW_TREE: Tree = {} if sys.platform == "darwin" else {RAW: a_file("1"), f"{RAW}d/x": a_file("2")}

PAIRS: dict[str, tuple[Tree, Tree]] = {
    "a file changes": ({"a": a_file("old")}, {"a": a_file("new")}),
    "files come": ({}, {"a": a_file("1"), "d/e/f": a_file("2"), "d/g": a_file("3")}),
    "an empty file comes": ({}, {"a": a_file("")}),
    "the mode alone changes": ({"a": a_file("#!", 0o644)}, {"a": a_file("#!", 0o755)}),
    "read-only": ({"a": a_file("1", 0o444)}, {"a": a_file("2", 0o400), "b": a_file("3", 0o444)}),
    "content and mode": ({"a": a_file("1", 0o600)}, {"a": a_file("2", 0o751)}),
    "links": ({"a": a_link("x"), "b": a_link("..")}, {"a": a_link("y/z"), "c": a_link("/etc/passwd")}),
    "a file becomes a link": ({"a": a_file("1")}, {"a": a_link("b")}),
    "a link becomes a folder": (
        {"a": a_link("d"), "d/x": a_file("1")},
        {"a/x": a_file("2"), "d/x": a_file("1")},
    ),
    "a file becomes a folder": ({"a": a_file("1")}, {"a/b/c": a_file("2"), "a/d": a_file("3")}),
    "a file becomes an empty folder": ({"a": a_file("1")}, {"a": a_folder(0o750)}),
    "folders swap places with files": (
        {"a/b": a_file("1"), "a/c/d": a_file("2"), "e": a_file("3"), "e2": a_folder()},
        {"a": a_file("4"), "e/f/g": a_file("5"), "e/h": a_folder(), "e2": a_link("a")},
    ),
    "a folder of folders becomes a file": (
        {"a/b/c": a_folder(), "a/b/d": a_folder(0o700), "a/e/f": a_file("1")},
        {"a": a_file("1")},
    ),
    "empty folders": (
        {"a": a_folder(), "b/c": a_folder(0o700), "d": a_folder(0o777)},
        {"a/x": a_file("1"), "e/f": a_folder(0o1777), "d": a_folder(0o755)},
    ),
    "an empty folder that is wanted outlasts its files": (
        {"a": a_folder(0o711)},
        {"a/b/c": a_file("1"), "a/d": a_file("2")},
    ),
    "bytes of any kind": (
        {"a": a_file(b"a\r\nb\r\n")},
        {"a": a_file(bytes(range(256)) * 50), "b": a_file("\n")},
    ),
    "names of any script": (
        {"日本語/ф": a_file("1"), "a b ": a_file("2"), "-rf": a_file("3")},
        {"日本語/ع": a_file("1"), "x\ny": a_file("2"), "e\u0301": a_file("3"), "🙂" * 60: a_file("4")},
    ),
    "names that are no text": ({}, RAW_TREE),
    "names that come before others by their bytes": (
        {"a": a_file("1"), "a-b/c": a_file("2"), "a.b": a_file("3")},
        {"a/b": a_file("1"), "a-b": a_file("2"), "a.b/c": a_file("3")},
    ),
}


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    opened = await open_place(tmp_path)
    yield opened
    await opened.close()


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
@pytest.mark.parametrize("turned", [False, True], ids=["forward", "backward"])
async def test_everything_comes_back_exactly(place: Place, pair: tuple[Tree, Tree], turned: bool) -> None:
    before, after = reversed(pair) if turned else pair
    write_tree(place.root, before)
    await place.keep(after)
    wanted = wanted_between(before, after)
    applied = await place.restore(wanted)
    assert read_tree(place.root) == after
    assert applied.skipped == ()
    assert sorted(applied.done) == [each.path for each in wanted]
    # What was replaced or removed can be had again, although nobody kept it before.
    applied = await place.restore(wanted_between(after, before))
    assert read_tree(place.root) == before
    assert applied.skipped == ()


async def test_what_is_there_already_is_no_step(place: Place) -> None:
    tree = {"a": a_file("1"), "d/x": a_file("2")}
    write_tree(place.root, tree)
    wanted = [
        WantedFile("a", a_file("other").node, tree["a"].node),
        WantedFile("gone", a_file("3").node, None),
        WantedFile("d", None, None),
    ]
    assert await find_conflicts(place.root, wanted) == []
    assert (await place.plan(wanted)).steps == ()


async def test_other_files_of_a_folder_are_never_removed(place: Place) -> None:
    write_tree(place.root, {"new/ours": a_file("1"), "new/theirs": a_file("2"), "new/empty": a_folder()})
    applied = await place.restore([WantedFile("new/ours", a_file("1").node, None)])
    assert applied.done == ("new/ours",)
    assert read_tree(place.root) == {"new/theirs": a_file("2"), "new/empty": a_folder()}


async def test_a_folder_with_other_files_is_not_replaced_by_a_file(place: Place) -> None:
    write_tree(place.root, {"a/ours": a_file("1"), "a/theirs": a_file("2")})
    await place.keep({"a": a_file("old")})
    wanted = wanted_between({"a/ours": a_file("1")}, {"a": a_file("old")})
    applied = await place.restore(wanted)
    assert read_tree(place.root) == {"a/theirs": a_file("2")}
    assert applied.done == ("a/ours",)
    assert applied.skipped == (Skipped("a", "a folder with other files has this name"),)


async def test_the_other_names_of_a_file_keep_its_content(place: Place, tmp_path: Path) -> None:
    write_tree(place.root, {"a": a_file("new")})
    outside = tmp_path / "outside"
    outside.hardlink_to(place.root / "a")
    await place.keep({"a": a_file("old")})
    await place.restore(wanted_between({"a": a_file("new")}, {"a": a_file("old")}))
    assert (place.root / "a").read_text() == "old"
    assert outside.read_text() == "new"


async def test_a_mode_that_alone_differs_leaves_the_file_the_same_one(place: Place) -> None:
    write_tree(place.root, {"a": a_file("1", 0o755)})
    was = (place.root / "a").stat().st_ino
    await place.restore(wanted_between({"a": a_file("1", 0o755)}, {"a": a_file("1", 0o600)}))
    assert read_tree(place.root) == {"a": a_file("1", 0o600)}
    assert (place.root / "a").stat().st_ino == was


async def test_a_folder_that_returns_has_its_mode_whatever_the_umask_says(place: Place) -> None:
    before, after = {"a": a_file("1")}, {"a": a_file("1"), "d/e/f": a_file("2")}
    write_tree(place.root, before)
    await place.keep(after)
    old = os.umask(0o077)
    try:
        await place.restore(wanted_between(before, after))
    finally:
        os.umask(old)
    assert [stat.S_IMODE((place.root / each).stat().st_mode) for each in ("d", "d/e")] == [0o755, 0o755]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
async def test_a_file_stays_its_owners(place: Place) -> None:
    write_tree(place.root, {"a": a_file("new")})
    os.chown(place.root / "a", 1234, 4321)
    await place.keep({"a": a_file("old")})
    await place.restore(wanted_between({"a": a_file("new")}, {"a": a_file("old")}))
    found = (place.root / "a").stat()
    assert (found.st_uid, found.st_gid) == (1234, 4321)


async def test_a_link_is_replaced_and_what_it_leads_to_left_alone(place: Place, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("theirs")
    before, after = {"a": a_link(str(outside))}, {"a": a_file("1")}
    write_tree(place.root, before)
    await place.keep(after)
    await place.restore(wanted_between(before, after))
    assert read_tree(place.root) == after
    assert outside.read_text() == "theirs"
    await place.restore(wanted_between(after, before))
    assert read_tree(place.root) == before
    assert outside.read_text() == "theirs"


@pytest.mark.parametrize("moment", ["before", "between", "at the end"])
async def test_a_folder_that_became_a_link_out_of_the_project_is_not_gone_through(
    place: Place, tmp_path: Path, moment: str
) -> None:
    before: Tree = {"d/e/changed": a_file("1"), "d/e/removed": a_file("2"), "other": a_file("3")}
    after: Tree = {"d/e/changed": a_file("4"), "d/e/added": a_file("5"), "other": a_file("6")}
    write_tree(place.root, before)
    write_tree(tmp_path / "outside", {"changed": a_file("1"), "removed": a_file("2")})
    await place.keep(after)

    def replace() -> None:
        (place.root / "d/e").rename(tmp_path / "moved")
        (place.root / "d/e").symlink_to(tmp_path / "outside")

    def told(what: str) -> None:
        if moment == "at the end" and what == "journal: staged":
            replace()

    if moment == "before":
        replace()
    wanted = wanted_between(before, after)
    plan = await place.plan(wanted, dict.fromkeys((each.path for each in wanted), ConflictChoice.RESTORE))
    if moment == "between":
        replace()
    applied = await apply(plan, place.state, place.blobs, told=told)
    assert read_tree(tmp_path / "outside") == {"changed": a_file("1"), "removed": a_file("2")}
    assert read_tree(place.root)["other"] == a_file("6")
    assert applied.done[-1:] == ("other",)
    whys = {each.path: each.why for each in applied.skipped}
    assert "symbolic link" in whys["d/e/changed"]
    assert "symbolic link" in whys["d/e/added"]


LATER: dict[str, Tree] = {
    "changed": {"a": a_file("theirs")},
    "of the same length": {"a": a_file("NEW")},
    "made executable": {"a": a_file("new", 0o755)},
    "removed": {},
    "made a link": {"a": a_link("new")},
    "made an empty folder": {"a": a_folder()},
    "made a folder": {"a/b": a_file("new")},
}


TARGETS: list[A | None] = [a_file("old"), None, a_link("x"), a_folder()]


@pytest.mark.parametrize(
    ("theirs", "target"),
    [(theirs, target) for theirs in LATER.values() for target in TARGETS if theirs.get("a") != target],
)
@pytest.mark.parametrize("moment", ["planned", "journal: staged"])
async def test_what_somebody_did_after_the_plan_is_left_and_told(
    place: Place, theirs: Tree, target: A | None, moment: str
) -> None:
    before: Tree = {"a": a_file("new"), "b": a_file("1")}
    after: Tree = {"a": target, "b": a_file("2")} if target else {"b": a_file("2")}
    write_tree(place.root, before)
    await place.keep(after)
    plan = await place.plan(wanted_between(before, after))

    def told(what: str) -> None:
        if what == moment:
            (place.root / "a").unlink()
            write_tree(place.root, theirs)

    told("planned")
    applied = await apply(plan, place.state, place.blobs, told=told)
    done_anyway = not theirs and target == a_folder()  # nothing lies there: the way is free
    filled = target in (None, a_folder()) and "a/b" in theirs
    expected = {**theirs, "b": a_file("2")}
    if done_anyway:
        expected["a"] = a_folder()
    assert read_tree(place.root) == expected
    assert applied.done == (("a", "b") if done_anyway or filled else ("b",))
    assert len(applied.skipped) == (0 if done_anyway or filled else 1)


async def test_what_came_where_nothing_lay_is_left_and_told(place: Place) -> None:
    await place.keep({"d/a": a_file("old")})
    plan = await place.plan(wanted_between({}, {"d/a": a_file("old"), "e": a_folder()}))
    theirs = {"d": a_file("theirs"), "e": a_file("theirs too")}
    write_tree(place.root, theirs)
    applied = await apply(plan, place.state, place.blobs)
    assert read_tree(place.root) == theirs
    assert applied.done == ()
    assert [each.path for each in applied.skipped] == ["d/a", "e"]


@pytest.mark.parametrize("kind", ["pipe", "socket"])
async def test_what_is_no_file_is_left_and_nobody_waits_for_it(
    place: Place, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "pipe":
        os.mkfifo(place.root / "a")
    else:
        monkeypatch.chdir(place.root)  # a socket's path must be short
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind("a")
    wanted = [WantedFile("a", a_file("1").node, None)]
    assert await find_conflicts(place.root, wanted) == []
    applied = await place.restore(wanted, {"a": ConflictChoice.RESTORE})
    assert applied.skipped == (Skipped("a", "a pipe, socket or device is there"),)
    assert os.path.lexists(place.root / "a")


UNTOUCHABLE = (
    "../outside",
    "/tmp/outside",
    "d/../../outside",
    "",
    "a//b",
    "./a",
    "a/",
    "a\0b",
    ".git/hooks/pre-commit",
    "sub/.git",
    ".GIT/config",
    ".gi\u200ct/config",
    "git~1/config",
    ".hg/hgrc",
    "half \ud800",
)


@pytest.mark.parametrize("path", UNTOUCHABLE)
async def test_a_path_that_leads_elsewhere_is_refused(place: Place, path: str, tmp_path: Path) -> None:
    # Versions come from a store that others may write to as well.
    await place.keep({"x": a_file("evil")})
    wanted = [WantedFile(path, None, a_file("evil").node), WantedFile("fine", None, a_file("evil").node)]
    applied = await place.restore(wanted)
    assert read_tree(place.root) == {"fine": a_file("evil")}
    assert applied.done == ("fine",)
    assert [each.path for each in applied.skipped] == [path]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["data", "project"]


async def test_a_disk_that_does_not_tell_case_apart_loses_nothing(place: Place) -> None:
    (place.root / "probe").touch()
    is_blind = (place.root / "PROBE").exists()
    (place.root / "probe").unlink()
    pairs: list[tuple[Tree, Tree]] = [
        ({"README": a_file("1")}, {"readme": a_file("1")}),
        ({"README": a_file("1")}, {"Readme": a_file("2")}),
        ({"Src/a": a_file("1")}, {"src/a": a_file("1"), "src/b": a_file("2")}),
    ]
    for before, after in pairs:
        write_tree(place.root, before)
        await place.keep(before, after)
        await place.restore(wanted_between(before, after))
        assert read_tree(place.root) == after
        await place.restore(wanted_between(after, {}))
    both = {"one": a_file("1"), "ONE": a_file("2")}
    await place.keep(both)
    applied = await place.restore(wanted_between({}, both))
    assert len(read_tree(place.root)) == len(applied.done) == (1 if is_blind else 2)
