"""Print how often a turn is marked as otherwise than foreseen, and how often that is right.

python -m tests.foresight           the hundred turns that the rule was fitted to
python -m tests.foresight FILE      any turns of that form (see measure.py), such as held_out.jsonl beside it
python -m tests.foresight --lines   what the block before the next message says of them
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from typing import Any

from tests.foresight.lines import lines_before
from tests.foresight.measure import TURNS, measure, read_turns

ABOUT = "How often the mark is right."


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.foresight", description=ABOUT)
    parser.add_argument("file", nargs="?", type=Path, default=TURNS, help="turns")
    parser.add_argument("--lines", action="store_true", help="lines of the block in place of marks")
    given = parser.parse_args()
    try:
        items = read_turns(given.file)
        if given.lines:
            return print_lines(items)
        report = measure(items)
    except (OSError, ValueError, KeyError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print("\n".join(report.lines()))
    for mark, told in (("+", report.right), ("-", report.wrong), ("?", report.missed)):
        for each in told:
            print(f"{mark} {each}")
    return 0


def print_lines(items: list[dict[str, Any]]) -> int:
    lines = asyncio.run(lines_before(items))
    told = [
        (before, after, line)
        for before, after, line in zip(items, items[1:], lines[1:], strict=False)
        if line
    ]
    for before, after, line in told:
        print(f"{'+' if before['deserves'] else '-'} {after['said']!r}: {line}")
    right = sum(before["deserves"] for before, *_ in told)
    print(f"{len(told)} lines before {len(items)} messages, {right} of them after a turn that deserves it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
