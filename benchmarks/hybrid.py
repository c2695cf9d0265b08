"""What a search by words and meaning costs compared with its parts, in one project of many turns.

    python benchmarks/hybrid.py [--turns 100000] [--dimensions 256 3072] [--repeats 5] [--keep FOLDER]

Mixed questions: words of the history, and a vector near a stored one. For each question, one after the other,
the whole search, its own full-text part, and one exact scan of all vectors, kept as one matrix. The ratio of
a repeat is that of the whole search to the sum of the two parts (to the scan alone from 3,072 dimensions on),
each at its 95th percentile; printed are the least and the median of all repeats.

Memory is that of a process that opens the store and searches, minus that of one that only imports the same.
"""

import os

# Before NumPy is imported: with a thread per core, a product waits for the slowest.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import asyncio
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from seed import project_id, seeded, turn_id, words_of

from ragforge.domain.search import Query
from ragforge.domain.usage import Usage
from ragforge.domain.vectors import Embedding, Owner, OwnerKind, Vector
from ragforge.memory.recall.search import DEPTH_MIN, Recall, search
from ragforge.store.base import Store
from ragforge.store.open import open_store

QUESTIONS = 50
CENTRES = 500
SPREAD = 0.9
"""The distance of vectors from their centres: what is embedded comes in topics."""
SAVED = 1_000
WIDE = 3_072
MODEL = "measured"
Matrix = NDArray[np.float32]


@dataclass(slots=True)
class Given:
    """An embedder with given vectors: what is measured is the search."""

    dimensions: int
    vectors: dict[str, Vector] = field(default_factory=dict[str, Vector])
    name: str = MODEL
    remote: bool = False
    usage: Usage = field(default_factory=Usage)

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return [self.vectors[text] for text in texts]

    async def embed_query(self, text: str) -> Vector:
        return self.vectors[text]

    async def prepare(self) -> None:
        """Nothing is slow to load."""

    async def close(self) -> None:
        """There is nothing to release."""


def matrix_of(turns: int, dimensions: int) -> Matrix:
    """Return a vector of length 1 for each turn; the same numbers give the same vectors."""
    chance = np.random.default_rng(dimensions)
    centres = chance.standard_normal((CENTRES, dimensions), np.float32)
    made = np.empty((turns, dimensions), np.float32)
    for start in range(0, turns, 10_000):
        part = made[start : start + 10_000]
        part[:] = centres[chance.integers(0, CENTRES, len(part))]
        part += SPREAD * chance.standard_normal(part.shape, np.float32)
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    return made


def questions_of(matrix: Matrix, embedder: Given) -> list[str]:
    """Return texts of two to six words of the history, each with a vector near a stored one."""
    words, chance = words_of(random.Random(1)), np.random.default_rng(1)
    for row in chance.integers(0, len(matrix), QUESTIONS):
        near = matrix[row] + 0.5 * chance.standard_normal(embedder.dimensions).astype(np.float32) / np.sqrt(
            embedder.dimensions
        )
        embedder.vectors[words.piece(2, 6)] = array("f", (near / np.linalg.norm(near)).astype("f").tobytes())
    return list(embedder.vectors)


async def made(path: Path, matrix: Matrix) -> None:
    """Seed a store with its vectors; what exists at the path is complete."""
    growing = path.with_name("growing.db")
    path.parent.mkdir(parents=True, exist_ok=True)
    growing.unlink(missing_ok=True)
    seeded(growing, turns=len(matrix), projects=1)
    began = time.perf_counter()
    await filled(growing, matrix)
    print(f"{(time.perf_counter() - began) * 1000 / len(matrix):.2f} ms to store a vector", flush=True)
    growing.rename(path)


async def filled(path: Path, matrix: Matrix, model: str = MODEL) -> None:
    """Store the vectors of all turns, as the model's."""
    store = await open_store(f"sqlite://{path}", machine_dir=path.parent)
    await store.vectors.use(model, matrix.shape[1])
    for start in range(0, len(matrix), SAVED):
        await store.vectors.save(
            [
                Embedding(Owner(OwnerKind.TURN, turn_id(turn)), model, f"{turn:064x}", _vector(matrix[turn]))
                for turn in range(start, min(len(matrix), start + SAVED))
            ]
        )
    await store.close()


@dataclass(slots=True)
class Times:
    """Milliseconds of each question of one repeat."""

    whole: list[float] = field(default_factory=list[float])
    words: list[float] = field(default_factory=list[float])
    scan: list[float] = field(default_factory=list[float])

    def ratio(self, dimensions: int) -> float:
        """Return the ratio of the whole to the parts that it is compared with."""
        parts = (
            self.scan if dimensions >= WIDE else [a + b for a, b in zip(self.words, self.scan, strict=True)]
        )
        return percentile(self.whole, 95) / percentile(parts, 95)


async def repeat(recall: Recall, questions: Sequence[str], matrix: Matrix) -> Times:
    """Run each question on the whole and on its parts, alternately, none answered from the cache."""
    times = Times()
    for text in questions:
        query = Query(text, project_id=project_id(0))
        recall.cache.clear()
        began = time.perf_counter()
        await search(recall, query)
        searched = time.perf_counter()
        await recall.store.search.candidates(Query(text, project_id=project_id(0), limit=DEPTH_MIN))
        read = time.perf_counter()
        vector = await recall.embedder.embed_query(text) if recall.embedder else None
        assert vector is not None
        near = matrix @ np.frombuffer(vector, np.float32)
        np.argpartition(near, -DEPTH_MIN)[-DEPTH_MIN:]
        scanned = time.perf_counter()
        times.whole.append((searched - began) * 1000)
        times.words.append((read - searched) * 1000)
        times.scan.append((scanned - read) * 1000)
    return times


async def measure(path: Path, matrix: Matrix, repeats: int) -> None:
    """Print the times and the ratios."""
    dimensions = matrix.shape[1]
    embedder = Given(dimensions)
    questions = questions_of(matrix, embedder)
    store: Store = await open_store(f"sqlite://{path}", machine_dir=path.parent)
    recall = Recall(store, embedder)
    began = time.perf_counter()
    await search(recall, Query(questions[0], project_id=project_id(0)))
    first_ms = (time.perf_counter() - began) * 1000
    runs = [await repeat(recall, questions, matrix) for _ in range(repeats)]
    await store.close()
    for name in ("whole", "words", "scan"):
        every = [ms for run in runs for ms in getattr(run, name)]
        print(f"{name:<8} p50 {percentile(every, 50):8.1f} ms   p95 {percentile(every, 95):8.1f} ms")
    ratios = [run.ratio(dimensions) for run in runs]
    against = "the scan" if dimensions >= WIDE else "words + scan"
    print(f"first    {first_ms:12.1f} ms, with the vectors read from the file")
    print(f"ratio to {against}: {min(ratios):.2f} at least, {statistics.median(ratios):.2f} in the median")
    bare, searching = peak_mb(), peak_mb(path, dimensions)
    print(f"memory   {searching:.0f} MB, {searching - bare:.0f} MB above the bare process\n", flush=True)


def peak_mb(path: Path | None = None, dimensions: int = 0) -> float:
    """Return the maximum memory of a process that searches the store, or only imports what that needs."""
    args = ["--memory", str(path), "--dimensions", str(dimensions)] if path else ["--memory", ""]
    done = subprocess.run([sys.executable, __file__, *args], check=True, capture_output=True, text=True)
    return float(done.stdout)


def own_peak_mb() -> float:
    """Return the maximum memory of this process; on Linux, getrusage returns the parent's if that is more."""
    if sys.platform == "linux":
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1e3 for line in lines if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


async def search_some(path: Path, dimensions: int) -> None:
    """Search in the process whose memory is measured."""
    embedder = Given(dimensions)
    questions = questions_of(matrix_of(64, dimensions), embedder)
    store = await open_store(f"sqlite://{path}", machine_dir=path.parent)
    for text in questions:
        await search(Recall(store, embedder), Query(text, project_id=project_id(0)))
    await store.close()


def percentile(values: Sequence[float], share: int) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * share // 100)]


def _vector(row: Matrix) -> Vector:
    return array("f", row.tobytes())


async def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=100_000)
    parser.add_argument("--dimensions", type=int, nargs="+", default=[256])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--keep", metavar="FOLDER", help="keep the stores there and use them again")
    parser.add_argument("--memory", metavar="PATH", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.memory is not None:
        if chosen.memory:
            await search_some(Path(chosen.memory), chosen.dimensions[0])
        print(own_peak_mb())
        return
    for dimensions in chosen.dimensions:
        matrix = matrix_of(chosen.turns, dimensions)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(chosen.keep or folder) / f"{chosen.turns}x{dimensions}" / "store.db"
            print(f"{chosen.turns} turns x {dimensions}")
            if not path.exists():
                await made(path, matrix)
            await measure(path, matrix, chosen.repeats)


if __name__ == "__main__":
    asyncio.run(main())
