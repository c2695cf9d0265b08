"""What statistics and similar problems cost compared with their basis, in processor time of one run.

    python benchmarks/tried_cost.py [--turns 100000]

`/stats` by each group compared with its bare query, the same SQL text read without a store (goal: 1.5 times),
and `find_similar` compared with one search by words and meaning for the same text (goal: 2 times). Each pair
is measured alternately; printed are the median of the ratios, then what `/stats` adds for the newest tasks.
"""

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
from hybrid import filled, matrix_of
from seed import project_id, seeded, words_of

from ragforge.domain.search import HitKind, Query
from ragforge.domain.usage import StatisticsGroup
from ragforge.embedders.static import StaticEmbedder
from ragforge.memory.recall.search import Recall, search
from ragforge.memory.similar import COMPARED_MAX, find_similar
from ragforge.memory.task_figures import measured_tasks
from ragforge.store.open import open_store
from ragforge.store.sqlite.usage import EVER, GROUPED_BY, STATISTICS

RUNS = 7
QUESTIONS = 30


async def paired(
    one: Callable[[], Awaitable[object]], other: Callable[[], Awaitable[object]], runs: int
) -> tuple[float, float, float]:
    """Return the median ratio of both, and the median milliseconds of each."""
    times: list[tuple[float, float]] = []
    for _ in range(runs):
        took: list[float] = []
        for work in (one, other):
            began = time.process_time()
            await work()
            took.append((time.process_time() - began) * 1000)
        times.append((took[0], took[1]))
    ratios = [first / max(0.001, second) for first, second in times]
    return (
        statistics.median(ratios),
        statistics.median(each[0] for each in times),
        statistics.median(each[1] for each in times),
    )


async def measure(path: Path) -> None:
    """Print a line per pair."""
    store = await open_store(f"sqlite://{path}", machine_dir=path.parent)
    bare = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    for group in StatisticsGroup:
        sql = STATISTICS.format(name=GROUPED_BY[group])
        scope = {"project": project_id(0), "person": None, "since": EVER, "offset": 0}

        async def query(sql: str = sql, scope: Any = scope) -> object:
            return await asyncio.to_thread(lambda: list(bare.execute(sql, scope)))  # pyright: ignore

        async def whole(group: StatisticsGroup = group) -> object:
            return await store.usage.statistics(group, project_id=project_id(0), offset=timedelta())

        ratio, ours, theirs = await paired(whole, query, RUNS)
        print(f"statistics by {group:<8} {ours:8.1f} ms, bare query {theirs:8.1f} ms, ratio {ratio:.2f}")
    words = words_of(random.Random(1))
    await asyncio.sleep(0)
    ratios: list[tuple[float, float, float]] = []
    for text in [words.piece(4, 12) for _ in range(QUESTIONS)]:

        async def similar(text: str = text) -> object:
            recall = Recall(store, StaticEmbedder())
            return await find_similar(recall, text, project_id=project_id(0), person="")

        async def found(text: str = text) -> object:
            query = Query(text, project_id(0), kinds=(HitKind.TURN,), limit=COMPARED_MAX)
            return await search(Recall(store, StaticEmbedder()), query)

        ratios.append(await paired(similar, found, 1))
    ratio, ours, theirs = (statistics.median(each[at] for each in ratios) for at in range(3))
    print(f"similar problems {ours:8.1f} ms, one search {theirs:8.1f} ms, ratio {ratio:.2f}")
    began = time.process_time()
    tasks = await measured_tasks(store, project_id(0), since=None)
    took_ms = (time.process_time() - began) * 1000
    print(f"how well {len(tasks)} newest tasks went: {took_ms:.1f} ms")
    await store.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=100_000)
    turns = parser.parse_args().turns
    with tempfile.TemporaryDirectory() as name:
        path = seeded(Path(name) / "seeded.db", turns=turns)
        asyncio.run(filled(path, matrix_of(turns, StaticEmbedder.dimensions), StaticEmbedder.name))
        asyncio.run(measure(path))


if __name__ == "__main__":
    main()
