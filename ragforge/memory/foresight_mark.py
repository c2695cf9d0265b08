"""The mark on a turn that differed from what was foreseen: a rule about stored facts.

No rating and no claim of a model sets it. A wrong mark is worse than none, so if facts leave a doubt
there is none. `python -m tests.foresight` measures how often it is right.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import PurePosixPath

from msgspec import Struct

from ragforge.domain.checks import CheckRun, checks_of
from ragforge.domain.file_kinds import PROSE
from ragforge.domain.foresight import Foresight
from ragforge.domain.go_ahead import goes_ahead
from ragforge.domain.language.base import common_words
from ragforge.domain.messages import text_of
from ragforge.domain.turns import CallStatus, ToolCall, Turn
from ragforge.domain.versions import Version
from ragforge.domain.words import counted
from ragforge.memory.likeness import content_words, stands_among

STEM_CHARS_MIN = 4
"""A shorter file name may be in a message by chance."""
_TEST_NAME = re.compile(r"^(?:tests?|specs?|__tests__)$|^test_|[._-](?:test|spec)s?\b|tests?\.\w+$")
EDITS = frozenset({"edit", "write"})


class MarkReason(StrEnum):
    """Why a turn is marked."""

    FILES = "files"
    """Files were foreseen, and others changed."""
    CHECK = "check"
    """The last run of a check failed."""
    TESTS_OLD = "tests_old"
    """The last test run is older than the last change."""


class Mark(Struct, frozen=True):
    """One reason, and what happened in a few words, such as `the last run of pytest failed`."""

    reason: MarkReason
    words: str


class TurnFacts(Struct, frozen=True):
    """What is stored of a turn.

    said: the user's message. expected, files_foreseen: what was predicted of the turn, and the messages that
    were expected. calls: in their order. files_changed: by the turn's version. failing_before: checks whose
    last run before the turn failed.
    """

    said: str
    calls: Sequence[ToolCall] = ()
    expected: str = ""
    files_foreseen: Sequence[str] = ()
    files_changed: Sequence[str] = ()
    failing_before: frozenset[str] = frozenset()


def facts_of(
    turn: Turn,
    expected: Foresight | None,
    calls: Sequence[ToolCall],
    versions: Iterable[Version],
    failing_before: frozenset[str],
) -> TurnFacts:
    """Return the facts of a turn. versions: its own."""
    before = expected or Foresight()
    said = [before.individual_after_prediction, before.collective_after_prediction, *before.next_messages]
    changed = (change.path for version in versions for change in version.changes if change.is_own)
    return TurnFacts(
        text_of(turn.user),
        calls,
        " ".join(said),
        before.files_foreseen,
        tuple(dict.fromkeys(changed)),
        failing_before,
    )


def marks_of(facts: TurnFacts) -> list[Mark]:
    """Return why the turn is marked; empty if it is not."""
    found = (_other_files(facts), _failed_check(facts), _tests_before_change(facts))
    return [mark for mark in found if mark is not None]


def failing_after(calls: Iterable[ToolCall], before: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return the checks whose last run failed, once these calls ended: `failing_before` of the next turn."""
    last = _last_runs(calls)
    return frozenset({name for name, failed in last.items() if failed} | (before - last.keys()))


def _last_runs(calls: Iterable[ToolCall]) -> dict[str, bool | None]:
    return {run.name: run.failed for run in _runs(calls)}


def _runs(calls: Iterable[ToolCall]) -> list[CheckRun]:
    return [
        run
        for call in calls
        if call.name == "shell"
        for run in checks_of(str(call.args.get("command", "")), call.status, call.result)
    ]


def _failed_check(facts: TurnFacts) -> Mark | None:
    """Return the mark; None if something changed after the check, or if only tests were written: those
    fail on purpose."""
    since = facts.calls[_after_edits(facts.calls) :]
    failed = sorted(failing_after(since) - facts.failing_before)
    if not failed or (facts.files_changed and all(map(is_of_tests, facts.files_changed))):
        return None
    return Mark(MarkReason.CHECK, f"the last run of {' and of '.join(failed)} failed")


def _tests_before_change(facts: TurnFacts) -> Mark | None:
    last = _after_edits(facts.calls)
    tests = [run.name for run in _runs(facts.calls[:last]) if run.is_test]
    if not tests or any(run.is_test for run in _runs(facts.calls[last:])):
        return None
    changed = PurePosixPath(_edited(facts.calls[last - 1])).name
    return Mark(MarkReason.TESTS_OLD, f"{changed} changed after the last run of {tests[-1]}")


def _after_edits(calls: Sequence[ToolCall]) -> int:
    """Return the position after the last call that changed a file other than prose; 0 if none did."""
    places = [place for place, call in enumerate(calls, 1) if (path := _edited(call)) and not is_prose(path)]
    return places[-1] if places else 0


def _edited(call: ToolCall) -> str:
    """Return the path that the call changed; empty if it changed none."""
    edits = call.name in EDITS and call.status is CallStatus.OK
    return str(call.args.get("path", "")) if edits else ""


def _other_files(facts: TurnFacts) -> Mark | None:
    changed = [path for path in facts.files_changed if not is_prose(path)]
    foreseen = facts.files_foreseen
    if not (foreseen and changed) or any(same_file(one, other) for one in foreseen for other in changed):
        return None
    if any(_names(facts.said, path) for path in changed) or not _goes_on(facts):
        return None
    if len(foreseen) == 1 and any(_beside(foreseen[0], path) for path in changed):
        return None
    neither = ("it did not change", "neither changed", "none of them changed")[min(len(foreseen), 3) - 1]
    return Mark(MarkReason.FILES, f"{counted(len(foreseen), 'file')} foreseen, {neither}")


def _beside(foreseen: str, changed: str) -> bool:
    """Whether both are in one folder: the same work in a neighbouring file."""
    return PurePosixPath(foreseen.removeprefix("./")).parent == PurePosixPath(changed).parent


def is_of_tests(path: str) -> bool:
    """Whether the file contains tests."""
    return any(_TEST_NAME.search(part.lower()) for part in PurePosixPath(path).parts)


def is_prose(path: str) -> bool:
    """Whether the file is for people, so that no test is about it."""
    return PurePosixPath(path).suffix[1:].lower() in PROSE


def same_file(foreseen: str, changed: str) -> bool:
    """Whether a foreseen path means the changed one, its folder, or its tests."""
    one, other = foreseen.strip().removeprefix("./").rstrip("/"), changed.removeprefix("./")
    if not one:
        return False
    alike = one == other or other.endswith(f"/{one}") or one.endswith(f"/{other}")
    return alike or other.startswith(f"{one}/") or _stem(one) == _stem(other)


def _stem(path: str) -> str:
    """Return the name that a file and its tests share: `billing` for `tests/test_billing.py`."""
    name = PurePosixPath(path).name.partition(".")[0].lower()
    return name.removeprefix("test_").removesuffix("_test").removesuffix("_spec").removesuffix("test")


def _names(said: str, path: str) -> bool:
    """Whether the message names the file, so that the user wanted it."""
    name, stem = PurePosixPath(path).name.lower(), _stem(path)
    words = content_words(said)
    return name in said.lower() or (len(stem) >= STEM_CHARS_MIN and stands_among(stem, words))


def _goes_on(facts: TurnFacts) -> bool:
    """Whether the message continues what was expected, so that the foreseen files are still meant."""
    if goes_ahead(facts.said):
        return True
    expected = " ".join([facts.expected, *map(_stem, facts.files_foreseen)])
    among = content_words(expected)
    words = [word for word in content_words(facts.said) if word not in common_words()]
    return any(stands_among(word, among) for word in words)


def happened(facts: TurnFacts) -> Mapping[str, str]:
    """Return what the second column of the mark's screen shows, by its label."""
    runs = _last_runs(facts.calls)
    said = {True: "failed", False: "passed", None: "ran"}
    return {
        "Files": ", ".join(facts.files_changed) or "none changed",
        "Checks": ", ".join(f"{name} {said[failed]}" for name, failed in runs.items()) or "none ran",
    }
