"""Classify a clause of a message by its words, with a small linear model that `make train` trains.

Its weights are in files beside this one: integers from -127 to 127 with a scale for each class, a row for
each bucket of hashed feature names, followed by one row for each number of the clause's vector. They are
loaded with the first message that is classified, in the thread that classifies it.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct

from ragforge.domain.blas import load_numpy
from ragforge.domain.memories import MemoryType
from ragforge.embedders.static import StaticEmbedder
from ragforge.memory.clause_features import BUCKETS, features_of, hashed
from ragforge.memory.clauses import Clause

WEIGHTS = Path(__file__).with_name("classifier.npz")
CLASSES: tuple[MemoryType | None, ...] = (None, *MemoryType)
"""In the order of the weights' columns; None for what is not to be stored."""
VECTOR_WEIGHT = 2.0
ROWS = BUCKETS + 256


class Guess(Struct, frozen=True):
    """The classifier's result for a clause."""

    kept: float
    """The probability that the clause is to be stored, whatever its type."""
    types: Mapping[MemoryType, float]
    """The probability of each type that is possible for a stored clause; they add up to 1."""


def guesses(clauses: Sequence[Clause], before: str = "") -> list[Guess]:
    """Return one guess for each clause of a message.

    before: what the assistant said just before.
    """
    if not clauses:
        return []
    model = _model()
    return [_guess(model.scores(*each)) for each in model_input(clauses, before, model.common)]


def rated(features: Mapping[str, float]) -> float:
    """Return how likely a statement with these features is to be stored, and of its type."""
    weights = _model().rating
    score = weights[""] + sum(weights.get(name, 0.0) * value for name, value in features.items())
    return 1 / (1 + math.exp(-score))


def model_input(
    clauses: Sequence[Clause], before: str, common: frozenset[str]
) -> list[tuple[list[int], list[float]]]:
    """Return for each clause the rows of the weights that count for it, and how much each counts."""
    vectors = StaticEmbedder().vectors([clause.words for clause in clauses])
    found: list[tuple[list[int], list[float]]] = []
    for features, vector in zip(features_of(clauses, before, common=common), vectors, strict=True):
        places, values = hashed(features)
        places += range(BUCKETS, ROWS)
        values += [VECTOR_WEIGHT * number for number in vector]
        found.append((places, values))
    return found


class _Model:
    def __init__(self, path: Path) -> None:
        load_numpy()
        import numpy as np

        with np.load(path) as file:
            self._weights: np.ndarray[Any, np.dtype[np.int8]] = file["weights"]
            self._scales: list[float] = file["scales"].tolist()
            self.common = frozenset(str(file["common"]).split())
            names: list[str] = str(file["rating_names"]).split("\n")
            self.rating: dict[str, float] = dict(zip(names, file["rating"].tolist(), strict=True))

    def scores(self, places: Sequence[int], values: Sequence[float]) -> list[float]:
        import numpy as np

        sums = np.asarray(values, dtype=np.float32) @ self._weights[places].astype(np.float32)
        return [float(sum) * scale for sum, scale in zip(sums, self._scales, strict=True)]


@cache
def _model() -> _Model:
    return _Model(WEIGHTS)


def _guess(scores: Sequence[float]) -> Guess:
    top = max(scores)
    likely = [math.exp(score - top) for score in scores]
    total = sum(likely)
    return guess_of([each / total for each in likely])


def guess_of(shares: Sequence[float]) -> Guess:
    """Return the same by the probability of each class."""
    kept = sum(shares[1:])
    return Guess(kept, {type: share / kept for type, share in zip(MemoryType, shares[1:], strict=True)})
