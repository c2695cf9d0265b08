import os
import subprocess
import sys
from pathlib import Path

import pytest

from ragforge.config.project import find_project, git_branch, git_root, normal_remote


def git(folder: Path, *args: str, when: str = "2020-01-01T00:00:00Z") -> str:
    identity = ["-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "protocol.file.allow=always"]
    done = subprocess.run(
        ["git", *identity, *args],
        cwd=folder,
        env={**os.environ, "GIT_COMMITTER_DATE": when, "GIT_CONFIG_GLOBAL": "/dev/null"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    root.mkdir()
    git(root, "init", "-q", "-b", "trunk")
    git(root, "commit", "-q", "--allow-empty", "-m", "first")
    git(root, "commit", "-q", "--allow-empty", "-m", "second")
    git(root, "remote", "add", "origin", "git@GitHub.com:someone/Thing.git")
    return root


def test_a_folder_in_a_repository_belongs_to_its_root(repository: Path) -> None:
    below = repository / "a" / "b"
    below.mkdir(parents=True)
    place = find_project(below)
    assert (place.cwd, place.root, place.is_git, place.branch) == (below, repository, True, "trunk")
    assert place.git_remote == "github.com/someone/Thing"
    assert place.first_commit == git(repository, "rev-list", "--max-parents=0", "HEAD")
    assert not place.is_home_or_root


def test_without_identifying_only_files_are_read(repository: Path) -> None:
    place = find_project(repository, identify=False)
    assert (place.branch, place.git_remote, place.first_commit) == ("trunk", "", "")


def test_a_link_to_a_folder_leads_to_the_same_place(tmp_path: Path, repository: Path) -> None:
    (tmp_path / "link").symlink_to(repository)
    assert find_project(tmp_path / "link") == find_project(repository)


def test_a_plain_folder_is_a_project_of_its_own(tmp_path: Path) -> None:
    place = find_project(tmp_path)
    assert (place.root, place.is_git, place.branch, place.git_remote) == (tmp_path, False, "", "")


def test_home_root_and_what_is_above_are_recognised() -> None:
    assert find_project(Path.home()).is_home_or_root
    assert find_project(Path("/")).is_home_or_root
    assert find_project(Path.home().parent).is_home_or_root


def test_a_branch_without_commits_is_named(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "topic/new")
    place = find_project(tmp_path)
    assert (place.branch, place.first_commit) == ("topic/new", "")


def test_a_detached_head_shows_its_commit(repository: Path) -> None:
    git(repository, "checkout", "-q", "--detach")
    assert git_branch(repository) == git(repository, "rev-parse", "HEAD")[:8]


def test_a_work_tree_has_its_own_branch_and_the_same_identity(tmp_path: Path, repository: Path) -> None:
    git(repository, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    place, main = find_project(tmp_path / "side"), find_project(repository)
    assert (place.root, place.branch) == (tmp_path / "side", "side")
    assert (place.git_remote, place.first_commit) == (main.git_remote, main.first_commit)


def test_a_submodule_is_a_project_of_its_own(tmp_path: Path, repository: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    git(outer, "submodule", "add", "-q", str(repository), "inner")
    place = find_project(outer / "inner")
    assert (place.root, place.branch) == (outer / "inner", "trunk")


def test_a_bare_repository_and_an_empty_dot_git_are_plain_folders(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "bare.git")
    assert not find_project(tmp_path / "bare.git").is_git
    (tmp_path / "odd" / ".git").mkdir(parents=True)
    assert find_project(tmp_path / "odd").root == tmp_path / "odd"
    assert not find_project(tmp_path / "odd").is_git


def test_a_shallow_clone_does_not_invent_a_first_commit(tmp_path: Path, repository: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repository}", "shallow")
    place = find_project(tmp_path / "shallow")
    assert place.first_commit == ""
    assert place.git_remote == str(repository)


@pytest.mark.parametrize("when", ["2010-01-01T00:00:00Z", "2030-01-01T00:00:00Z"])
def test_of_joined_histories_the_oldest_beginning_counts(repository: Path, when: str) -> None:
    beginning = find_project(repository).first_commit
    git(repository, "checkout", "-q", "--orphan", "other")
    git(repository, "commit", "-q", "--allow-empty", "-m", "another beginning", when=when)
    other = git(repository, "rev-parse", "HEAD")
    git(repository, "checkout", "-q", "trunk")
    git(
        repository,
        "merge",
        "-q",
        "--allow-unrelated-histories",
        "-m",
        "join",
        "other",
        when="2031-01-01T00:00:00Z",
    )
    assert find_project(repository).first_commit == (other if when.startswith("2010") else beginning)


def test_a_repository_cannot_make_us_run_its_programs(tmp_path: Path, repository: Path) -> None:
    trap = tmp_path / "trap"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    trap.chmod(0o755)
    for name in ("core.fsmonitor", "core.pager", "core.sshCommand", "core.editor", "core.askPass"):
        git(repository, "config", name, str(trap))
    assert find_project(repository).git_remote
    assert not (tmp_path / "sprung").exists()


def test_a_git_hooks_environment_does_not_lead_astray(tmp_path: Path, repository: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    code = (
        "from pathlib import Path; from ragforge.config.project import find_project;"
        f"print(find_project(Path({str(repository)!r})).git_remote)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "GIT_DIR": str(other / ".git"), "GIT_WORK_TREE": str(other)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "github.com/someone/Thing"


def test_without_git_the_place_is_found_all_the_same(repository: Path) -> None:
    code = (
        "from pathlib import Path; from ragforge.config.project import find_project;"
        f"print(find_project(Path({str(repository)!r})))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={
            "PATH": "/nonexistent",
            "HOME": str(repository.parent),
            "PYTHONPATH": str(Path(__file__).parents[2]),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert "is_git=True, git_remote='', first_commit='', branch='trunk'" in done.stdout


@pytest.mark.parametrize(
    "content",
    [
        "",
        "ref: refs/heads/\x1b[31mred",
        "garbage",
        "gitdir: nowhere",
        "\xff\xfe",
        "ref: refs/heads/.invalid",
        "a" * 39,
    ],
)
def test_a_strange_head_gives_no_branch(repository: Path, content: str) -> None:
    (repository / ".git" / "HEAD").write_text(content, encoding="latin-1")
    assert git_branch(repository) == ""


@pytest.mark.parametrize(
    "content", ["", "gitdir: /nonexistent", "gitdir: \0", "gitdir: .", "nonsense", "gitdir: " + "x" * 9000]
)
def test_a_strange_dot_git_file_is_no_repository(tmp_path: Path, content: str) -> None:
    (tmp_path / ".git").write_text(content)
    assert git_root(tmp_path) != tmp_path


SAME = [
    "git@github.com:someone/thing.git",
    "git@github.com:/someone/thing",
    "github.com:someone/thing.git/",
    "ssh://git@github.com/someone/thing.git",
    "ssh://git@github.com:22/someone/thing",
    "https://github.com/someone/thing.git",
    "https://github.com/someone/thing/",
    "https://me:ghp_token@GitHub.com/someone/thing.git",
    "https://ghp_token@github.com:443/someone/thing?x=y",
    "git+ssh://git@github.com/someone/thing.git",
    "git://github.com/someone/thing",
]


@pytest.mark.parametrize("url", SAME)
def test_every_way_of_writing_a_remote_is_one(url: str) -> None:
    assert normal_remote(url) == "github.com/someone/thing"


def test_different_remotes_stay_different() -> None:
    urls = [
        "https://github.com/a/b",
        "https://github.com/a/B",
        "https://gitlab.com/a/b",
        "/srv/a/b.git",
        "../b",
        "",
    ]
    assert len({normal_remote(url) for url in urls}) == len(urls)
    assert normal_remote("file:///srv/a/b.git") == normal_remote("/srv/a/b")
    assert normal_remote("ssh://git@[::1]:2222/a.git") == "[::1]/a"
