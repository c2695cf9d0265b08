"""A process that gives turns new vectors without end, and says so on stdout each time they are stored."""

import asyncio
import os
import random
import sys
from array import array
from pathlib import Path

from ragforge.domain.vectors import Embedding, Owner, OwnerKind, Vector
from ragforge.store.open import open_store

AT_ONCE = 1_200
"""More than wait unsealed: each time, blocks are written."""
ENDED = 1_000


async def main(url: str, locks: Path, model: str, turns: int) -> None:
    store = await open_store(url, machine_dir=locks)
    chance = random.Random()
    for _ in range(ENDED):
        chosen = chance.sample(range(turns), AT_ONCE)
        await store.vectors.save(
            [
                Embedding(Owner(OwnerKind.TURN, f"{turn:04d}"), model, "0" * 64, a_vector(chance))
                for turn in chosen
            ]
        )
        os.write(1, b"saved\n")


def a_vector(chance: random.Random) -> Vector:
    return array("f", [chance.uniform(-1, 1) for _ in range(8)])


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])))
