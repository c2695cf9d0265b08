"""What hints after a turn cost: the time until they are available, and the longest piece of the event loop.

    python benchmarks/hints.py [MEMORIES]

A project with 50,000 of 100,000 memories, the newest 1,000 of which are considered, and an answer of 40
sentences. The first turn of a run computes the vectors of all considered memories, later ones only those of
what was said.
"""

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

from context import longest_piece
from memories import MEMORIES_COUNT, START, fill

from ragforge.domain.hints import HintContext
from ragforge.memory.hints import ProactiveHintEngine
from ragforge.store.local.state import open_local_state
from ragforge.store.open import open_store

TURNS = 50
SENTENCES = 40
GOAL_MS = 5.0


def context_of(turn: int) -> HintContext:
    """Return a turn about modules, with sentences of its own."""
    sentences = (f"Module {turn} calls function {number} of the parser." for number in range(SENTENCES))
    answer = " ".join(sentences)
    asked = f"What does module {turn} depend on?"
    return HintContext("p0", "s", asked, "local", (asked, answer, asked, answer), START)


async def measure(folder: Path, count: int) -> None:
    """Print the times of the first turn and of later ones."""
    path = folder / "store.db"
    store = await open_store(f"sqlite://{path}", machine_dir=folder)
    local = await open_local_state(folder)
    await fill(store, path, count)
    engine = ProactiveHintEngine(store.memories.find, local.hints.histories)
    took: list[float] = []
    pieces: list[float] = []
    for turn in range(TURNS + 1):
        began = time.perf_counter()
        pieces.append(await longest_piece(lambda turn=turn: engine.generate_hints("", context_of(turn))))
        took.append((time.perf_counter() - began) * 1000)
    first, later = took[0], sorted(took[1:])
    print(f"the first turn {first:.0f} ms, its longest piece of the event loop {pieces[0]:.1f} ms")
    print(f"later turns p50 {later[len(later) // 2]:.0f} ms, p95 {later[int(len(later) * 0.95)]:.0f} ms")
    print(f"their longest piece of the event loop {max(pieces[1:]):.1f} ms (goal {GOAL_MS:.0f} ms)")
    await store.close()
    await local.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("memories", type=int, nargs="?", default=MEMORIES_COUNT)
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(measure(Path(name), parser.parse_args().memories))
