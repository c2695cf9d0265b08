"""The tests of interruption pass too where a shell has told the run to ignore Ctrl+C and hang-ups."""

import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
INTERRUPTING = (
    "tests/cli/test_headless_failures.py::test_sigint_while_waiting_for_input_ends_at_once",
    "tests/cli/test_headless_failures.py::test_sigint_in_the_middle_keeps_what_had_arrived",
)


def ignore() -> None:
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)


def test_tests_that_interrupt_pass_in_a_run_that_ignores_it() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *INTERRUPTING]
    ran = subprocess.run(
        command, cwd=ROOT, preexec_fn=ignore, capture_output=True, text=True, check=False, timeout=180
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "2 passed" in ran.stdout
