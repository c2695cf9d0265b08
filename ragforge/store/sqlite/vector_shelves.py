"""Many vectors in memory: whole, or as codes. Importing it loads NumPy."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragforge.domain.vectors import Vector
from ragforge.store.sqlite.vector_codes import WORDS, products_of, signs_of, turned, words_of

EXACT_ROWS_MAX = 1_000
"""In a scope of so many, codes propose all of them."""
LIKELY_MIN = 2_000
LIKELY_PER_HIT = 40
"""How many rows with the nearest codes per wanted one: among these the query itself chooses."""
PROPOSED_MIN = 500
PROPOSED_PER_HIT = 10
"""How many rows codes propose per wanted one; of texts, 99 in 100 of the nearest 100 are among them."""
FEWER_PER_HIT = 7
READ_CHEAPLY = 1 << 20
"""In floats. Of long vectors fewer are proposed: reading them takes longest."""
SPARSE = 4
"""A scope of less than a quarter is gathered before it is compared."""
MARGIN = 2e-5
"""More than the error of a sum of 4,096 rounded products; closer ties are compared exactly."""

SQUARE_MIN, SQUARE_MAX = 1e-20, 1e30
"""Squares of lengths between which no product of 32-bit floats under- or overflows."""


class Whole:
    """Every vector, at length 1."""

    def __init__(self, dimensions: int) -> None:
        self.vectors: NDArray[np.float32] = np.empty((0, dimensions), np.float32)

    def grow(self, size: int) -> None:
        """Make room for so many in all; do nothing if there is."""
        if size <= len(self.vectors):
            return
        grown = np.zeros((size, self.vectors.shape[1]), np.float32)
        grown[: len(self.vectors)] = self.vectors
        self.vectors = grown

    def put(self, places: list[int], vectors: NDArray[np.float32]) -> None:
        """Store these, which have length 1."""
        self.vectors[places] = vectors

    def proposed(self, vector: Vector, rows: NDArray[np.int64], limit: int) -> NDArray[np.int64]:
        """Return the rows that may be among the nearest, of which `limit` are wanted."""
        asked = units(np.frombuffer(vector, np.float32)[np.newaxis])[0]
        # Row by row: a product with the whole matrix would wake a thread per core, and wait for the slowest.
        if rows.size * SPARSE < len(self.vectors):
            near = np.vecdot(self.vectors[rows], asked)
        else:
            near = np.vecdot(self.vectors, asked)[rows]
        return rows[near >= nth_best(near, min(limit, rows.size)) - MARGIN]


class Coded:
    """The code of every vector, word by word: the first of all codes, then the second of all ..."""

    def __init__(self, dimensions: int) -> None:
        self._cheap = READ_CHEAPLY // dimensions
        self._words: NDArray[np.uint64] = np.empty((WORDS, 0), np.uint64)

    def grow(self, size: int) -> None:
        """Make room for so many in all; do nothing if there is."""
        if size <= self._words.shape[1]:
            return
        grown = np.zeros((WORDS, size), np.uint64)
        grown[:, : self._words.shape[1]] = self._words
        self._words = grown

    def put(self, places: list[int], codes: bytes) -> None:
        """Store these codes, which are consecutive."""
        self._words[:, places] = words_of(codes).T

    def lay(self, places: slice, words: NDArray[np.uint64]) -> None:
        """Store these codes, which are arranged word by word."""
        self._words[:, places] = words

    def proposed(
        self, vector: Vector, rows: NDArray[np.int64], limit: int, *, owners: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the rows among which the nearest mostly are, of which `limit` are wanted."""
        fewer = max(FEWER_PER_HIT * limit, self._cheap)
        count = max(PROPOSED_MIN, min(fewer, PROPOSED_PER_HIT * limit))
        if rows.size <= max(EXACT_ROWS_MAX, count):
            return rows
        asked = turned(units(np.frombuffer(vector, np.float32)[np.newaxis]))
        likely = max(LIKELY_MIN, LIKELY_PER_HIT * limit)
        if rows.size > likely:
            rows = _least(self._differing(rows, signs_of(asked)[0]), likely, rows, owners)
        return _least(-self._products(rows, asked[0]), count, rows, owners)

    def _differing(self, rows: NDArray[np.int64], asked: NDArray[np.uint64]) -> NDArray[np.uint16]:
        """Return in how many bits the code of each row differs from the query's."""
        is_sparse = rows.size * SPARSE < self._words.shape[1]
        differing = np.zeros(rows.size if is_sparse else self._words.shape[1], np.uint16)
        other = np.empty(differing.size, np.uint64)
        for held, word in zip(self._words, asked, strict=True):
            np.bitwise_xor(held[rows] if is_sparse else held, word, out=other)
            differing += np.bitwise_count(other)
        return differing if is_sparse else differing[rows]

    def _products(self, rows: NDArray[np.int64], asked: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return how near each row is by its code and the complete query, not only its signs.

        After RaBitQ (Gao and Long, 2024): half the error of comparing two codes.
        """
        return products_of(self._words, rows, asked)


def _least(
    values: NDArray[Any], count: int, rows: NDArray[np.int64], owners: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the rows with the lowest values; ties by the lowest owner, independent of the rows' order."""
    most = np.partition(values, count - 1)[count - 1]
    sure, last = rows[values < most], rows[values == most]
    order = np.argpartition(owners[last], count - sure.size - 1)[: count - sure.size]
    return np.concatenate((sure, last[order]))


def units_of(vectors: Iterable[bytes], dimensions: int) -> NDArray[np.float32]:
    """Return vectors as they are stored, a row each, at length 1."""
    return units(np.frombuffer(b"".join(vectors), np.float32).reshape(-1, dimensions))


def units(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return each at length 1; NaN if that is impossible."""
    # In 64 bits: the square of a 32-bit float may overflow another.
    wide = vectors.astype(np.float64)
    with np.errstate(all="ignore"):
        return (wide / np.linalg.norm(wide, axis=1, keepdims=True)).astype(np.float32)


def cosines_of(vectors: NDArray[np.float32], unit: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the cosine of each to one of length 1, off by less than MARGIN; 1 if 32 bits are not enough."""
    with np.errstate(all="ignore"):
        squares = np.vecdot(vectors, vectors)
        cosines = np.vecdot(vectors, unit) / np.sqrt(squares)
    cosines[~((squares > SQUARE_MIN) & (squares < SQUARE_MAX))] = 1
    return cosines


def nth_best(scores: NDArray[np.floating], count: int) -> float:
    """Return the score of the `limit`-th best."""
    return float(np.partition(scores, scores.size - count)[scores.size - count])
