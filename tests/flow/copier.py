"""A process that copies one store into another and says how far it is. Killed in the middle by tests."""

import asyncio
import sys
from pathlib import Path

from ragforge.store.blobs import SqliteBlobs
from ragforge.store.open import open_store
from ragforge.store.transfer import Progress, copy


async def main(source_url: str, target_url: str, machine_dir: Path) -> None:
    source, target = [await open_store(url, machine_dir=machine_dir) for url in (source_url, target_url)]

    def tell(progress: Progress) -> None:
        print(progress.stage, progress.done, flush=True)
        sys.stdin.readline()  # goes on when it is told to

    await copy(source, target, SqliteBlobs(machine_dir / "blobs.db"), machine_dir=machine_dir, tell=tell)


asyncio.run(main(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
