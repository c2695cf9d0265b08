import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ragforge.domain.errors import UsageError
from ragforge.files.open import NotAFile
from ragforge.versions.scan.nodes import node_at
from tests.scanned import LIMIT, Project, file_node, sign
from tests.tool_context import folder_of_nobody


def test_what_git_ignores_is_not_tracked_and_a_folder_is_one_entry(project: Project) -> None:
    project.put(".gitignore", "*.log\nbuild/\n/only-here\n!keep.log\n")
    project.put("sub/.gitignore", "secret\n")
    project.put(".git/info/exclude", "private\n")
    for path in ("a.log", "keep.log", "build/x/y", "build/z", "only-here", "sub/only-here", "sub/secret"):
        project.put(path)
    for path in ("private", "sub/deep/secret", "sub/deep/a.log", "b"):
        project.put(path)
    found = project.scan()
    ignored = {"a.log", "build", "only-here", "sub/secret", "private", "sub/deep/secret", "sub/deep/a.log"}
    assert found.manifest.untracked == dict.fromkeys(ignored, "ignored by git")
    assert {each.path for each in found.untracked} == ignored | {".git"}
    assert set(found.manifest.entries) == {".gitignore", "sub/.gitignore", "keep.log", "sub/only-here", "b"}
    assert project.scan().untracked == (), "they are told once"


def test_the_users_own_excludes_count(project: Project, tmp_path: Path) -> None:
    project.excludes = tmp_path / "excludes"
    project.excludes.write_text("*.swp\n")
    project.put("a.swp")
    project.put("a")
    assert project.scan().manifest.untracked == {"a.swp": "ignored by git"}
    project.excludes.write_text("")
    assert project.kinds() == {}
    assert set(project.last.entries) == {"a", "a.swp"}


GIT = ("git", "-c", "user.name=n", "-c", "user.email=n@example.com", "-c", "commit.gpgsign=false")


REPOSITORIES: dict[str, list[list[str]]] = {
    "plain": [["init", "-q"]],
    "version 4": [["init", "-q"], ["config", "index.version", "4"]],
    "sha256": [["init", "-q", "--object-format=sha256"]],
    "a flag": [["init", "-q"], ["add", "-N", "-f", "new.log"]],  # makes version 3
}


@pytest.mark.parametrize("name", REPOSITORIES)
def test_what_git_tracks_is_tracked_although_it_is_ignored(project: Project, name: str) -> None:
    project.put(".gitignore", "*.log\nbuild/\n")
    tracked = ["a.log", "build/deep/er/b", "build/\u00e9t\u00e9 x", "sub/" + "n" * 150 + ".log", "z/y.log"]
    for path in (*tracked, "new.log", "other.log", "build/deep/c", "build/er/d", "plain"):
        project.put(path)
    for command in REPOSITORIES[name]:
        subprocess.run([*GIT, *command], cwd=project.root, check=True)
    subprocess.run([*GIT, "add", "-f", *tracked], cwd=project.root, check=True)
    found = project.scan()
    extra = {"new.log"} if name == "a flag" else set[str]()
    assert set(found.manifest.entries) == {*tracked, ".gitignore", "plain", *extra}
    listed = subprocess.run(
        [*GIT, "ls-files", "-co", "--exclude-standard", "-z"],
        cwd=project.root,
        check=True,
        capture_output=True,
    )
    assert set(found.manifest.entries) == {os.fsdecode(path) for path in listed.stdout.split(b"\0") if path}
    project.put("build/deep/er/b", "edited")
    project.put("build/deep/er/untracked")
    assert project.kinds() == {"build/deep/er/b": "~"}


def test_a_work_tree_of_git_finds_its_own_index(project: Project, tmp_path: Path) -> None:
    main = tmp_path / "main"
    main.mkdir()
    (main / "a.log").write_text("x")
    (main / ".gitignore").write_text("*.log\n")
    shutil.rmtree(project.root)
    for command in (["init", "-q"], ["add", "-f", "."], ["commit", "-qm", "all"]):
        subprocess.run([*GIT, *command], cwd=main, check=True)
    subprocess.run([*GIT, "worktree", "add", "-q", project.root], cwd=main, check=True)
    project.put("b.log")
    assert set(project.scan().manifest.entries) == {"a.log", ".gitignore"}


@pytest.mark.parametrize(
    "content", [b"", b"DIRC", b"DIRC" + b"\0\0\0\x09" * 2, b"DIRC\0\0\0\2\0\0\0\x09rest"]
)
def test_an_index_that_cannot_be_read_tracks_nothing(project: Project, content: bytes) -> None:
    project.put(".git/index", content)
    project.put(".gitignore", "*.log\n")
    project.put("a.log")
    assert set(project.scan().manifest.entries) == {".gitignore"}


def test_new_ignored_files_and_those_that_change_are_named(project: Project) -> None:
    project.put(".gitignore", "*.log\nout/\n")
    project.put("a.log")
    project.scan()
    project.put("a.log", "more")
    project.put("b.log")
    project.put("out/file")
    found = project.scan()
    assert found.differences == {}
    assert [each.path for each in found.untracked] == ["a.log", "b.log", "out"]
    (project.root / "a.log").unlink()
    shutil.rmtree(project.root / "out")
    gone = project.scan().untracked
    assert {each.path: each.why for each in gone} == dict.fromkeys(
        ("a.log", "out"), "ignored by git, removed"
    )
    assert project.scan().untracked == (), "they are told once"
    assert set(project.last.untracked) == {"b.log"}


def test_what_is_tracked_stays_tracked_when_it_becomes_ignored(project: Project) -> None:
    project.put("notes/a")
    project.put("b")
    project.settle()
    project.put(".gitignore", "notes/\nb\n*.new\n")
    assert project.kinds() == {".gitignore": "+"}
    project.put("notes/a", "changed")
    project.put("b", "changed")
    project.put("notes/late")
    project.put("c.new")
    found = project.scan()
    assert {path: sign(*nodes) for path, nodes in found.differences.items()} == {"notes/a": "~", "b": "~"}
    assert {each.path for each in found.untracked} == {"notes/late", "c.new"}
    shutil.rmtree(project.root / "notes")
    assert project.kinds() == {"notes/a": "-"}
    project.put("notes/a")
    assert project.kinds() == {}, "gone and back, it is like any other that is ignored"


def test_what_is_not_ignored_any_more_was_always_there(project: Project) -> None:
    project.put(".gitignore", "old/\n*.log\n")
    project.put("old/deep/file", "theirs")
    project.put("a.log", "theirs")
    project.settle()
    project.put(".gitignore", "")
    found = project.scan()
    assert {path: sign(*nodes) for path, nodes in found.differences.items()} == {".gitignore": "~"}
    assert set(found.read) == {".gitignore", "old/deep/file", "a.log"}, "their contents are to be kept"
    assert project.last.untracked == {}
    project.put("old/deep/file", "ours")
    assert project.kinds() == {"old/deep/file": "~"}


def test_rules_that_change_back_and_forth_lose_nothing(project: Project) -> None:
    project.put("x/a")
    project.put("x/y/b")
    project.scan()
    for rule in ("x/\n", "", "y/\n", "!x\n", "*\n"):
        project.put(".gitignore", rule)
        project.scan()
        assert {"x/a", "x/y/b"} & set(project.last.entries) == {"x/a", "x/y/b"}, rule


def test_large_files_are_named_and_followed_no_further(project: Project) -> None:
    project.put("small", b"s" * LIMIT)
    project.put("large", b"l" * (LIMIT + 1))
    found = project.scan()
    assert [(each.path, each.why) for each in found.untracked] == [("large", "larger than 1000 bytes")]
    project.put("large", b"m" * (LIMIT + 2))
    assert [each.path for each in project.scan().untracked] == ["large"]
    assert project.scan().untracked == ()
    project.put("small", b"t" * (LIMIT + 1))
    found = project.scan()
    assert found.differences == {"small": (file_node(b"s" * LIMIT), None)}, "the last content can be had"
    assert [each.path for each in found.untracked] == ["small"]
    project.put("large", "short")
    found = project.scan()
    assert found.differences == {}, "nobody knows what lay there"
    assert [(each.path, each.why) for each in found.untracked] == [("large", "larger than 1000 bytes before")]
    project.put("large", "again")
    assert project.kinds() == {"large": "~"}


def test_pipes_and_sockets_are_named_and_never_opened(project: Project) -> None:
    os.mkfifo(project.root / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(project.root / "socket"))
        project.put("was a file")
        found = project.scan()
        assert found.manifest.untracked == {"pipe": "a named pipe", "socket": "a socket"}
        (project.root / "was a file").unlink()
        os.mkfifo(project.root / "was a file")
        found = project.scan()
    assert set(found.differences) == {"was a file"}
    assert [each.path for each in found.untracked] == ["was a file"]
    with pytest.raises(NotAFile, match="a named pipe"):
        node_at(project.root / "pipe")


@pytest.fixture
def bound() -> Iterator[Project]:
    """A project of somebody whom the modes of files bind."""
    with folder_of_nobody() as folder:
        root = folder / "project"
        root.mkdir()
        yield Project(root.resolve())
        for path in (root, *root.rglob("*")):
            if path.is_dir():
                path.chmod(0o755)


def test_unreadable_files_are_named_and_never_taken_for_gone(bound: Project) -> None:
    bound.put("never").chmod(0)
    path = bound.put("locked", "content")
    bound.settle()
    assert bound.last.untracked == {"never": "cannot be read: permission denied"}
    path.chmod(0)
    found = bound.scan()
    assert found.differences == {"locked": (file_node(b"content"), file_node(b"content", 0))}
    assert bound.scan().differences == {}
    path.chmod(0o644)
    assert bound.kinds() == {"locked": "~"}
    path.write_text("another")
    path.chmod(0)
    found = bound.scan()
    assert found.differences == {"locked": (file_node(b"content"), None)}
    assert [each.path for each in found.untracked] == ["locked"]


def test_nothing_is_gone_because_its_folder_cannot_be_read(bound: Project) -> None:
    bound.put("d/a")
    bound.put("d/deep/b")
    (bound.root / "d" / "empty").mkdir()
    bound.settle()
    (bound.root / "d").chmod(0)
    found = bound.scan()
    assert found.differences == {}
    assert [(each.path, each.why) for each in found.untracked] == [("d", "cannot be read: permission denied")]
    assert set(found.manifest.entries) == {"d/a", "d/deep/b", "d/empty"}
    assert bound.scan().untracked == ()
    (bound.root / "d").chmod(0o755)
    assert bound.kinds() == {}
    assert bound.last.untracked == {}
    bound.put("d/a", "y")
    assert bound.kinds() == {"d/a": "~"}


def test_what_was_never_readable_is_not_new_once_it_is(bound: Project) -> None:
    bound.put("d/deep/a")
    (bound.root / "d").chmod(0)
    bound.scan()
    (bound.root / "d").chmod(0o755)
    found = bound.scan()
    assert found.differences == {}
    assert set(found.read) == {"d/deep/a"}


def test_an_unreadable_root_is_explained(bound: Project) -> None:
    bound.root.chmod(0)
    with pytest.raises(UsageError, match="Cannot read"):
        bound.scan()


def test_version_control_keeps_its_own(project: Project) -> None:
    for path in (".git/config", "lib/.git/HEAD", "old/.hg/store", "x/.svn/entries", "y/.jj/op"):
        project.put(path)
    project.put("worktree/.git", "gitdir: /elsewhere\n")
    project.put("lib/code.c")
    project.put("deadbeef/.0123abcd.ragforge-tmp")
    for path in ("bare.git/HEAD", "bare.git/objects/ab/cd", "bare.git/refs/heads/main"):
        project.put(path)
    found = project.scan()
    assert set(found.manifest.entries) == {"lib/code.c"}
    assert found.manifest.untracked == {"bare.git": "a git repository's own files"}
    project.put("bare.git/objects/ef/01")
    found = project.scan()
    assert (found.differences, found.untracked) == ({}, ())
    for path in ("new.git/HEAD", "new.git/objects/ab/cd", "new.git/refs/heads/main"):
        project.put(path)
    for path in ("bare.git/HEAD", "bare.git/refs/heads/main", "new.git/refs/heads/main"):
        found = project.scan(path)
        assert found.differences == {}
        assert [each.path for each in found.untracked] == [path]
    assert (project.kinds(), set(project.last.entries)) == ({}, {"lib/code.c"})
    shutil.rmtree(project.root / "lib" / ".git")
    shutil.rmtree(project.root / "bare.git")
    gone = {each.path: each.why for each in project.scan().untracked}
    assert gone == {
        "lib/.git": "version control's own, removed",
        "bare.git": "a git repository's own files, removed",
    }
