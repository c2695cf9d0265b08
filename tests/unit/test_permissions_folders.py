"""Shell commands that go through folders and links."""

from pathlib import Path

from ragforge.agent.permissions import Allow, Ask, decide
from ragforge.domain.approvals import Mode
from ragforge.tools import shell
from ragforge.tools.base import Preview
from tests.unit.judging import judge


def test_a_session_opened_through_a_link_is_in_its_project(root: Path) -> None:
    link, below = root.parent / "a link", root.parent / "a link to src"
    link.symlink_to(root)
    below.symlink_to(root / "src")
    for cwd, command in ((link, "cat b.py"), (link, "cd src && cat a.py"), (below, "cd .. && cat b.py")):
        args = {"command": command}
        assert decide(shell.TOOL, args, Preview(), mode=Mode.ASK, rules=[], root=root, cwd=cwd) == Allow()


def test_a_folder_left_through_the_link_it_was_entered_by_asks(root: Path) -> None:
    (root / "deep/er").mkdir(parents=True)
    (root / "link").symlink_to("deep/er")
    # The shell goes from the link to `out` beside it, the system to `deep/out`, which is not there.
    assert isinstance(judge(root, "cd link/../out && cat hostname"), Ask)
    assert isinstance(judge(root, "cd link && cd ../out && cat hostname"), Ask)
    assert judge(root, "cd link/../src && cat a.py") == Allow()


def test_very_many_ways_through_folders_ask(root: Path) -> None:
    assert isinstance(judge(root, "; ".join(f"cd ./{number}" for number in range(40)) + "; ls"), Ask)
