"""What the version tree costs, compared with the least that the same work takes.

    python benchmarks/history.py [--only scan|version|restore|log]

Everything is done in a temporary folder. A part is a module in `parts`, which says what it measures. Exits
with 1 if a part takes longer than it may.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from parts import log_opening, restoring, scanning, versioning

PARTS: Mapping[str, ModuleType] = {
    "scan": scanning,
    "version": versioning,
    "restore": restoring,
    "log": log_opening,
}


async def main() -> bool:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=tuple(PARTS), help="one part; without it, all of them")
    chosen = parser.parse_args()
    is_within = True
    for name, part in PARTS.items():
        if chosen.only in (None, name):
            with tempfile.TemporaryDirectory() as folder:
                took = await part.measure(Path(folder))
            is_within &= part.print_table(took)
            print(flush=True)
    return is_within


if __name__ == "__main__":
    sys.exit(0 if asyncio.run(main()) else 1)
