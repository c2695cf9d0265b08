"""The tests, as `make test` runs them:
`python -m tests [--all] [--sixth TEXT] [--load N] [options of pytest]`.

Five processes, because tests wait half of their time, for servers and for an interface to be idle; a file is
never split, because its tests share them. In the order of `tests/servers/order.py`. Where few fail, those are
run once more, one after another with the machine to themselves, and this second time counts; decision 14 says
why. The last lines say how often, which files took longest, and how long each process had nothing to do.
"""

import argparse
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

AT_ONCE = ("-n", "5", "--dist", "loadfile", "--no-loadscope-reorder")
ALONE = ("-n", "0", "-p", "no:cacheprovider")
FILES_SHOWN = 12
AGAIN_MAX = 5
"""More than so many failures have one cause, and it is not chance."""
MEMORY_DISK = Path("/dev/shm")
ROOM_BYTES_MIN = 4 << 30
"""What tests and their servers write is at most half of it."""


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


class Durations:
    """A plugin that remembers what files took, and when each process ended its last test."""

    def __init__(self) -> None:
        self.files: dict[str, float] = defaultdict(float)
        self.ended: dict[str, float] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.files[report.nodeid.partition("::")[0]] += report.duration
        if node := getattr(report, "node", None):
            self.ended[node.gateway.id] = time.monotonic()

    def show(self) -> None:
        files = sorted(((took, name) for name, took in self.files.items()), reverse=True)
        longest = ", ".join(f"{name} {took:.0f}" for took, name in files[:FILES_SHOWN])
        print(f"\nLongest files, in seconds: {longest}")
        last = max(self.ended.values(), default=0.0)
        idle = ", ".join(f"{name} {last - at:.0f}" for name, at in sorted(self.ended.items()))
        print(f"Idle at the end, in seconds: {idle or 'none'}")


def main(args: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests", allow_abbrev=False)
    parser.add_argument("--all", action="store_true", help="both servers, long tests, ten times the examples")
    parser.add_argument("--sixth", metavar="TEXT", nargs="?", const=f"{random.getrandbits(32):08x}")
    parser.add_argument(
        "--load", metavar="N", type=int, default=0, help="so many busy loops beside the tests"
    )
    options, rest = parser.parse_known_args(args)
    if options.all:
        os.environ["RAGFORGE_TEST_ALL"] = "1"
    if options.sixth is not None:
        os.environ["RAGFORGE_TEST_SIXTH"] = options.sixth
        print(f"A random sixth of the tests, picked by --sixth {options.sixth}", flush=True)
    began = time.monotonic()
    with _in_memory(), _beside(options.load):
        code, again = _run(rest)
    took_s, used_s = time.monotonic() - began, _processor_s()
    took = f"{took_s // 60:.0f}:{took_s % 60:02.0f} min, {used_s:.0f} s of processor time"
    print(f"\n{took}; run a second time: {again or 'none'}", flush=True)
    return code


def _run(args: list[str]) -> tuple[int, int]:
    """The exit code, and how many tests had a second chance."""
    failed, durations = Failed(), Durations()
    code = pytest.main([*AT_ONCE, *args], plugins=[failed, durations])
    durations.show()
    again = list(failed.tests)
    if code != pytest.ExitCode.TESTS_FAILED or failed.others or not 0 < len(again) <= AGAIN_MAX:
        return int(code), 0
    print(f"\nOnce more, alone, what failed: {len(again)}\n", flush=True)
    # A process of its own: the first one's servers have ended, and what its tests left behind with it.
    code = subprocess.run([sys.executable, "-m", "pytest", *ALONE, *again], check=False).returncode
    if code == 0:
        print("\nFailed beside the others and passed alone, so each is a race that somebody has to find:")
        print(*again, sep="\n", flush=True)
    return code, len(again)


@contextmanager
def _in_memory() -> Generator[None]:
    """What tests write goes to memory where there is room for it: a third of their time went into waiting for
    the disk, which acknowledges each word that the program is to keep."""
    if not MEMORY_DISK.is_dir() or shutil.disk_usage(MEMORY_DISK).free < ROOM_BYTES_MIN:
        yield
        return
    with tempfile.TemporaryDirectory(
        prefix="ragforge-", dir=MEMORY_DISK, ignore_cleanup_errors=True
    ) as folder:
        # As /tmp is, for tests that act as a user with fewer rights.
        Path(folder).chmod(0o1777)
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        yield


@contextmanager
def _beside(loops: int) -> Generator[None]:
    """Keep the processors busy meanwhile, as other people's work would."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def _processor_s() -> float:
    """Of this process and all that it started and that has ended."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in used)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
