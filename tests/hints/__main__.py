"""Print which hints are offered on a day of turns, and how many are worth giving.

python -m tests.hints           the day of this folder
python -m tests.hints FILE      any day of that form (see measure.py)
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from tests.hints.measure import DAY, measure, read_day


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.hints", description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path, default=DAY, help="a day of turns")
    given = parser.parse_args()
    try:
        report = asyncio.run(measure(read_day(given.file)))
    except (OSError, ValueError, KeyError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print("\n".join(report.lines()))
    for number, hints in report.with_hints.items():
        for hint, is_worth in hints:
            mark = "+" if is_worth else "-"
            print(f"{mark} turn {number:2} {hint.type:19} {hint.relevance_score:.2f} {hint.message}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
