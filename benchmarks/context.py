"""What the context block costs at 100,000 turns, compared with one hybrid search of the same question.

The search is compared with its two bare parts: an exact scan of the vectors of all turns, kept as one matrix,
and one FTS5 query for the words that the search keeps of the question. Meanwhile the event loop is measured:
its longest piece is the time that a typed key might wait. No language model is called.
--lessons: then the block of a project with this many lessons and without, alternately: minimum, median and
p95 of the milliseconds of processor time.
"""

import os

# Before NumPy is imported: with a thread per core, a product waits for the slowest.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import asyncio
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
from seed import START, project_id, seeded, session_id, turn_id, words_of

from ragforge.config.schema import MemorySettings, Settings
from ragforge.domain import timeouts
from ragforge.domain.derivations import Underived
from ragforge.domain.lessons import KIND, Lesson, LessonKind
from ragforge.domain.memories import MemorySource, MemoryType
from ragforge.domain.search import Query
from ragforge.domain.tasks import TaskOutcome
from ragforge.memory.derive.vectors import embed_owners
from ragforge.memory.memories import new_memory
from ragforge.memory.recall.gather import gather
from ragforge.memory.recall.lessons import LESSONS_MAX, read_lessons
from ragforge.memory.recall.request import Around, Injecting, InjectLimits, RecallRequest
from ragforge.memory.recall.search import DEPTH_MIN, Recall, search
from ragforge.session.recall_embedder import close_recall, open_recall
from ragforge.store.open import open_store
from ragforge.store.sqlite import words as fts5
from ragforge.store.sqlite.connection import connect
from ragforge.store.text import tokenizer

TURNS = 100_000
MEMORIES = 2_000
QUERIES = 100
RAW_TURNS = 6
TICK_S = 0.001
PATIENT_S = 60.0
"""Wait for what is late on a busy machine: a block without it would cost less."""


async def fill(recall: Recall, words: Callable[[], str]) -> None:
    """Memories of all kinds, and a vector for everything."""
    store, embedder = recall.store, recall.embedder
    assert embedder is not None
    kinds = list(MemoryType)
    for number in range(MEMORIES):
        memory = new_memory(
            words(), kinds[number % 8], project_id=project_id(0), at=START, source=MemorySource.BACKGROUND
        )
        await store.memories.save(memory)
    await store.vectors.use(embedder.name, embedder.dimensions)
    while owners := await store.vectors.lacking(embedder.name, limit=2_000):
        await embed_owners(store, embedder, owners)


class Parts:
    """The two parts of a search, as bare as they can be."""

    def __init__(self, path: Path) -> None:
        self._connection = connect(path, query_only=True)
        self._cut = tokenizer(self._connection)
        rows = [row[0] for row in self._connection.execute("SELECT vector FROM embedding WHERE level = 0")]
        self._matrix = np.frombuffer(b"".join(rows), np.float32).reshape(len(rows), -1).copy()

    def scan(self, vector: Sequence[float]) -> object:
        """Return the nearest of all, by comparing with each."""
        near = self._matrix @ np.asarray(vector, np.float32)
        return np.argpartition(near, -DEPTH_MIN)[-DEPTH_MIN:]

    def words(self, text: str) -> Callable[[], object]:
        """Return the query for the words that the search keeps of the text."""
        connection, query = self._connection, Query(text, project_id=project_id(0))
        scope = fts5._scope(connection, query)
        assert scope is not None
        kept = fts5._rarest(connection, scope, fts5.wanted_words(text, self._cut))
        match = fts5._expression(scope, kept)
        floor = fts5._floor(connection, match) if max(kept.values()) > fts5.ROWS_MAX else 0
        values = {"match": match, "floor": floor, "limit": DEPTH_MIN}
        return lambda: list(connection.execute(f"{fts5.RANKED} {fts5.BEST}", values))


def worked_ms(work: Callable[[], object]) -> float:
    """Return milliseconds of processor time."""
    used = time.process_time()
    work()
    return (time.process_time() - used) * 1000


async def longest_piece(work: Callable[[], Awaitable[object]]) -> float:
    """Return the milliseconds for which the event loop was blocked in one piece while the work ran."""
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        while True:
            # The processor time of this thread, not its waiting for a processor that others use too.
            began = time.thread_time()
            await asyncio.sleep(TICK_S)
            longest = max(longest, time.thread_time() - began)

    watching = asyncio.create_task(watch())
    await asyncio.sleep(0)
    await work()
    watching.cancel()
    with suppress(asyncio.CancelledError):
        await watching
    return longest * 1000


async def measure(path: Path, turns: int, queries: int) -> None:
    """Print the times of both, measured alternately, and the loop's longest piece."""
    timeouts.GATHER_S_MAX = PATIENT_S
    chance = random.Random(1)
    words = words_of(chance)
    store = await open_store(f"sqlite://{path}", machine_dir=path.parent)
    settings = Settings(store=store.url, memory=MemorySettings())
    recall = open_recall(store, settings, {})
    began = time.perf_counter()
    await fill(recall, lambda: words.piece(6, 20))
    print(f"{turns:,} turns and {MEMORIES:,} memories embedded in {time.perf_counter() - began:.0f} s")
    around = Around(project_id(0), session_id(0), turns=frozenset(turn_id(at) for at in range(RAW_TURNS)))
    times: dict[str, list[float]] = {"one hybrid search": [], "the context block": []}
    worked: dict[str, list[float]] = {name: [] for name in times}
    pieces, bare = list[float](), list[float]()
    # As in a session: what its blocks compare memories by is read once.
    injecting, parts = Injecting(), Parts(path)
    for _ in range(queries):
        text = words.piece(4, 12)
        assert recall.embedder is not None
        vector, query = await recall.embedder.embed_query(text), parts.words(text)
        bare.append(worked_ms(partial(parts.scan, vector)) + worked_ms(query))

        async def hybrid(text: str = text) -> object:
            # Another limit than the block's own search, so that neither is answered from the cache.
            return await search(recall, Query(text, project_id=project_id(0), limit=20))

        async def block(text: str = text) -> object:
            return await gather(recall, RecallRequest(text, around, 1_500, InjectLimits(), injecting))

        for name, work in (("one hybrid search", hybrid), ("the context block", block)):
            began, used = time.perf_counter(), time.process_time()
            await work()
            times[name].append((time.perf_counter() - began) * 1000)
            worked[name].append((time.process_time() - used) * 1000)
        pieces.append(await longest_piece(lambda text=text: block(f"{text} again")))
    _show(times, worked, pieces, bare)
    await close_recall(recall)
    await store.close()


async def tried_before(path: Path, queries: int, lessons: int) -> None:
    """Print what the block costs with this many lessons in its project, and in the same store without."""
    folder, words = path.parent / "lessons", words_of(random.Random(2))
    shutil.copytree(path.parent, folder, ignore=shutil.ignore_patterns(folder.name))
    recalls: dict[str, Recall] = {}
    for name, each in (("without lessons", path), (f"with {lessons} lessons", folder / path.name)):
        store = await open_store(f"sqlite://{each}", machine_dir=each.parent)
        recalls[name] = open_recall(store, Settings(store=store.url, memory=MemorySettings()), {})
    for number in range(lessons):
        source = Underived(turn_id(RAW_TURNS + 7 * number), project_id(0), START)
        lesson = Lesson(
            LessonKind.MISTAKE,
            words.piece(6, 20),
            TaskOutcome.CHECK_FAILED,
            words.piece(6, 20),
            START,
            words.piece(6, 12),
            files=(f"src/{number % 20}.py",),
            turns=(source.owner,),
            told_in=source.owner,
        )
        await store.derivations.save(KIND.record(source, lesson))
    around = Around(project_id(0), session_id(0), turns=frozenset(turn_id(at) for at in range(RAW_TURNS)))
    assert len(await read_lessons(store, project_id(0))) == min(lessons, LESSONS_MAX)
    injecting = {name: Injecting() for name in recalls}
    worked: dict[str, list[float]] = {name: [] for name in recalls}
    for _ in range(queries):
        for name, recall in recalls.items():
            # What texts are compared by is cached: another question finds others.
            text = words.piece(4, 12)
            used = time.process_time()
            await gather(recall, RecallRequest(text, around, 1_500, InjectLimits(), injecting[name]))
            worked[name].append((time.process_time() - used) * 1000)
    for name, values in worked.items():
        print(f"{name:<28} {min(values):8.1f} {statistics.median(values):8.1f} {_p95(values):8.1f}")
    for recall in recalls.values():
        await close_recall(recall)
        await recall.store.close()


def _show(
    times: dict[str, list[float]], worked: dict[str, list[float]], pieces: list[float], bare: list[float]
) -> None:
    """Print the milliseconds of each, and the ratios."""
    print(f"{'':<28} {'p50 ms':>8} {'p95 ms':>8} {'max ms':>8}")
    processor = {f"{name}, processor": values for name, values in worked.items()}
    processor["scan and words, processor"] = bare
    for name, values in (times | {"loop held by it": pieces} | processor).items():
        values.sort()
        print(f"{name:<28} {values[len(values) // 2]:8.1f} {_p95(values):8.1f} {values[-1]:8.1f}")
    for told, each in (("by the clock", times), ("of the processor", worked)):
        searched, built = each.values()
        ratios = statistics.median(built) / statistics.median(searched), _p95(built) / _p95(searched)
        print(f"block / search {told}: {ratios[0]:.2f} in the median, {ratios[1]:.2f} at p95")
    searched = worked["one hybrid search"]
    ratios = statistics.median(searched) / statistics.median(bare), _p95(searched) / _p95(bare)
    print(f"search / (scan + words) of the processor: {ratios[0]:.2f} in the median, {ratios[1]:.2f} at p95")


def _p95(values: list[float]) -> float:
    return sorted(values)[len(values) * 95 // 100]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--queries", type=int, default=QUERIES)
    parser.add_argument("--lessons", type=int, default=0, help=f"at most {LESSONS_MAX} are read")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = seeded(Path(folder) / "store.db", turns=chosen.turns)
        asyncio.run(measure(path, chosen.turns, chosen.queries))
        if chosen.lessons:
            asyncio.run(tried_before(path, chosen.queries, chosen.lessons))


if __name__ == "__main__":
    main()
