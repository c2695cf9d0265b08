"""How well a task went, and what `benchmarks/tried.py` counts."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import astuple

from ragforge.domain.tasks import TaskFigures, TaskOutcome, implied_satisfaction, task_success
from ragforge.embedders.static import StaticEmbedder
from ragforge.memory.recall.similarity import KIN, WEIGHTS

FILE = Path(__file__).parents[2] / "benchmarks" / "tried.py"
SHARE = st.floats(0, 1)


@given(
    st.builds(
        TaskFigures,
        lines_changed_later=st.none() | st.integers(0, 50),
        check_passed=st.none() | st.booleans(),
        seconds=st.none() | st.floats(0, 1e6),
        cost_usd=st.none() | st.floats(0, 1e3),
        similar=st.lists(st.tuples(st.floats(0, 1e6), st.none() | st.floats(0, 1e3)), max_size=8),
        satisfaction=st.none() | SHARE,
    )
)
def test_success_is_the_mean_of_what_is_known(figures: TaskFigures) -> None:
    found = task_success(figures)
    assert found is None or 0 <= found <= 1
    few = len(figures.similar) < 5
    known = [figures.lines_changed_later, figures.check_passed, figures.satisfaction]
    if few:
        assert (found is None) == all(each is None for each in known)
        if [each is None for each in known] == [True, True, False]:
            assert found == figures.satisfaction


def test_success_by_hand() -> None:
    others = [(10.0, 1.0), (20.0, None), (30.0, 3.0), (40.0, 4.0), (50.0, 5.0)]
    assert task_success(TaskFigures(similar=others, seconds=60.0)) == 0.5
    assert task_success(TaskFigures(similar=others, seconds=15.0, cost_usd=9.0)) == 1.0  # of four, unknown
    whole = TaskFigures(1, True, 60.0, None, others, 0.8)
    assert task_success(whole) == (0.5 + 1.0 + 0.5 + 0.8) / 4
    cases = [(TaskOutcome.UNDONE, False, True, 0.0), (TaskOutcome.DENIED, False, False, 0.3)]
    cases += [(TaskOutcome.KEPT, True, True, 0.3), (TaskOutcome.KEPT, False, True, 1.0)]
    cases += [(TaskOutcome.KEPT, False, False, 0.8)]
    for outcome, asked_again, committed, expected in cases:
        assert implied_satisfaction(outcome, asked_again=asked_again, committed=committed) == expected


def test_the_benchmark_of_similar_tasks_holds_its_figures_on_its_own_file() -> None:
    told = ran(FILE)[1]
    precision, recall, warnings = (float(each) for each in re.findall(r"[a-z]+ (\d\.\d\d)\b", told)[1:])
    assert precision >= 0.85
    assert recall >= 0.5
    assert warnings >= 0.55
    assert "warned without a warning 1 of 15" in told


def test_the_weights_are_those_that_are_fitted_and_do_for_files_they_were_not_fitted_to() -> None:
    *files, kin, weights = ran(FILE.with_name("tried_fit.py"))
    # Another processor or NumPy rounds otherwise.
    assert [float(each) for each in re.findall(r"-?[\d.]+", kin)] == pytest.approx(KIN, abs=0.05)
    fitted = [float(each) for each in re.findall(r"(?<=[=( ])-?\d[\d.]*", weights.partition(": ")[2])]
    *figures, first, second = astuple(WEIGHTS[StaticEmbedder.name])
    assert fitted == pytest.approx([*figures, *first, *second], abs=0.05)
    assert len(files) == 6
    shares = [[float(each) for each in re.findall(r"[a-z]+ (\d\.\d\d)\b", line)[1:]] for line in files]
    precision, recall, warnings = (sum(each) / len(files) for each in zip(*shares, strict=True))
    assert precision >= 0.76
    assert recall >= 0.38
    assert warnings >= 0.39


def test_a_file_that_no_weights_were_fitted_to_does_as_well() -> None:
    told = ran(FILE, "radio_tasks.jsonl")[1]
    precision, recall, warnings = (float(each) for each in re.findall(r"[a-z]+ (\d\.\d\d)\b", told)[1:])
    assert precision >= 0.88
    assert recall >= 0.44
    assert warnings >= 0.52


def ran(script: Path, *beside: str) -> list[str]:
    files = [str(script.with_name(each)) for each in beside]
    done = subprocess.run([sys.executable, str(script), *files], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()
