"""Softmax regression over sparse features and a vector for each row, and logistic regression over a few named
features, with NumPy alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Ints = NDArray[np.int64]
TINY = 1e-30
"""In place of a sum of probabilities that came out as 0."""
NEWTON_STEPS = 12
FIGURES = 3
"""So many figures behind the point of a logistic regression's weights are kept."""


@dataclass(frozen=True)
class Rows:
    """Rows of features: the places and values of row i are those from `starts[i]` to `starts[i + 1]`."""

    places: Ints
    values: Floats
    starts: Ints
    vectors: Floats
    """What every row has, of shape (rows, dimensions)."""

    def __len__(self) -> int:
        return len(self.vectors)


def rows_of(each: Sequence[tuple[Sequence[int], Sequence[float]]], *, buckets: int) -> Rows:
    """The rows. The values of each whose places are `buckets` and above are its vector, and stand last, in
    order; each has others too."""
    sizes = [sum(place < buckets for place in places) for places, _ in each]
    places = np.concatenate(
        [np.asarray(places[:size], dtype=np.int64) for (places, _), size in zip(each, sizes, strict=True)]
    )
    values = np.concatenate(
        [np.asarray(values[:size], dtype=np.float32) for (_, values), size in zip(each, sizes, strict=True)]
    )
    vectors = [values[size:] for (_, values), size in zip(each, sizes, strict=True)]
    return Rows(places, values, np.cumsum([0, *sizes]), np.asarray(vectors, dtype=np.float32))


def shares(rows: Rows, weights: Floats) -> Floats:
    """The probability of each class for each row."""
    return _shares(rows, np.ascontiguousarray(weights.T)).T


def _shares(rows: Rows, by_class: Floats) -> Floats:
    """The same of shape (classes, rows): NumPy adds up many short runs much faster one class at a time."""
    buckets = by_class.shape[1] - rows.vectors.shape[1]
    raw = by_class[:, buckets:] @ rows.vectors.T
    for at, weights in enumerate(by_class):
        raw[at] += np.add.reduceat(weights.take(rows.places) * rows.values, rows.starts[:-1])
    raw = np.exp(raw - raw.max(axis=0))
    return raw / raw.sum(axis=0)


def fit(
    rows: Rows,
    right: Floats,
    importance: Floats,
    *,
    buckets: int,
    decay: float,
    rounds: int = 150,
) -> Floats:
    """Weights of shape (buckets + dimensions, classes): full-batch Adam, so that the same data gives the same
    weights.

    right: 1 for each class that is right for a row, of shape (rows, classes). Where several are, their
    probabilities are added up.
    """
    classes = right.shape[1]
    width = buckets + rows.vectors.shape[1]
    weights = np.zeros((classes, width), dtype=np.float32)
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    order = np.argsort(rows.places, kind="stable")
    used, begins = np.unique(rows.places[order], return_index=True)
    row_of = np.repeat(np.arange(len(rows)), np.diff(rows.starts))[order]
    values = rows.values[order]
    right = np.ascontiguousarray(right.T)
    per_row = importance / importance.sum()
    for round in range(1, rounds + 1):
        found = _shares(rows, weights)
        wanted = found * right
        error = (found - wanted / np.maximum(wanted.sum(axis=0), TINY)) * per_row
        slope = decay * weights
        for each, of_class in zip(slope, error, strict=True):
            each[used] += np.add.reduceat(of_class.take(row_of) * values, begins)
        slope[:, buckets:] += error @ rows.vectors
        mean += 0.1 * (slope - mean)
        square += 0.01 * (slope * slope - square)
        step = 0.15 * (1 - round / (rounds + 1))
        weights -= step * (mean / (1 - 0.9**round)) / (np.sqrt(square / (1 - 0.99**round)) + 1e-8)
    return np.ascontiguousarray(weights.T)


def logistic(
    rows: Sequence[Mapping[str, float]], wanted: Sequence[bool], *, decay: float, positive: float = 1.0
) -> dict[str, float]:
    """Weights of a logistic regression by name, by Newton's method; `""` is the constant.

    positive: how much more the wanted rows count.
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    raw = np.array([[row.get(name, 0.0) for name in names] for row in rows], dtype=np.float64)
    right = np.array(wanted, dtype=np.float64)
    mean: Doubles = raw.mean(0)
    spread: Doubles = raw.std(0) + 1e-6
    scaled: Doubles = np.c_[(raw - mean) / spread, np.ones(len(raw))]
    counts = np.where(right == 1, positive, 1.0)
    decays: Doubles = np.r_[np.full(len(names), decay), 1e-6]
    weights: Doubles = np.zeros(len(names) + 1)
    for _ in range(NEWTON_STEPS):
        share: Doubles = 1 / (1 + np.exp(-np.clip(scaled @ weights, -30, 30)))
        slope: Doubles = scaled.T @ (counts * (share - right)) + decays * weights
        curve: Doubles = (scaled * (counts * share * (1 - share))[:, None]).T @ scaled + np.diag(decays)
        weights -= np.linalg.solve(curve, slope)
    plain: list[float] = (weights[:-1] / spread).tolist()
    constant = float(weights[-1]) - sum(
        weight * each for weight, each in zip(plain, mean.tolist(), strict=True)
    )
    found = dict(zip(names, plain, strict=True)) | {"": constant}
    return {name: round(value, FIGURES) for name, value in found.items()}
