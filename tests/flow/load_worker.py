"""A process that forks one after the other, each of which works off what there is until it is killed or done.

A child for each line on stdin. On stdout: `pid PID`, then `dead PID STATUS`; forking saves each the imports.
"""

import asyncio
import importlib
import os
import sys
from pathlib import Path

from msgspec.structs import replace

from ragforge.memory.derive.levels import due
from ragforge.session.state import Session
from tests.flow.beside import QUICK, all_embedded, beside

FOLDER = Path(sys.argv[1])
# A failure is soon tried again, and whoever was killed is soon followed.
TIMING = replace(QUICK, patience_s=60.0, lease_s=1.0, call_s_max=10.0)


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


async def nothing_is_left(session: Session) -> bool:
    store, limits = session.workspace.store, session.workspace.settings.memory
    if await store.summaries.lacking(limit=1) or await store.summaries.outdated(limit=1):
        return False
    rows = await store.sessions.recent()
    return not any([await due(store, row.session.id, limits) for row in rows]) and await all_embedded(session)


async def work() -> None:
    async with beside(FOLDER, dict(os.environ), timing=TIMING) as session:
        while not await nothing_is_left(session):
            await asyncio.sleep(0.2)


def main() -> None:
    # Before the first fork, so that no child has to.
    importlib.import_module("httpx2")
    importlib.import_module("numpy")
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            asyncio.run(work())
            os._exit(0)
        say(f"pid {child}")
        _, status = os.waitpid(child, 0)
        say(f"dead {child} {status}")


if __name__ == "__main__":
    main()
