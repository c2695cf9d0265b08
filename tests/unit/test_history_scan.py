import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from threading import Event
from types import FrameType

import pytest

from ragforge.domain.versions import Node, NodeKind
from ragforge.versions.scan.changes import scan
from ragforge.versions.scan.nodes import node_at
from tests.scanned import Project, file_node, sign


def test_the_first_scan_covers_everything_and_finds_no_differences(project: Project) -> None:
    project.put("a.txt", "one").chmod(0o640)
    project.put("deep/er/run.sh", "#!/bin/sh\n").chmod(0o755)
    (project.root / "empty").mkdir(mode=0o750)
    (project.root / "link").symlink_to("a.txt")
    (project.root / "dangling").symlink_to("../no where")
    found = project.scan()
    assert found.differences == {}
    assert found.manifest.node("a.txt") == file_node(b"one", 0o640)
    assert found.manifest.node("deep/er/run.sh") == file_node(b"#!/bin/sh\n", 0o755)
    assert found.manifest.node("empty") == Node(NodeKind.FOLDER, "", 0o750)
    for name, target in (("link", b"a.txt"), ("dangling", b"../no where")):
        digest = hashlib.sha256(target).hexdigest()
        assert found.manifest.node(name) == Node(NodeKind.LINK, digest, 0, len(target))
    assert found.manifest.node("deep") is None, "its files tell of it"
    assert found.manifest.node("") is None
    assert found.manifest.node("nothing/here") is None
    assert found.untracked == ()
    tracked = {"a.txt", "deep/er/run.sh", "empty", "link", "dangling"}
    assert set(found.manifest.entries) == tracked
    assert set(found.read) == tracked - {"empty"}
    assert all(found.manifest.node(path) == node_at(project.root / path) for path in tracked)


def test_each_change_is_found_once(project: Project) -> None:
    for name in ("same", "edited", "removed", "mode", "d/inner", "gone/a", "gone/deep/b"):
        project.put(name)
    (project.root / "link").symlink_to("same")
    (project.root / "was empty").mkdir()
    project.settle()
    project.put("edited", "y")
    (project.root / "removed").unlink()
    (project.root / "mode").chmod(0o600)
    shutil.rmtree(project.root / "gone")
    (project.root / "d" / "inner").unlink()
    (project.root / "link").unlink()
    (project.root / "link").symlink_to("edited")
    project.put("was empty/now not")
    project.put("new/deep/file")
    found = project.scan()
    assert {path: sign(*nodes) for path, nodes in found.differences.items()} == {
        "edited": "~",
        "removed": "-",
        "mode": "~",
        "gone/a": "-",
        "gone/deep/b": "-",
        "d/inner": "-",
        "d": "+",
        "link": "~",
        "was empty": "-",
        "was empty/now not": "+",
        "new/deep/file": "+",
    }
    assert found.differences["edited"] == (file_node(b"x"), file_node(b"y"))
    assert found.differences["mode"] == (file_node(b"x"), file_node(b"x", 0o600))
    assert found.differences["d"] == (None, node_at(project.root / "d"))
    assert set(found.read) == {"edited", "link", "was empty/now not", "new/deep/file"}
    assert project.kinds() == {}


def test_kinds_that_follow_each_other_at_a_path(project: Project) -> None:
    project.put("a")
    project.put("b/inside")
    (project.root / "c").symlink_to("a")
    project.settle()
    (project.root / "a").unlink()
    project.put("a/inside")
    shutil.rmtree(project.root / "b")
    (project.root / "b").symlink_to("a")
    (project.root / "c").unlink()
    project.put("c", "a")
    found = project.scan()
    assert {path: sign(*nodes) for path, nodes in found.differences.items()} == {
        "a": "-",
        "a/inside": "+",
        "b": "+",
        "b/inside": "-",
        "c": "~",
    }
    before, after = found.differences["c"]
    assert before
    assert after
    assert (before.kind, after.kind, before.digest) == (NodeKind.LINK, NodeKind.FILE, after.digest)


def test_a_file_changed_right_after_it_was_read_is_found(project: Project) -> None:
    path = project.put("a", "one")
    for number in range(50):
        project.scan()
        content = f"{number:03}"  # the same length, mostly within the same tick of the clock
        path.write_text(content)
        assert project.scan().manifest.node("a") == file_node(content.encode())


def test_a_change_that_hides_behind_the_old_time_is_found(project: Project) -> None:
    path = project.put("a", "one")
    os.utime(path, ns=(10**18, 10**18))
    project.settle()
    path.write_text("two")
    os.utime(path, ns=(10**18, 10**18))
    assert project.kinds() == {"a": "~"}


OPENED = """
import sys
from pathlib import Path
from ragforge.versions.scan.track_rules import TrackRules
from ragforge.versions.scan.manifest import Manifest
from ragforge.versions.scan.changes import scan

track_rules = TrackRules(Path(sys.argv[1]), None, 1000)
last = Manifest.from_bytes(Path(sys.argv[2]).read_bytes())
opened = []
sys.addaudithook(lambda event, args: opened.append(args[0]) if event == "open" else None)
assert not scan(track_rules, last).differences
print(*(path for path in opened if str(path).startswith(sys.argv[1])), sep="\\n")
assert "pathspec" not in sys.modules
"""


def test_a_scan_in_which_nothing_changed_opens_no_file_and_evaluates_no_rule(
    project: Project, tmp_path: Path
) -> None:
    project.put(".gitignore", "*.log\nout/\n")
    for path in ("a", "b.log", "sub/.gitignore", "sub/c", "out/d"):
        project.put(path)
    project.put(".git/info/exclude", "*.swp\n")
    project.settle()
    (tmp_path / "manifest").write_bytes(project.last.to_bytes())
    script = [sys.executable, "-c", OPENED, project.root, tmp_path / "manifest"]
    done = subprocess.run(script, capture_output=True, text=True, check=True)
    # Only what has no times in the manifest is read for its hash.
    assert done.stdout.split() == [str(project.root / ".git/info/exclude")]


def test_names_in_any_script_and_in_none(project: Project) -> None:
    names = ["Grüße aus Köln", "日本語", "new\nline", "tab\t", "*", " lead", "-f", "a\\b", "é", "é"]
    undecodable = [b"\xff\xfe", b"\xe9t\xe9", b"\x80/inner \xff"]
    for name in names:
        project.put(name, name)
    for raw in undecodable:
        project.put(os.fsdecode(raw), raw)
    found = project.scan()
    assert set(found.manifest.entries) == {*names, *map(os.fsdecode, undecodable)}
    assert project.last.node("\udce9t\udce9") == file_node(b"\xe9t\xe9")
    (project.root / "\udce9t\udce9").unlink()
    project.put("\udcff\udcfe", "another")
    assert project.kinds() == {"\udce9t\udce9": "-", "\udcff\udcfe": "~"}


def test_only_the_paths_that_are_asked_for(project: Project) -> None:
    for path in ("a", "b", "d/c", "gone/x"):
        project.put(path)
    (project.root / "empty").mkdir()
    project.put(".gitignore", "*.log\nout/\n")
    project.settle()
    for path in ("a", "b", "d/c"):
        project.put(path, "y")
    for path in ("new/deep/f", "new/other", "empty/f", "x.log", "out/deep/f"):
        project.put(path)
    shutil.rmtree(project.root / "gone")
    assert project.kinds("a") == {"a": "~"}
    assert project.kinds("new/deep/f", "empty/f", "gone/x", "nothing/at/all") == {
        "new/deep/f": "+",
        "empty": "-",
        "empty/f": "+",
        "gone/x": "-",
    }
    found = project.scan("x.log", "out/deep/f", "../outside", "/", "", ".git/config")
    assert found.differences == {}
    assert [(each.path, each.why) for each in found.untracked] == [
        ("out", "ignored by git"),
        ("out/deep/f", "ignored by git"),
        ("x.log", "ignored by git"),
    ]
    assert project.kinds("d") == {"d/c": "~"}, "a folder is meant with all in it"
    assert project.kinds() == {"b": "~", "new/other": "+"}
    (project.root / "d" / "c").unlink()
    assert project.kinds("d/c") == {"d/c": "-", "d": "+"}
    (project.root / "d").rmdir()
    project.put("d", "a file")
    found = project.scan("d/c")
    assert sign(*found.differences["d"]) == "~"
    assert project.kinds() == {}


def test_a_folder_and_paths_in_it_that_are_gone(project: Project) -> None:
    for path in ("x/a", "x/z/b", "x/z/deep/c", "y"):
        project.put(path)
    project.scan()
    shutil.rmtree(project.root / "x" / "z")
    assert project.kinds("x") == {"x/z/b": "-", "x/z/deep/c": "-"}
    project.put("x/z/b", "again")
    project.scan()
    (project.root / "x" / "a").unlink()
    shutil.rmtree(project.root / "x" / "z")
    # The folder became a node of its own, so that whoever restores asks about it and about what was in it.
    assert project.kinds("x/z/b", "x", "x/a") == {"x": "+", "x/a": "-", "x/z/b": "-"}
    assert project.kinds() == {}


def test_a_folder_that_is_asked_for_is_meant_with_what_is_gone_from_it(project: Project) -> None:
    for path in ("d/sub/a", "d/sub/deep/b", "d/c", "e"):
        project.put(path)
    (project.root / "d" / "empty").mkdir()
    project.settle()
    shutil.rmtree(project.root / "d" / "sub")
    (project.root / "d" / "empty").rmdir()
    project.put("d/c", "y")
    (project.root / "e").unlink()
    expected = {"d/c": "~", "d/empty": "-", "d/sub/a": "-", "d/sub/deep/b": "-"}
    assert project.kinds("d", "d/c", "d/sub/a") == expected
    assert project.kinds() == {"e": "-"}


def test_paths_alone_do_not_make_the_first_scan(project: Project) -> None:
    project.put("a")
    project.put("b")
    project.scan("a")
    assert project.kinds() == {}
    assert set(project.last.entries) == {"a", "b"}


def test_a_scan_that_is_stopped_found_nothing(project: Project) -> None:
    project.put("a")
    project.scan()
    project.put("b")
    stop = Event()
    stop.set()
    found = scan(project.track_rules, project.last, stop=stop)
    assert (found.manifest, found.differences, found.read) == (project.last, {}, {})
    assert project.kinds() == {"b": "+"}


def test_what_lies_at_one_path(project: Project) -> None:
    assert node_at(project.root / "nothing") is None
    assert node_at(project.put("a") / "below") is None
    assert node_at(project.put("d/x").parent) is None
    large = project.put("large", b"l" * 3_000_000)
    assert node_at(large) == file_node(b"l" * 3_000_000)


def test_the_mode_of_a_folder_is_found_where_it_is_not_the_usual_one(project: Project) -> None:
    def folder(mode: int) -> Node:
        return Node(NodeKind.FOLDER, "", mode)

    project.put("d/inner")
    project.settle()
    (project.root / "d").chmod(0o700)
    assert project.scan().differences == {"d": (None, folder(0o700))}
    (project.root / "d" / "inner").unlink()
    assert set(project.scan().differences) == {"d/inner"}, "empty or not, it is the same folder"
    (project.root / "d").chmod(0o755)
    assert project.scan().differences == {"d": (folder(0o700), folder(0o755))}
    project.put("d/another")
    assert set(project.scan().differences) == {"d", "d/another"}, "now its files tell of it"
    (project.root / "d").chmod(0o2775)
    assert project.scan("d/another").differences == {"d": (None, folder(0o2775))}
    shutil.rmtree(project.root / "d")
    assert set(project.scan().differences) == {"d", "d/another"}


@pytest.mark.parametrize("comes", [True, False])
def test_many_paths_of_one_folder_cost_as_much_each_as_few(project: Project, *, comes: bool) -> None:
    """As many as an undo looks at after a command that made, or removed, a folder with thousands of files."""

    def steps_for(count: int) -> int:
        paths = [f"folder{count}/{number}" for number in range(count)]
        if not comes:
            for path in paths:
                project.put(path)
            project.settle()
            shutil.rmtree(project.root / f"folder{count}")
        else:
            project.settle()
            for path in paths:
                project.put(path)
        steps = 0

        def count_steps(frame: FrameType, event: str, argument: object) -> None:
            nonlocal steps
            # What a folder holds counts by its length: it is gone through where no Python runs.
            is_listed = event == "c_return" and getattr(argument, "__name__", "") == "listdir"
            steps += count if is_listed else event == "call"

        sys.setprofile(count_steps)
        try:
            found = project.scan(*paths)
        finally:
            sys.setprofile(None)
        assert found.differences.keys() == set(paths)
        return steps

    assert steps_for(800) < 6 * steps_for(200)
