"""Whatever moment a program's process is killed at: resumed it comes to the same, and asks nothing twice."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.children import Children, children
from tests.faults.programs import ASKED, ProgramGround, model_environ
from tests.faults.shim import Action, Fault, why_no_shim
from tests.scope import TIMES

pytestmark = pytest.mark.skipif(bool(why_no_shim()), reason=why_no_shim())

KILLS = 10 * TIMES
"""Spread over some hundred system calls; `make soak` tries them all."""


@pytest.fixture
def forked(tmp_path: Path) -> Iterator[Children]:
    with children(tmp_path / "faults") as started:
        yield started


def test_a_program_that_is_killed_anywhere_and_resumed_is_as_not_killed(
    tmp_path: Path, forked: Children
) -> None:
    with model_environ() as env:
        ground = ProgramGround(forked, tmp_path / "ground", env).begin()
        assert (ground.uncut["fault"], ground.uncut["asked"]) == ("", ASKED)
        assert ground.calls > KILLS
        for number in range(KILLS):
            nth = 1 + ground.calls * number // KILLS
            action = (Action.KILL_BEFORE, Action.KILL_AFTER)[number % 2]
            verdict = ground.kill(Fault(str(ground.folder), nth, action))
            assert verdict.met
            assert not verdict.wrong, (nth, action)
