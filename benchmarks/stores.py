"""What the stores take for the same work, compared in one run: `--only carry|nearest|copy|open|search`.

    python benchmarks/stores.py [--only PART | --turns N] [bolt://HOST:PORT ...]

With `--turns N` alone: what saving, searching, resuming and lists take in a history of this many turns.

Each address must be a Neo4j database that may be filled and emptied: it is refused unless it is empty. The
store in SQLite is measured in a temporary folder. A part is a module in `parts`.
"""

import argparse
import asyncio
from collections.abc import Mapping
from types import ModuleType

from parts import carry, copying, nearest, opening, searching, size

PARTS: Mapping[str, ModuleType] = {
    "carry": carry,
    "nearest": nearest,
    "copy": copying,
    "open": opening,
    "search": searching,
}


async def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=tuple(PARTS), help="one part; without it, all of them")
    parser.add_argument("--turns", type=int, help="how a history of so many turns answers, and nothing else")
    parser.add_argument("urls", nargs="*", metavar="bolt://HOST:PORT", help="empty Neo4j databases")
    chosen = parser.parse_args()
    if chosen.turns is not None:
        if chosen.turns < 1 or chosen.only:
            parser.error("--turns takes a number from 1, and no --only beside it")
        await size.measure(chosen.urls, chosen.turns)
        return
    for name, part in PARTS.items():
        if chosen.only in (None, name):
            print(part.HEADER, flush=True)
            await part.measure(chosen.urls)


if __name__ == "__main__":
    asyncio.run(main())
