"""Print how well rules that were said in passing are held against calls.

python -m tests.constraints FILE         annotated calls (see measure.py)
python -m tests.constraints --history    1,000 calls of this repository's history, with rules that were kept
python -m tests.constraints --speed      how long a call takes, at 200 rules and at as many as are held
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ragforge.session.constraints import CONSTRAINTS_MAX
from tests.constraints.history import measure_history
from tests.constraints.measure import measure, read_calls
from tests.constraints.speed import measure_speed


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.constraints", description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path, help="a file of annotated calls")
    parser.add_argument("--history", action="store_true", help="replay this repository's history")
    parser.add_argument("--speed", action="store_true", help="measure how long a call takes")
    given = parser.parse_args()
    try:
        if given.file:
            report = measure(read_calls(given.file))
            print("\n".join(report.lines()))
            print("\n".join(["", "false hits:", *report.false_hits, "", "not found:", *report.missed]))
        if given.history:
            print("\n".join(measure_history()))
        if given.speed:
            print("\n".join([*measure_speed(200), *measure_speed(CONSTRAINTS_MAX)]))
    except (OSError, ValueError, KeyError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
