"""Which checks a command runs, and which stored facts mark a turn."""

from datetime import UTC, datetime

import pytest

from ragforge.domain.checks import checks_of
from ragforge.domain.json import JsonObject
from ragforge.domain.turns import CallStatus, ToolCall
from ragforge.memory.foresight_mark import MarkReason, TurnFacts, failing_after, marks_of
from tests.foresight.lines import lines_before
from tests.foresight.measure import HELD_OUT, TURNS, measure, read_turns

OK, FAILED = CallStatus.OK, CallStatus.FAILED


def call(name: str, told: str, status: CallStatus = OK, result: str = "") -> ToolCall:
    args: JsonObject = {"command" if name == "shell" else "path": told}
    return ToolCall("c", "t", 0, 0, name, args, status, result, datetime(2026, 1, 1, tzinfo=UTC), 1)


@pytest.mark.parametrize(
    ("command", "status", "result", "found"),
    [
        ("pytest -q", OK, "", [("pytest", False)]),
        ("cd api && .venv/bin/python -m pytest | tail -3", OK, "2 failed, 3 passed", [("pytest", True)]),
        ("PYTHONPATH=. timeout 60 pytest || true", OK, "7 passed in 1s", [("pytest", False)]),
        ("uv run pytest && git commit -m 'a; b'", FAILED, "nothing to commit", [("pytest", None)]),
        ("npm run test:unit", FAILED, "", [("npm test", True)]),
        ("mvn -q clean test", OK, "", [("mvn test", False)]),
        ("ruff format --check .", FAILED, "", [("ruff format --check", True)]),
        ("ruff format .", OK, "", []),
        ("cat > run.sh <<E\npytest\nE", OK, "", []),
        ("echo 'pytest", FAILED, "", []),
        ("echo pytest; grep pytest setup.cfg", FAILED, "", []),
        ("python -m pytest", FAILED, "No module named pytest", []),
        ("pytest", CallStatus.DENIED, "", []),
        ("pytest", FAILED, "[Ended after its time limit of 120 s, with everything it had started.]", []),
    ],
)
def test_checks_of_a_command(command: str, status: CallStatus, result: str, found: list[tuple[str, bool]]):
    assert [(run.name, run.failed) for run in checks_of(command, status, result)] == found


def reasons(**facts: object) -> list[MarkReason]:
    return [mark.reason for mark in marks_of(TurnFacts(**{"said": "go on", **facts}))]  # pyright: ignore


def test_a_failed_check_marks_until_it_is_known_or_passes():
    failed, passed = call("shell", "pytest", FAILED), call("shell", "pytest tests/a.py")
    assert reasons(calls=[passed, failed]) == [MarkReason.CHECK]
    assert reasons(calls=[failed, passed]) == []
    assert reasons(calls=[failed], failing_before=failing_after([failed])) == []
    assert failing_after([passed], failing_after([failed])) == frozenset()


def test_the_rule_on_a_hundred_turns_that_were_marked_by_hand():
    report = measure(read_turns(TURNS))
    assert report.turns == 100
    assert report.marked <= 10
    assert report.precision >= 0.9
    assert report.recall >= 0.9


def test_the_rule_on_a_hundred_turns_that_it_was_not_made_for():
    report = measure(read_turns(HELD_OUT))
    assert report.turns == 100
    # As it was measured first. Whoever changes the rule to fit these turns needs others to measure it.
    assert report.precision >= 10 / 12
    assert report.recall >= 10 / 17


async def test_the_block_before_the_next_message_tells_of_it():
    turns = read_turns(TURNS)
    at = next(at for at, each in enumerate(turns) if each["said"] == "vas-y")
    lines = await lines_before(turns[at - 1 : at + 2])
    assert lines == ["", "", "Of the turn before: 2 files foreseen, neither changed."]


def test_tests_older_than_the_last_change_mark():
    tests, edit, notes = call("shell", "go test ./..."), call("edit", "a.go"), call("write", "README.md")
    assert reasons(calls=[tests, edit]) == [MarkReason.TESTS_OLD]
    assert reasons(calls=[edit, tests, notes]) == []
    assert reasons(calls=[edit]) == []
    assert reasons(calls=[call("shell", "go vet", FAILED), edit]) == []
    assert reasons(calls=[tests, call("edit", "a.go", FAILED)]) == []


def test_other_files_than_foreseen_mark_where_the_message_goes_on():
    files = ["src/billing.py", "src/tax.py"]
    foreseen = {"files_foreseen": files, "expected": "The tax is rounded."}
    changed = {"files_changed": ["src/login.py"]}
    marks = marks_of(TurnFacts("now round the tax", (), "The tax is rounded.", files, ["src/login.py"]))
    assert [mark.words for mark in marks] == ["2 files foreseen, neither changed"]
    assert reasons(said="go ahead", **foreseen, **changed) == [MarkReason.FILES]
    assert reasons(said="now the login, please", **foreseen, **changed) == []
    assert reasons(said="what a nice colour", **foreseen, **changed) == []
    assert reasons(said="go ahead", **foreseen) == []
    for path in ("src/tax.py", "lib/src/billing.py", "tests/test_tax.py"):
        assert reasons(said="go ahead", **foreseen, files_changed=[path, "x.py"]) == []
