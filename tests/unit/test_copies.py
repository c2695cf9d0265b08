"""Copies of a project: whole, apart from it, and gone afterwards."""

import os
from pathlib import Path
from threading import Event

import pytest

from ragforge.domain.errors import UsageError
from ragforge.versions.copies.file_copies import (
    CopyCancelled,
    copy_project,
    left_rooms,
    make_room,
    remove_tree,
)
from ragforge.versions.scan.changes import scan
from ragforge.versions.scan.manifest import Manifest
from ragforge.versions.scan.track_rules import TrackRules
from tests.flow.moving import tree


def manifest_of(root: Path) -> Manifest:
    return scan(TrackRules(root, None, 1_000_000), Manifest()).manifest


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "deep" / "er").mkdir(parents=True)
    (root / "deep" / "er" / "tool").write_bytes(b"\x00\xff" * 1_000_000)
    (root / "deep" / "er" / "tool").chmod(0o750)
    (root / os.fsdecode(b"caf\xe9")).write_text("not UTF-8")
    (root / "nothing").mkdir(mode=0o700)
    (root / "inner").symlink_to("deep/er/tool")
    (root / "deep" / "up").symlink_to("../inner")
    (root / "out").symlink_to("../elsewhere")
    (root / "absolute").symlink_to(str(root / "deep"))
    return root


def test_a_copy_is_equal_and_shares_nothing(project: Path, tmp_path: Path) -> None:
    copied = copy_project(project, tmp_path / "data" / "copy", manifest_of(project))
    big = {"deep/er", "deep/er/tool"}  # over the limit of what is tracked
    assert tree(copied.root) == {name: found for name, found in tree(project).items() if name not in big}
    with_big = copy_project(project, tmp_path / "other", manifest_of(project), carry=["deep/er/tool"])
    assert tree(with_big.root) == tree(project)
    one, other = project / "deep/er/tool", with_big.root / "deep/er/tool"
    assert one.stat().st_nlink == other.stat().st_nlink == 1
    assert one.stat().st_mtime_ns == other.stat().st_mtime_ns
    other.write_bytes(b"changed")
    assert one.read_bytes() == b"\x00\xff" * 1_000_000


def test_links_that_lead_out_are_kept_and_named(project: Path, tmp_path: Path) -> None:
    copied = copy_project(project, tmp_path / "copy", manifest_of(project))
    assert sorted(copied.links_out) == ["absolute", "out"]
    assert os.readlink(copied.root / "out") == "../elsewhere"  # noqa: PTH115
    assert (copied.root / "deep" / "up").is_symlink()


def test_nothing_is_carried_from_outside_of_the_project(project: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret").write_text("secret")
    (project / ".git").mkdir()
    carry = ["out/secret", ".git", "absent"]
    copied = copy_project(project, tmp_path / "copy", manifest_of(project), carry=carry)
    assert [name.split(" ")[0] for name in copied.missing] == carry
    assert not (copied.root / ".git").exists()
    assert not list(copied.root.rglob("secret"))


def test_a_folder_that_is_closed_to_writing_is_copied_and_removed(project: Path, tmp_path: Path) -> None:
    (project / "deep").chmod(0o500)
    try:
        copied = copy_project(project, tmp_path / "copy", manifest_of(project))
        assert (copied.root / "deep").stat().st_mode & 0o777 == 0o500
    finally:
        (project / "deep").chmod(0o700)
    remove_tree(copied.root)
    assert not copied.root.exists()
    assert (project / "inner").exists()


def test_removing_a_copy_follows_no_link(project: Path, tmp_path: Path) -> None:
    copied = copy_project(project, tmp_path / "copy", manifest_of(project))
    before = tree(project)
    remove_tree(copied.root)
    assert tree(project) == before


def test_a_copy_within_the_project_is_refused(project: Path) -> None:
    with pytest.raises(UsageError, match="RAGFORGE_DATA_DIR"):
        copy_project(project, project / "data" / "copy", manifest_of(project))
    assert not (project / "data").exists()


def test_a_copy_that_is_wanted_no_more_ends(project: Path, tmp_path: Path) -> None:
    stop = Event()
    stop.set()
    with pytest.raises(CopyCancelled):
        copy_project(project, tmp_path / "copy", manifest_of(project), stop=stop)


def test_a_room_is_found_by_others_once_it_is_left(tmp_path: Path) -> None:
    assert list(left_rooms(tmp_path)) == []
    room = make_room(tmp_path)
    (room.folder / "file").write_text("x")
    assert list(left_rooms(tmp_path)) == []
    room.leave()
    [found] = left_rooms(tmp_path)
    assert found.folder == room.folder
    assert list(left_rooms(tmp_path)) == []
    found.remove()
    assert list((tmp_path / "copies").iterdir()) == []
