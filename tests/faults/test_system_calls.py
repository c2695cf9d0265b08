"""System calls that fail, are cut short or end the process: a turn and a move lose nothing.

A few calls of each kind; `python -m tests.soak` tries every one.
"""

import errno
from collections.abc import Iterator

import pytest

from tests.faults.children import Children, children
from tests.faults.shim import Action, Fault, Kind, why_no_shim
from tests.faults.trials import Ends, Ground

pytestmark = pytest.mark.skipif(bool(why_no_shim()), reason=why_no_shim())

FAIL, SHORT, KILL = Action.FAIL, Action.SHORT, Action.KILL_BEFORE


@pytest.fixture(scope="module")
def forked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Children]:
    with children(tmp_path_factory.mktemp("faults")) as started:
        yield started


@pytest.fixture(scope="module")
def ground(forked: Children, tmp_path_factory: pytest.TempPathFactory) -> Ground:
    """One project for all turns, one after another: what a fault leaves behind would show in the next."""
    return Ground(forked, tmp_path_factory.mktemp("turns")).begin()


@pytest.fixture(scope="module")
def moved(forked: Children, tmp_path_factory: pytest.TempPathFactory) -> tuple[Ground, Ends]:
    ground = Ground(forked, tmp_path_factory.mktemp("moves")).begin()
    return ground, ground.ends()


def at(ground: Ground, part: str, nth: int, action: Action, **more: int | bool) -> Fault:
    return Fault(str(ground.folder), nth=nth, action=action, part=part, **more)  # type: ignore[arg-type]


STORE, NOTES, CONTENTS, FILES = "ragforge.db", "history.db", "blobs.db", "/project/"

LONG = pytest.mark.long
"""The same file meets another failure here; `make soak` goes through all of them."""


@pytest.mark.parametrize(
    ("part", "nth", "action", "more"),
    [
        (STORE, 1, FAIL, {"kinds": Kind.WRITE}),
        pytest.param(STORE, 3, FAIL, {"kinds": Kind.SYNC, "lasts": True}, marks=LONG),
        (NOTES, 2, FAIL, {"kinds": Kind.WRITE, "error": errno.ENOSPC, "lasts": True}),
        (CONTENTS, 3, FAIL, {"kinds": Kind.WRITE, "error": errno.ENOSPC}),
        (FILES, 1, FAIL, {"kinds": Kind.RENAME}),
        pytest.param(FILES, 1, FAIL, {"kinds": Kind.WRITE, "error": errno.ENOSPC}, marks=LONG),
        pytest.param(FILES, 1, FAIL, {"kinds": Kind.WRITE, "error": errno.EINTR}, marks=LONG),
        ("", 1, SHORT, {"kinds": Kind.WRITE, "lasts": True}),
        (FILES, 1, KILL, {"kinds": Kind.RENAME}),
    ],
)
def test_a_turn_that_meets_it_keeps_words_and_files(
    ground: Ground, part: str, nth: int, action: Action, more: dict[str, int]
) -> None:
    verdict = ground.turn(at(ground, part, nth, action, **more))
    assert verdict.met, verdict.calls
    assert verdict.wrong == [], verdict.said
    after = ground.turn(None)
    assert after.wrong == []
    assert "finished" in after.said


@pytest.mark.parametrize(
    ("part", "nth", "action", "more"),
    [
        (FILES, 2, FAIL, {"kinds": Kind.RENAME}),
        pytest.param(FILES, 1, FAIL, {"kinds": Kind.SYNC}, marks=LONG),
        pytest.param(FILES, 2, FAIL, {"kinds": Kind.WRITE, "error": errno.ENOSPC, "lasts": True}, marks=LONG),
        (FILES, 1, SHORT, {"kinds": Kind.WRITE, "lasts": True}),
        (NOTES, 2, FAIL, {"kinds": Kind.SYNC}),
        (STORE, 1, FAIL, {"kinds": Kind.WRITE, "error": errno.ENOSPC, "lasts": True}),
        (FILES, 2, KILL, {"kinds": Kind.RENAME}),
    ],
)
def test_a_move_that_meets_it_is_done_whole_or_not_at_all(
    moved: tuple[Ground, Ends], part: str, nth: int, action: Action, more: dict[str, int]
) -> None:
    ground, ends = moved
    verdict = ground.move(at(ground, part, nth, action, **more), ends)
    assert verdict.met, verdict.calls
    assert verdict.wrong == [], verdict.said


def nth_after_write(ground: Ground, part: str) -> int:
    """Which sync of the file comes first after the turn's tool put its file in place."""
    calls = ground.turn(Fault(str(ground.folder))).calls
    renamed = next(at for at, call in enumerate(calls) if call.startswith("rename /project/made"))
    return sum(call.startswith("fsync") and part in call for call in calls[:renamed]) + 1


def test_a_write_that_cannot_be_noted_at_once_is_the_turns_all_the_same(ground: Ground) -> None:
    nth = nth_after_write(ground, NOTES)
    verdict = ground.turn(at(ground, NOTES, nth, FAIL, kinds=Kind.SYNC))
    assert verdict.met
    assert verdict.wrong == [], verdict.said


def test_contents_that_cannot_be_kept_at_once_are_kept_by_the_end_of_the_turn(ground: Ground) -> None:
    nth = nth_after_write(ground, CONTENTS)
    verdict = ground.turn(at(ground, CONTENTS, nth, FAIL, kinds=Kind.SYNC))
    assert verdict.met
    assert verdict.wrong == [], verdict.said
    assert verdict.unkept == []


def test_a_temporary_file_of_a_write_that_was_killed_is_gone_at_the_next_start(ground: Ground) -> None:
    verdict = ground.turn(at(ground, ".ragforge-tmp", 1, KILL, kinds=Kind.SYNC))
    assert verdict.met
    assert verdict.wrong == []
    assert not list(ground.project.rglob("*.ragforge-tmp"))
