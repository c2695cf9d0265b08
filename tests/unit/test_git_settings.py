"""A repository's own settings name programs; none of them runs unasked."""

import subprocess
from pathlib import Path

import pytest

from ragforge.agent.permissions import Allow, Ask, Decision, decide
from ragforge.config.project import find_project
from ragforge.domain.approvals import Mode, RunCommand
from ragforge.shell.git_settings import find_danger
from ragforge.tools import shell
from ragforge.tools.base import Preview


def git(folder: Path, *args: str) -> str:
    who = ("-c", "user.email=a@b", "-c", "user.name=a")
    done = subprocess.run(["git", *who, *args], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path.resolve() / "project"
    root.mkdir()
    git(root, "init", "-q")
    (root / "a.txt").write_text("a\n")
    git(root, "add", ".")
    git(root, "commit", "-qm", "first")
    return root


def judge(root: Path, command: str, *, cwd: Path | None = None) -> Decision:
    preview = Preview(RunCommand(command))
    return decide(
        shell.TOOL,
        {"command": command},
        preview,
        mode=Mode.ACCEPT_EDITS,
        rules=(),
        root=root,
        cwd=cwd or root,
    )


def run_as_tool(command: str, cwd: Path, **env: str) -> str:
    """What the command writes where the shell tool runs it."""
    found = shell.child_env({"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent"} | env)
    done = subprocess.run(
        ["bash", "-c", command], cwd=cwd, env=found, check=False, capture_output=True, text=True
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    "name",
    [
        "diff.external",
        "diff.pdf.textconv",
        "diff.pdf.command",
        "filter.x.clean",
        "filter.x.process",
        "gpg.program",
        "gpg.ssh.program",
        "remote.origin.promisor",
    ],
)
def test_git_asks_where_the_repository_names_a_program(repository: Path, name: str) -> None:
    assert judge(repository, "git diff") == Allow()
    git(repository, "config", name, "true")
    decision = judge(repository, "git diff")
    assert isinstance(decision, Ask)
    assert name in decision.reason
    assert [str(rule) for rule in decision.rules] == ["shell(git diff)"]


def test_the_users_own_settings_need_no_asking(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "gitconfig"
    own.write_text('[diff]\n\texternal = difft\n[filter "lfs"]\n\tclean = git-lfs clean\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(own))
    assert judge(repository, "git diff") == Allow()


def test_a_hook_of_the_refreshed_index_asks(repository: Path) -> None:
    (repository / ".git/hooks").mkdir(exist_ok=True)
    (repository / ".git/hooks/post-index-change").write_text("#!/bin/sh\n")
    assert isinstance(judge(repository, "git diff"), Ask)


def test_a_submodules_settings_count_too(repository: Path) -> None:
    inner = repository / "sub"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / "f").write_text("f")
    git(inner, "add", ".")
    git(inner, "commit", "-qm", "inner")
    git(repository, "add", "sub")
    git(repository, "commit", "-qm", "with sub")
    assert judge(repository, "git status") == Allow()
    git(inner, "config", "filter.x.clean", "touch ran; cat")
    assert isinstance(judge(repository, "git status"), Ask)


def test_a_work_tree_outside_the_project_asks(repository: Path, tmp_path: Path) -> None:
    git(repository, "config", "core.worktree", "../..")
    assert find_danger(repository, repository) == "core.worktree"


def test_files_that_look_like_a_repository_bring_no_settings(repository: Path) -> None:
    # All of it could be written by `write` in the mode that accepts edits; git's own folder is protected.
    sub, ran = repository / "sub", repository / "ran"
    (sub / "refs/heads").mkdir(parents=True)
    (sub / "objects/info").mkdir(parents=True)
    (sub / "HEAD").write_text("ref: refs/heads/m\n")
    (sub / "refs/heads/m").write_text(git(repository, "rev-parse", "HEAD") + "\n")
    (sub / "objects/info/alternates").write_text(f"{repository}/.git/objects\n")
    (sub / ".gitattributes").write_text("* diff=x\n")
    (sub / "config").write_text(
        f'[core]\n\tbare = false\n\tworktree = .\n[diff "x"]\n\ttextconv = touch {ran}; cat\n'
    )
    git(sub, "log", "-p")
    assert ran.exists(), "the trap does not work, so the test proves nothing"
    ran.unlink()
    for own in ({}, {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.name", "GIT_CONFIG_VALUE_0": "me"}):
        run_as_tool("git log -p", sub, **own)
        assert not ran.exists()


def test_finding_a_project_runs_nothing_that_its_settings_name(tmp_path: Path, repository: Path) -> None:
    ran = tmp_path / "ran"
    commit = git(repository, "rev-parse", "HEAD")
    for name, value in (
        ("core.repositoryformatversion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.url", "ssh://nowhere/x"),
        ("remote.origin.promisor", "true"),
        ("core.sshCommand", f"touch {ran}; false"),
    ):
        git(repository, "config", name, value)
    (repository / ".git/objects" / commit[:2] / commit[2:]).unlink()
    subprocess.run(["git", "rev-list", "HEAD"], cwd=repository, check=False, capture_output=True)
    assert ran.exists(), "the trap does not work, so the test proves nothing"
    ran.unlink()
    assert find_project(repository).is_git
    assert find_danger(repository, repository)
    assert not ran.exists()


def test_finding_a_project_never_takes_its_git(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = tmp_path / "ran"
    (repository / "git").write_text(f"#!/bin/sh\ntouch {ran}\n")
    (repository / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f".:{Path('/usr/bin')}:/bin")
    place = find_project(repository)
    assert place.first_commit
    assert not ran.exists()


def test_cd_starts_from_the_folder_itself_not_from_a_link_to_it(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere/link"
    link.symlink_to(repository)
    assert run_as_tool("cd .. && pwd", repository, PWD=str(link)).strip() == str(repository.parent)
