"""Which changes of files need asking, and what "always" would add."""

from pathlib import Path

import pytest

from ragforge.agent.permissions import Allow, Ask, Decision, Refuse, decide
from ragforge.domain.approvals import Mode, parse_rule
from ragforge.tools import edit, web_fetch, write
from ragforge.tools.base import Preview

ROOT = Path("/home/somebody/project")


def judge(*names: str, rules: tuple[str, ...] = (), mode: Mode = Mode.ASK, refused: str = "") -> Decision:
    return decide(
        edit.TOOL,
        {},
        Preview(paths=tuple(ROOT / name for name in names), refused=refused),
        mode=mode,
        rules=[parse_rule(rule) for rule in rules],
        root=ROOT,
        cwd=ROOT,
    )


def test_an_edit_asks_and_offers_its_folder() -> None:
    decision = judge("src/deep/a.py")
    assert decision == Ask("changes a file", (parse_rule("edit(/src/deep/**)"),))


def test_an_edit_at_the_top_offers_that_file_alone() -> None:
    decision = judge("setup.py")
    assert decision == Ask("changes a file", (parse_rule("edit(/setup.py)"),))


def test_accepted_edits_happen_inside_the_project_only() -> None:
    assert judge("a.py", mode=Mode.ACCEPT_EDITS) == Allow()
    assert isinstance(judge("/etc/passwd", mode=Mode.ACCEPT_EDITS), Ask)
    assert isinstance(judge(".git/hooks/pre-commit", mode=Mode.ACCEPT_EDITS), Ask)


@pytest.mark.parametrize(
    ("rule", "name", "allowed"),
    [
        ("edit(src/**)", "src/a/b.py", True),
        ("edit(src/)", "src/a.py", True),
        ("edit(*.py)", "src/a.py", True),
        ("edit(/src/*.py)", "src/a.py", True),
        ("edit(/src/*.py)", "lib/src/a.py", False),
        ("edit(src/**)", "srcs/a.py", False),
        ("write(src/**)", "src/a.py", False),
        ("shell(src/**)", "src/a.py", False),
        ("edit(!src/**)", "src/a.py", False),
        ("edit(#)", "src/a.py", False),
        ("edit(\\)", "src/a.py", False),
        ("edit(**)", ".git/config", False),
        ("edit(.git/**)", ".git/config", False),
        ("edit(.ragforge/**)", ".ragforge/config.toml", False),
        ("edit(/**)", "/etc/passwd", False),
    ],
)
def test_a_rule_is_a_pattern_of_gitignore(rule: str, name: str, allowed: bool) -> None:
    assert (judge(name, rules=(rule,)) == Allow()) == allowed


def test_every_path_of_a_call_needs_a_rule() -> None:
    assert isinstance(judge("src/a.py", "lib/b.py", rules=("edit(src/**)",)), Ask)
    assert judge("src/a.py", "lib/b.py", rules=("edit(src/**)", "edit(lib/**)")) == Allow()


def test_a_negated_rule_does_not_undo_another_one() -> None:
    assert judge("src/a.py", rules=("edit(src/**)", "edit(!src/a.py)")) == Allow()


def test_plan_mode_refuses_and_says_so() -> None:
    decision = judge("a.py", rules=("edit(**)",), mode=Mode.PLAN)
    assert isinstance(decision, Refuse)
    assert "Plan mode" in decision.reason
    assert "edit" in decision.reason


@pytest.mark.parametrize("mode", list(Mode))
def test_what_cannot_be_done_is_not_asked_about(mode: Mode) -> None:
    assert judge("a.py", mode=mode, refused="The old text is not there.") == Refuse(
        "The old text is not there."
    )


def test_all_asks_nothing() -> None:
    assert judge("/etc/passwd", mode=Mode.ALL) == Allow()
    assert judge(".git/config", mode=Mode.ALL) == Allow()


def test_a_name_that_cannot_be_shown_has_no_always() -> None:
    assert judge("src\n/a.py") == Ask("changes a file")


def test_write_has_rules_of_its_own() -> None:
    decision = decide(
        write.TOOL, {}, Preview(paths=(ROOT / "src/a.py",)), mode=Mode.ASK, rules=[], root=ROOT, cwd=ROOT
    )
    assert decision == Ask("changes a file", (parse_rule("write(/src/**)"),))


@pytest.mark.parametrize(
    ("rule", "is_allowed"),
    [("docs.python.org", True), ("*.python.org", True), ("*", True), ("python.org", False)],
)
def test_hosts_are_allowed_by_name_by_what_they_end_with_or_all(rule: str, is_allowed: bool) -> None:
    preview, rules = Preview(hosts=("docs.python.org",)), [parse_rule(f"web_fetch({rule})")]
    decision = decide(web_fetch.TOOL, {}, preview, mode=Mode.ASK, rules=rules, root=ROOT, cwd=ROOT)
    assert (decision == Allow()) is is_allowed
