"""Softmax regression over sparse features, with NumPy alone."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """Sparse rows: the places and values of row i are those from `starts[i]` to `starts[i + 1]`."""

    places: Ints
    values: Floats
    starts: Ints

    def __len__(self) -> int:
        return len(self.starts) - 1


def rows_of(each: Sequence[tuple[Sequence[int], Sequence[float]]]) -> Rows:
    """The rows; none may be empty."""
    starts = np.cumsum([0, *(len(places) for places, _ in each)])
    places = np.concatenate([np.asarray(places, dtype=np.int64) for places, _ in each])
    values = np.concatenate([np.asarray(values, dtype=np.float32) for _, values in each])
    return Rows(places, values, starts)


def scores(rows: Rows, weights: Floats) -> Floats:
    """The score of each class for each row."""
    return np.add.reduceat(weights[rows.places] * rows.values[:, None], rows.starts[:-1], axis=0)


def shares(rows: Rows, weights: Floats) -> Floats:
    """The probability of each class for each row."""
    raw = scores(rows, weights)
    raw = np.exp(raw - raw.max(axis=1, keepdims=True))
    return raw / raw.sum(axis=1, keepdims=True)


def fit(
    rows: Rows,
    labels: Ints,
    importance: Floats,
    *,
    classes: int,
    buckets: int,
    decay: float,
    rounds: int = 150,
) -> Floats:
    """Weights of shape (buckets, classes): full-batch Adam, so that the same data gives the same weights."""
    weights = np.zeros((buckets, classes), dtype=np.float32)
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    order = np.argsort(rows.places, kind="stable")
    used, begins = np.unique(rows.places[order], return_index=True)
    row_of = np.repeat(np.arange(len(rows)), np.diff(rows.starts))[order]
    values = rows.values[order][:, None]
    wanted = np.eye(classes, dtype=np.float32)[labels]
    total = importance.sum()
    for round in range(1, rounds + 1):
        error = (shares(rows, weights) - wanted) * importance[:, None] / total
        slope = np.add.reduceat(error[row_of] * values, begins, axis=0) + decay * weights[used]
        mean[used] = 0.9 * mean[used] + 0.1 * slope
        square[used] = 0.99 * square[used] + 0.01 * slope * slope
        step = 0.15 * (1 - round / (rounds + 1))
        weights[used] -= (
            step * (mean[used] / (1 - 0.9**round)) / (np.sqrt(square[used] / (1 - 0.99**round)) + 1e-8)
        )
    return weights
