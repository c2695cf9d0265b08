"""Project instructions: what is read of them, and what a stranger's repository cannot have read."""

import os
from pathlib import Path

from ragforge.agent.instructions import as_text, find_instructions


def found(root: Path) -> str:
    return as_text(find_instructions([root], root=root), root)


def test_a_link_within_the_project_is_followed_and_said_once(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    (root / "AGENTS.md").write_text("Use tabs.")
    (root / "CLAUDE.md").symlink_to("AGENTS.md")
    assert found(root).count("Use tabs.") == 1


def test_a_link_out_of_the_project_is_told_of_and_not_read(tmp_path: Path) -> None:
    root = tmp_path.resolve() / "project"
    root.mkdir()
    (tmp_path / "credentials").write_text("aws_secret_access_key = hidden")
    (root / "AGENTS.md").symlink_to("../credentials")
    assert "hidden" not in found(root)
    assert "AGENTS.md is a link to a file outside the project" in found(root)


def test_what_is_no_file_is_no_instruction(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    os.mkfifo(root / "AGENTS.md")
    (root / "CLAUDE.md").symlink_to("CLAUDE.md")
    (root / "GEMINI.md").mkdir()
    assert found(root) == ""
