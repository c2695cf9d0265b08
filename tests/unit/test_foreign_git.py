"""A `.git` that leads to a repository which knows nothing of the folder: asked about, and not read."""

import subprocess
from pathlib import Path

import pytest

from ragforge.agent.permissions import Allow, Ask, Decision, decide
from ragforge.config.project import find_project
from ragforge.config.repository import foreign_above, foreign_repositories, foreign_repository
from ragforge.domain.approvals import Mode, Rule
from ragforge.files.ignore import rules_above
from ragforge.tools import shell
from ragforge.tools.base import Preview
from ragforge.versions.scan.git_index import git_index


def git(folder: Path, *args: str) -> str:
    settings = ("-c", "user.email=a@b", "-c", "user.name=a", "-c", "protocol.file.allow=always")
    done = subprocess.run(["git", *settings, *args], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """Somebody's repository."""
    folder = tmp_path.resolve() / "private"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "secret-branch")
    (folder / "secret.txt").write_text("secret\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "secret words")
    git(folder, "config", "remote.origin.url", "https://example.org/private")
    (folder / ".git/info/exclude").write_text("*.hidden\n")
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder from a stranger."""
    folder = tmp_path.resolve() / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("a\n")
    return folder


def judge(root: Path, command: str, *rules: Rule, mode: Mode = Mode.ASK) -> Decision:
    return decide(shell.TOOL, {"command": command}, Preview(), mode=mode, rules=rules, root=root, cwd=root)


def a_file(project: Path, private: Path) -> Path:
    (project / ".git").write_text(f"gitdir: {private}/.git\n")
    return private / ".git"


def a_relative_file(project: Path, private: Path) -> Path:
    (project / ".git").write_text("gitdir: ../private/.git")
    return private / ".git"


def a_link(project: Path, private: Path) -> Path:
    (project / ".git").symlink_to(private / ".git")
    return private / ".git"


def a_link_to_a_file(project: Path, private: Path) -> Path:
    (project / "named").write_text(f"gitdir: {private}/.git\n")
    (project / ".git").symlink_to("named")
    return private / ".git"


def a_folder_that_shares(project: Path, private: Path) -> Path:
    git(project, "init", "-q")
    (project / ".git/commondir").write_text(f"{private}/.git\n")
    return private / ".git"


def a_folder_of_links(project: Path, private: Path) -> Path:
    git(project, "init", "-q")
    for name in ("objects", "refs"):
        subprocess.run(["rm", "-r", project / ".git" / name], check=True)
        (project / ".git" / name).symlink_to(private / ".git" / name)
    return private / ".git"


def a_file_with_a_forged_work_tree(project: Path, private: Path) -> Path:
    made = project / "inner/worktrees/x"
    made.mkdir(parents=True)
    (made / "HEAD").write_text("ref: refs/heads/secret-branch\n")
    (made / "commondir").write_text(f"{private}/.git\n")
    (made / "gitdir").write_text(f"{project}/.git\n")
    (project / ".git").write_text("gitdir: inner/worktrees/x\n")
    return made


def a_file_with_a_forged_submodule(project: Path, private: Path) -> Path:
    made = project / "inner"
    made.mkdir()
    (made / "HEAD").write_text("ref: refs/heads/secret-branch\n")
    (made / "commondir").write_text(f"{private}/.git\n")
    (made / "config").write_text(f"[core]\n\tworktree = {project}\n")
    (project / ".git").write_text("gitdir: inner\n")
    return made


def a_file_with_a_line_break(project: Path, private: Path) -> Path:
    (project / "own\n").mkdir()
    (project / ".git").write_text(f"gitdir: own\n/../../{private.name}/.git")
    return private / ".git"


def borrowing(project: Path, *lines: str) -> None:
    git(project, "init", "-q")
    (project / ".git/objects/info").mkdir(exist_ok=True)
    (project / ".git/objects/info/alternates").write_text("".join(f"{line}\n" for line in lines))


def a_folder_that_borrows(project: Path, private: Path) -> Path:
    borrowing(project, "# ours", "", f"{private}/.git/objects")
    return private / ".git/objects"


def a_folder_that_borrows_from_beside(project: Path, private: Path) -> Path:
    borrowing(project, f"../../../{private.name}/.git/objects")
    return private / ".git/objects"


def a_folder_that_borrows_in_quotes(project: Path, private: Path) -> Path:
    borrowing(project, f'"{str(private).replace("v", chr(92) + "166")}/.git/objects"')
    return private / ".git/objects"


def a_folder_that_borrows_from_a_borrower(project: Path, private: Path) -> Path:
    (project / "between/info").mkdir(parents=True)
    (project / "between/info/alternates").write_text(f"{project}/.git/objects\n{private}/.git/objects\n")
    borrowing(project, "../../between")
    return private / ".git/objects"


def a_folder_with_a_link_among_its_references(project: Path, private: Path) -> Path:
    git(project, "init", "-q")
    (project / ".git/refs/heads/feature").symlink_to(private / ".git/refs/heads")
    return private / ".git/refs/heads"


def a_folder_with_a_link_among_its_logs(project: Path, private: Path) -> Path:
    git(project, "init", "-q")
    (project / ".git/logs").mkdir()
    (project / ".git/logs/HEAD").symlink_to(private / ".git/logs/HEAD")
    return private / ".git/logs/HEAD"


def a_folder_with_a_link_among_its_objects(project: Path, private: Path) -> Path:
    git(project, "init", "-q")
    (project / ".git/objects/pack/x.pack").symlink_to(private / ".git/objects/x.pack")
    return private / ".git/objects/x.pack"


def a_folder_that_shares_what_leads_out(project: Path, private: Path) -> Path:
    git(project, "init", "-q")
    (project / "elsewhere").mkdir()
    (project / "elsewhere/objects").symlink_to(private / ".git/objects")
    (project / ".git/commondir").write_text("../elsewhere\n")
    return private / ".git/objects"


def a_folder_whose_settings_are_a_link(project: Path, private: Path) -> Path:
    git(project, "init", "-q")
    (project / ".git/config").unlink()
    (project / ".git/config").symlink_to(private / ".git/config")
    return private / ".git/config"


def a_folder_with_a_link_among_its_work_trees(project: Path, private: Path) -> Path:
    git(project, "init", "-q")
    (project / ".git/worktrees/x").mkdir(parents=True)
    (project / ".git/worktrees/x/HEAD").symlink_to(private / ".git/HEAD")
    return private / ".git/HEAD"


def a_work_tree_that_brings_a_repository_which_shares(project: Path, private: Path) -> Path:
    inner = project / "inner"
    inner.mkdir()
    borrowing(inner, f"{private}/.git/objects")
    made = inner / ".git/worktrees/x"
    made.mkdir(parents=True)
    (made / "HEAD").write_text("ref: refs/heads/secret-branch\n")
    (made / "commondir").write_text("../..\n")
    (made / "gitdir").write_text(f"{project}/.git\n")
    (project / ".git").write_text("gitdir: inner/.git/worktrees/x\n")
    return private / ".git/objects"


LEADING = [
    *(a_folder_whose_settings_are_a_link, a_folder_with_a_link_among_its_work_trees),
    a_work_tree_that_brings_a_repository_which_shares,
    *(a_folder_that_borrows, a_folder_that_borrows_from_beside, a_folder_that_borrows_in_quotes),
    *(a_folder_that_borrows_from_a_borrower, a_folder_with_a_link_among_its_references),
    *(a_folder_with_a_link_among_its_logs, a_folder_with_a_link_among_its_objects),
    a_folder_that_shares_what_leads_out,
    *(a_file, a_relative_file, a_link, a_link_to_a_file, a_folder_that_shares, a_folder_of_links),
    *(a_file_with_a_forged_work_tree, a_file_with_a_forged_submodule, a_file_with_a_line_break),
]


@pytest.mark.parametrize("lead", LEADING)
def test_git_asks_where_its_repository_knows_nothing_of_the_folder(
    project: Path, private: Path, lead: object
) -> None:
    assert callable(lead)
    leads_to = lead(project, private)
    assert any(found.is_relative_to(leads_to) for found in foreign_repositories(project))
    for command in ("git log", "git status", "git diff", "/usr/bin/git log", "ls; git log"):
        for rules in ((), (Rule("shell", "git log"), Rule("shell", f"= {command}"))):
            decision = judge(project, command, *rules)
            assert isinstance(decision, Ask), command
            assert "git" in decision.reason


@pytest.mark.parametrize("lead", LEADING)
def test_a_project_with_such_a_repository_takes_nothing_from_it(
    project: Path, private: Path, lead: object
) -> None:
    assert callable(lead)
    lead(project, private)
    place = find_project(project)
    assert place.root == project
    assert place.foreign_git is not None
    assert (place.is_git, place.branch, place.git_remote, place.first_commit) == (False, "", "", "")
    assert git_index(project).files == frozenset()
    assert rules_above(project, project, None) == ()
    # Also from a folder below, where git looks upwards.
    (project / "below").mkdir()
    assert next(foreign_above(project / "below")) == place.foreign_git
    assert find_project(project / "below").foreign_git == place.foreign_git


def test_consent_is_for_that_very_repository(project: Path, private: Path) -> None:
    leads_to = a_file(project, private)
    decision = judge(project, "git log --oneline")
    assert isinstance(decision, Ask)
    assert str(leads_to) in decision.reason
    assert decision.rules == (Rule("git", str(leads_to)),)
    assert judge(project, "git log --oneline", *decision.rules) == Allow()
    both = judge(project, "git add x")
    assert isinstance(both, Ask)
    assert both.rules == (Rule("git", str(leads_to)), Rule("shell", "git add"))
    assert judge(project, "git add x", *both.rules) == Allow()
    other = private.parent / "other"
    git(private, "clone", "-q", str(private), str(other))
    a_file(project, other)
    assert isinstance(judge(project, "git log", *decision.rules), Ask)
    place = find_project(project, allowed={other / ".git"})
    assert (place.is_git, place.branch, place.foreign_git) == (True, "secret-branch", None)
    assert find_project(project, allowed={leads_to}).foreign_git == other / ".git"


def test_consent_to_one_repository_is_none_to_another(project: Path, private: Path) -> None:
    harmless = private.parent / "harmless"
    borrowing(project, str(harmless), f"{private}/.git/objects")
    first, second = Rule("git", str(harmless)), Rule("git", f"{private}/.git/objects")
    decision = judge(project, "git log")
    assert isinstance(decision, Ask)
    assert set(decision.rules) == {first, second}
    assert isinstance(judge(project, "git log", first), Ask)
    assert isinstance(judge(project, "git log", second), Ask)
    assert judge(project, "git log", first, second) == Allow()
    assert find_project(project, allowed={harmless}).foreign_git == private / ".git/objects"
    assert find_project(project, allowed={harmless, private / ".git/objects"}).is_git


def test_a_repository_that_borrows_and_links_inside_is_no_strangers(project: Path) -> None:
    (project / "below").mkdir()
    git(project / "below", "init", "-q")
    borrowing(project, "../../below/.git/objects")
    (project / ".git/refs/heads/main").symlink_to("../tags/main")
    assert foreign_repository(project) is None


def test_a_folder_below_with_such_a_repository_asks_behind_cd(project: Path, private: Path) -> None:
    git(project, "init", "-q")
    (project / "sub").mkdir()
    a_file(project / "sub", private)
    assert judge(project, "git status") == Allow()
    assert isinstance(judge(project, "cd sub && git add x", Rule("shell", "git add")), Ask)


def test_a_submodule_that_leads_elsewhere_asks(project: Path, private: Path) -> None:
    git(project, "init", "-q")
    git(project, "submodule", "add", "-q", str(private), "sub")
    git(project, "commit", "-qm", "with a submodule")
    assert judge(project, "git status") == Allow()
    a_file(project / "sub", private)
    assert isinstance(judge(project, "git status"), Ask)


def test_a_work_tree_and_a_submodule_are_read_as_ever(tmp_path: Path, private: Path) -> None:
    tree = tmp_path.resolve() / "tree"
    git(private, "worktree", "add", "-q", "-b", "other", str(tree))
    above = tmp_path.resolve() / "above"
    above.mkdir()
    git(above, "init", "-q")
    git(above, "submodule", "add", "-q", str(private), "sub")
    for folder in (tree, above / "sub"):
        assert (folder / ".git").is_file()
        assert foreign_repository(folder) is None
        place = find_project(folder)
        assert place.is_git
        assert place.root == folder
        assert place.first_commit
        assert judge(folder, "git log") == Allow()
    assert find_project(tree).branch == "other"
    assert "secret.txt" in git_index(tree).files
    # A work tree that was moved by hand is known no more until `git worktree repair`.
    tree.rename(tmp_path / "moved")
    assert foreign_repository(tmp_path.resolve() / "moved") is not None
    git(private, "worktree", "repair", str(tmp_path / "moved"))
    assert foreign_repository(tmp_path.resolve() / "moved") is None


def test_a_copy_of_a_work_tree_is_not_the_work_tree(tmp_path: Path, private: Path) -> None:
    tree = tmp_path.resolve() / "tree"
    git(private, "worktree", "add", "-q", str(tree))
    copy = tmp_path.resolve() / "copy"
    copy.mkdir()
    (copy / ".git").write_text((tree / ".git").read_text())
    assert foreign_repository(copy) == private / ".git/worktrees/tree"


def test_a_repository_of_its_own_is_no_strangers(project: Path) -> None:
    assert foreign_repository(project) is None
    git(project, "init", "-q")
    assert foreign_repository(project) is None
    assert find_project(project).is_git


@pytest.mark.parametrize(
    "content", [b"", b"gitdir: ", b"gitdir: /not/there", b"x", b"gitdir: \0", b"\xff" * 9]
)
def test_a_git_file_that_names_none_is_no_repository(project: Path, content: bytes) -> None:
    (project / ".git").write_bytes(content)
    assert foreign_repository(project) is None
    assert not find_project(project).is_git
