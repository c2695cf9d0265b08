"""Kills, faults of system calls and a long session, for as long as there is time: `python -m tests.soak`.

Each run adds to the sums of the runs before. docs/testing.md says what is tried and what must hold.
"""

import argparse
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.faults.children import children
from tests.faults.shim import why_no_shim
from tests.faults.test_restore_killed import AFTER, BEFORE
from tests.soak.faults import fault_moves, fault_turns
from tests.soak.kills import Enough, kill_moves, kill_programs, kill_restores, kill_turns
from tests.soak.sums import Sums, open_sums

PARTS = ("turns", "restores", "moves", "kills", "programs", "faults")
TURNS = 2_000
ROOM = Path("/dev/shm")
"""In memory, where there is room: a disk's syncs would be most of the time."""


def limit(minutes: float, count: int) -> Enough:
    """Whether the time is over, or so much was done."""
    end, left = time.monotonic() + minutes * 60, iter(range(count))
    return lambda: time.monotonic() > end or next(left, None) is None


def run(part: str, base: Path, sums: Sums, options: argparse.Namespace, minutes: float) -> None:
    chance, enough = random.Random(options.seed), limit(minutes, options.count)
    base.mkdir()
    if part == "turns":
        run_turns(base, options)
        return
    if reason := why_no_shim():
        print(f"{part}: not run, because {reason}")
        return
    with children(base) as forked:
        match part:
            case "restores":
                kill_restores(forked, base / "restores", sums, chance, enough, BEFORE, AFTER)
            case "moves":
                kill_moves(forked, base, sums, chance, enough)
            case "kills":
                kill_turns(forked, base, sums, chance, enough)
            case "programs":
                kill_programs(forked, base, sums, enough)
            case "faults":
                fault_turns(forked, base, sums, limit(minutes / 2, options.count // 2))
                fault_moves(forked, base, sums, limit(minutes / 2, options.count // 2))
    sums.save()


def run_turns(base: Path, options: argparse.Namespace) -> None:
    """In a process of its own, so that only the turns are measured."""
    if not Path("/proc/self/status").exists():
        print("turns: not run, because memory is measured on Linux only")
        return
    traced = "traced" if options.traced else "untraced"
    command = [sys.executable, "-m", "tests.soak.turns", str(base), str(options.turns), traced]
    subprocess.run(command, check=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all without one")
    parser.add_argument("--minutes", type=float, default=8.0, help="for all parts but turns together")
    parser.add_argument("--count", type=int, default=10**9, help="at most so many trials a part")
    parser.add_argument("--turns", type=int, default=TURNS, help="of the long session")
    parser.add_argument(
        "--traced", action="store_true", help="trace Python's allocations, at a third of the speed"
    )
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    parts = options.parts or list(PARTS)
    if unknown := set(parts) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    sums = open_sums()
    base = Path(tempfile.mkdtemp(prefix="ragforge-soak-", dir=ROOM if ROOM.is_dir() else None))
    minutes = options.minutes / max(1, len([part for part in parts if part != "turns"]))
    try:
        for part in parts:
            run(part, base / part, sums, options, minutes)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    print(f"\nSums of all runs, kept in {sums.path}:")
    for what, tally in sorted(sums.tallies.items()):
        print(tally.sentence(what))
    kills = [tally for what, tally in sums.tallies.items() if what.startswith("kills")]
    inside = sum(tally.inside for tally in kills)
    print(
        f"{sum(tally.tried for tally in kills):,} kills, {inside:,} of them after the first step of a restore"
    )
    return int(any(tally.lost for tally in sums.tallies.values()))


if __name__ == "__main__":
    sys.exit(main())
