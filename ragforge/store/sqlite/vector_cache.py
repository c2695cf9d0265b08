"""The vectors of one embedder in memory, to compare with all of them at once. Importing it loads NumPy."""

from collections.abc import Iterable
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ragforge.domain.vectors import Vector
from ragforge.store.sqlite.connection import Connection, Row
from ragforge.store.sqlite.rows import one

READ_FLOATS_MAX = 1 << 20
"""Floats that are read and normalised at once."""
GROWTH = 1.25
SPARSE = 4
"""A scope of less than a quarter is gathered before it is compared."""
MARGIN = 2e-5
"""More than a sum of 4,096 rounded products is off by; what is this close to the last is compared exactly."""
DIGITS = 6
"""What 32-bit floats can tell of a score: what is equal to here is equal."""

KEY, PROJECT, SESSION, TIME, LEVEL = range(5)

CHANGED = """
SELECT owner, project, session, at, level,
    CASE WHEN model = :model AND dimensions = :dimensions AND length(vector) = 4 * dimensions THEN vector END
FROM embedding WHERE change > :seen
"""


class VectorCache:
    """Every vector of a model, of length 1, beside what it is filtered by. For one thread."""

    def __init__(self, model: str, dimensions: int) -> None:
        self.model = model
        self.dimensions = dimensions
        self._seen = (0, 0)
        self._vectors: NDArray[np.float32] = np.empty((0, dimensions), np.float32)
        # A column each for KEY, PROJECT ...; the key of a free row is 0.
        self._columns: NDArray[np.int64] = np.zeros((5, 0), np.int64)
        self._rows: dict[int, int] = {}
        self._free: list[int] = []

    def refresh(self, connection: Connection) -> None:
        """Read what was written, by whichever process, since the last time."""
        state = one(connection, "SELECT changes, removals FROM embedder") or (0, 0)
        if state == self._seen:
            return
        changes, removals = self._seen
        values = {"model": self.model, "dimensions": self.dimensions, "seen": changes}
        count = one(connection, "SELECT count(*) FROM embedding WHERE change > ?", (changes,)) or (0,)
        if not self._rows:
            self._make_room(count[0])
        rows = connection.execute(CHANGED, values)
        while batch := list(islice(rows, max(1, READ_FLOATS_MAX // self.dimensions))):
            self._put(batch)
        if state[1] != removals:
            left = {row[0] for row in connection.execute("SELECT owner FROM embedding")}
            for key in self._rows.keys() - left:
                self._drop(key)
        # Last: where the reading is cut off, the next begins where this one did.
        self._seen = state

    def nearest(
        self,
        vector: Vector,
        *,
        project: int | None,
        session: int | None,
        since: int | None,
        turns: bool,
        summaries: bool,
        limit: int,
    ) -> dict[int, float]:
        """Scores of the nearest by their owners' keys, and of all that are as near as the last of them."""
        wanted = self._columns[KEY] != 0
        if project is not None:
            wanted &= self._columns[PROJECT] == project
        if session is not None:
            wanted &= self._columns[SESSION] == session
        if since is not None:
            wanted &= self._columns[TIME] >= since
        if not turns:
            wanted &= self._columns[LEVEL] != 0
        if not summaries:
            wanted &= self._columns[LEVEL] == 0
        rows = np.flatnonzero(wanted)
        if rows.size == 0:
            return {}
        asked = _unit(np.frombuffer(vector, np.float32)[np.newaxis])[0]
        # Row by row: a product with the whole matrix would wake a thread a core, and wait for the slowest.
        if rows.size * SPARSE < len(wanted):
            near = np.vecdot(self._vectors[rows], asked)
        else:
            near = np.vecdot(self._vectors, asked)[rows]
        kept = min(limit, rows.size)
        rows = rows[near >= _best(near, kept) - MARGIN]
        scores = self._exact(rows, vector)
        best = scores >= _best(scores, kept)
        return dict(zip(self._columns[KEY][rows[best]].tolist(), scores[best].tolist(), strict=True))

    def scores(self, vector: Vector, keys: Iterable[int]) -> dict[int, float]:
        """The scores of these owners, as far as they have a vector."""
        known = [key for key in keys if key in self._rows]
        rows = np.array([self._rows[key] for key in known], np.int64)
        return dict(zip(known, self._exact(rows, vector).tolist(), strict=True))

    def _exact(self, rows: NDArray[np.int64], vector: Vector) -> NDArray[np.float64]:
        """(1 + cosine) / 2 of these rows, in 64 bits."""
        asked = np.frombuffer(vector, np.float32).astype(np.float64)
        asked /= np.linalg.norm(asked)
        parts = [
            np.vecdot(self._vectors[part].astype(np.float64), asked)
            for part in np.array_split(rows, max(1, rows.size * self.dimensions // READ_FLOATS_MAX))
        ]
        return np.round(np.clip((1 + np.concatenate(parts)) / 2, 0, 1), DIGITS)

    def _make_room(self, count: int) -> None:
        """Room for so many more, and some to spare: making it copies all."""
        size = self._columns.shape[1]
        missing = count - len(self._free)
        if missing <= 0:
            return
        grown = max(size + missing, int(size * GROWTH))
        vectors = np.zeros((grown, self.dimensions), np.float32)
        vectors[:size] = self._vectors
        columns = np.zeros((5, grown), np.int64)
        columns[:, :size] = self._columns
        self._vectors, self._columns = vectors, columns
        self._free += range(grown - 1, size - 1, -1)

    def _put(self, batch: list[Row]) -> None:
        for row in batch:
            # It may be another model's now.
            self._drop(row[0])
        batch = [row for row in batch if row[5] is not None]
        vectors = np.frombuffer(b"".join(row[5] for row in batch), np.float32)
        units = _unit(vectors.reshape(len(batch), self.dimensions))
        self._make_room(len(batch))
        # A vector that is no direction was damaged: it is never near.
        usable: list[int] = np.flatnonzero(np.isfinite(units.sum(axis=1))).tolist()
        places = [self._free.pop() for _ in usable]
        self._vectors[places] = units[usable]
        columns = np.array([batch[number][:5] for number in usable], np.int64).reshape(len(usable), 5)
        self._columns[:, places] = columns.T
        self._rows |= zip(columns[:, KEY].tolist(), places, strict=True)

    def _drop(self, key: int) -> None:
        place = self._rows.pop(key, None)
        if place is not None:
            self._columns[KEY, place] = 0
            self._free.append(place)


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Each at length 1; not a number where that cannot be."""
    # In 64 bits: the square of a 32-bit float may be too large for another.
    wide = vectors.astype(np.float64)
    with np.errstate(all="ignore"):
        return (wide / np.linalg.norm(wide, axis=1, keepdims=True)).astype(np.float32)


def _best(scores: NDArray[np.floating], count: int) -> float:
    """The score of so many-th best."""
    return float(np.partition(scores, scores.size - count)[scores.size - count])
