"""Print how often a turn is marked as otherwise than foreseen, and how often that is right.

python -m tests.foresight           the hundred turns that the rule was fitted to
python -m tests.foresight FILE      any turns of that form (see measure.py), such as held_out.jsonl beside it
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.foresight.measure import TURNS, measure, read_turns


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.foresight", description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path, default=TURNS, help="turns")
    given = parser.parse_args()
    try:
        report = measure(read_turns(given.file))
    except (OSError, ValueError, KeyError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print("\n".join(report.lines()))
    for mark, told in (("+", report.right), ("-", report.wrong), ("?", report.missed)):
        for each in told:
            print(f"{mark} {each}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
