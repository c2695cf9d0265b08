"""The weights by which similar problems are found, and their figures in files that they were not fitted to.

    python benchmarks/tried_fit.py [--embedder NAME]

Two logistic regressions on the tasks of `tasks*.jsonl` in this folder: whether two tasks are about one topic
(`KIN` of ragforge.memory.recall.similarity), and whether a task is similar to a query (`WEIGHTS`). For each
file they are fitted to the others, and its figures are printed as in `tried.py`; at the end the weights
fitted to all. The weight of a stored vector's cosine brings it to the spread of the included one.
--embedder: as for `tried.py`.
"""

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ragforge.domain.blas import load_numpy
from ragforge.embedders.base import Embedder
from ragforge.embedders.registry import open_embedder
from ragforge.embedders.static import StaticEmbedder
from ragforge.memory.recall import similarity
from ragforge.memory.recall.similarity import Weights, measured_by, similar_min

load_numpy()

import numpy as np  # noqa: E402  one thread, so that the same files give the same weights
from tried import cosines_of, problems_of, read, report  # noqa: E402

FILES = sorted(Path(__file__).parent.glob("tasks*.jsonl"))
ROUNDS = 40
DECAY = 3.0
FEW = 20
"""The percentile of how alike another matter is, used in its place if few are compared."""

Floats = np.ndarray[Any, np.dtype[np.float64]]


class TaskFile:
    """A file with what does not depend on weights."""

    def __init__(self, path: Path, embedder: Embedder) -> None:
        self.name = path.stem
        self.tasks, self.queries = read(path)
        self.problems = problems_of(self.tasks)
        self.stored = asyncio.run(cosines_of(self.problems, self.queries, embedder))
        topics = np.array([each["topic"] for each in self.tasks])
        upper = np.triu_indices(len(topics), 1)
        signs = similarity.kinship_signs(similarity.alike(self.problems), self.problems)
        self.pairs = np.stack([each[upper] for each in signs], axis=1)
        self.of_one_topic = (topics[:, None] == topics[None, :])[upper].astype(float)
        self.similar = np.array(
            [[task["task"] in query["similar"] for task in self.tasks] for query in self.queries]
        )

    def evidence(self, stored: float, kin: Sequence[float]) -> list[tuple[Floats, Floats]]:
        """Return the evidence of each query, and the probability of kin."""
        return [
            similarity.evidence(each["text"], self.problems, self.stored and self.stored[at], stored, kin)
            for at, each in enumerate(self.queries)
        ]


def fitted(rows: Floats, labels: Floats) -> list[float]:
    """Return the weights of the columns and the bias, by Newton's method, on columns of one spread."""
    mean, spread = rows.mean(axis=0), rows.std(axis=0)
    data = np.c_[(rows - mean) / spread, np.ones(len(rows))]
    decay = DECAY * np.diag([*np.ones(rows.shape[1]), 0])
    found: Floats = np.zeros(data.shape[1])
    for _ in range(ROUNDS):
        odds = 1 / (1 + np.exp(-data @ found))
        slope = data.T @ (odds - labels) + decay @ found
        bend: Floats = data.T @ (data * (odds * (1 - odds))[:, None]) + decay
        step: Floats = np.linalg.solve(bend, slope)  # pyright: ignore
        found = found - step
    weights: Floats = found[:-1] / spread
    return [*weights.tolist(), float(found[-1] - mean @ weights)]


def weights_of(files: Sequence[TaskFile], stored: float, least: float) -> tuple[list[float], Weights]:
    """Return the weights of kinship and of similarity."""
    kin = fitted(
        np.concatenate([each.pairs for each in files]), np.concatenate([each.of_one_topic for each in files])
    )
    evidence = [each for file in files for each in file.evidence(stored, kin)]
    similar = np.concatenate([each.similar.ravel() for each in files]).astype(float)
    rows = np.concatenate([each for each, _ in evidence])
    other_min = round(float(np.percentile(rows[:, 2], FEW)), 2)
    rows[:, 2] = np.maximum(rows[:, 2], other_min)
    first = fitted(rows, similar)
    probable = similarity.logistic(rows, first)
    ends = np.cumsum([len(each) for each, _ in evidence])[:-1]
    rows[:, 1] = np.concatenate(
        [
            similarity.probable_kin(each, kinship)
            for each, (_, kinship) in zip(np.split(probable, ends), evidence, strict=True)
        ]
    )
    return kin, Weights(least, stored, other_min, _rounded(first), _rounded(fitted(rows, similar)))


def _rounded(weights: Sequence[float]) -> tuple[float, ...]:
    return tuple(round(each, 2) for each in weights)


def spread_of(files: Sequence[TaskFile]) -> float:
    """Return the weight that brings stored cosines to the spread of the others; 0 without stored ones."""
    if files[0].stored is None:
        return 0.0
    included = np.concatenate([rows[:, 0] for each in files for rows, _ in each.evidence(0, similarity.KIN)])
    return round(
        float(included.std() / np.concatenate([np.ravel(each.stored or []) for each in files]).std()), 2
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--embedder", default=StaticEmbedder.name.partition(":")[0], metavar="NAME")
    name = parser.parse_args().embedder
    embedder = open_embedder(name, find_key=lambda _: None, endpoints={}, environ={})
    files = [TaskFile(each, embedder) for each in FILES]
    stored, least = spread_of(files), similar_min(measured_by(embedder.name))
    for left in files:
        kin, weights = weights_of([each for each in files if each is not left], stored, least)
        table = [similarity.probability(*each, weights).tolist() for each in left.evidence(stored, kin)]
        print(f"{left.name:16} {report(left.tasks, left.queries, table, least)}")
    kin, weights = weights_of(files, stored, least)
    print("KIN =", tuple(round(each, 2) for each in kin))
    print(f"{embedder.name}: {weights}")


if __name__ == "__main__":
    main()
