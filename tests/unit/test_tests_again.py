"""What fails beside the other tests is run once more, alone, and that counts."""

import os
import subprocess
import sys
from pathlib import Path

from tests.__main__ import AGAIN_MAX

ROOT = Path(__file__).parents[2]


def test_what_passes_alone_is_named_and_the_run_has_passed(tmp_path: Path) -> None:
    ran = _run(tmp_path, FIRST_TIME_FAILS + "def test_other(): pass\n")
    assert ran.returncode == 0, ran.stdout
    assert "2 failed, 1 passed" in ran.stdout
    assert "2 passed" in ran.stdout
    named = ran.stdout.split("passed alone", 1)[1]
    assert "test_some.py::test_first[a::b]" in named
    assert "test_some.py::test_first[x' y]" in named


def test_what_fails_alone_too_has_failed(tmp_path: Path) -> None:
    ran = _run(tmp_path, "def test_wrong(): assert 0\n")
    assert ran.returncode == 1
    assert ran.stdout.count("1 failed") == 2
    assert "passed alone" not in ran.stdout


def test_many_failures_are_no_chance_and_are_not_run_again(tmp_path: Path) -> None:
    many = "".join(f"def test_{number}(): assert 0\n" for number in range(AGAIN_MAX + 1))
    ran = _run(tmp_path, many)
    assert ran.returncode == 1
    assert "Once more" not in ran.stdout


def test_a_file_that_cannot_be_read_has_failed(tmp_path: Path) -> None:
    ran = _run(tmp_path, "import nothing_of_this_name\n")
    assert ran.returncode != 0
    assert "Once more" not in ran.stdout


FIRST_TIME_FAILS = """
import pathlib, pytest
@pytest.mark.parametrize("name", ["a::b", "x' y"])
def test_first(name):
    seen = pathlib.Path(__file__).with_name(name)
    if not seen.exists():
        seen.touch()
        assert 0
"""


def _run(folder: Path, tests: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_some.py").write_text(tests)
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    # Of all the plugins the one that knows `-n`: the others take a second to load.
    env |= {"PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "xdist.plugin"}
    command = [sys.executable, "-m", "tests", "-n", "0", "test_some.py"]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
