"""All tests, as `make test` runs them: `python -m tests [options of pytest]`.

Three processes, because tests often wait for servers; a file is never split, because its tests share them. In
the order of `tests/servers/order.py`. Where few fail, those are run once more, one after another with the
machine to themselves, and this second time counts; decision 14 says why.
"""

import subprocess
import sys

import pytest

AT_ONCE = ("-n", "3", "--dist", "loadfile", "--no-loadscope-reorder")
ALONE = ("-n", "0", "-p", "no:cacheprovider")
AGAIN_MAX = 5
"""More than so many failures have one cause, and it is not chance."""


class Failed:
    """A plugin that remembers the tests that failed, or whose set-up or end did."""

    def __init__(self) -> None:
        self.tests: dict[str, None] = {}
        self.others = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.tests[report.nodeid] = None

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self.others |= report.failed


def main(args: list[str]) -> int:
    failed = Failed()
    code = pytest.main([*AT_ONCE, *args], plugins=[failed])
    again = list(failed.tests)
    if code != pytest.ExitCode.TESTS_FAILED or failed.others or not 0 < len(again) <= AGAIN_MAX:
        return int(code)
    print(f"\nOnce more, alone, what failed: {len(again)}\n", flush=True)
    # A process of its own: the first one's servers have ended, and what its tests left behind with it.
    code = subprocess.run([sys.executable, "-m", "pytest", *ALONE, *again], check=False).returncode
    if code == 0:
        print("\nFailed beside the others and passed alone, so each is a race that somebody has to find:")
        print(*again, sep="\n", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
