"""Puts contents into a blob store, small and large, one transaction after the other, until it is killed."""

import asyncio
import random
import sys
from pathlib import Path

from ragforge.store.blobs import SqliteBlobs


async def main() -> None:
    chance = random.Random(int(sys.argv[2]))
    blobs = SqliteBlobs(Path(sys.argv[1]), store_url="sqlite:///x.db")
    while True:
        contents = [chance.randbytes(chance.choice((10, 5000, 1_500_000))) for _ in range(4)]
        print(*await blobs.put_many(contents), flush=True)
        if chance.random() < 0.3:
            await blobs.delete([(await blobs.put_many([contents[0]]))[0]])
            print("deleted", flush=True)


asyncio.run(main())
