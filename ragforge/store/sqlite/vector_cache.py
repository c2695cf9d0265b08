"""The vectors of one embedder in memory, to compare with all at once. Importing it loads NumPy.

A few are held whole and compared exactly. Of many only the codes are held (see vector_codes.py): those that
differ least from the query's are read from the file and compared exactly.
"""

import json
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from typing import NamedTuple, assert_never

import numpy as np
from numpy.typing import NDArray

from ragforge.domain.vectors import OwnerKind, Vector
from ragforge.store.sqlite.connection import Connection, Row
from ragforge.store.sqlite.owed import EVERYWHERE, MEMORY_LEVEL
from ragforge.store.sqlite.rows import one
from ragforge.store.sqlite.vector_blocks import LAST, blocks_of, count_sealed
from ragforge.store.sqlite.vector_codes import BYTES, codes_of
from ragforge.store.sqlite.vector_places import KEY, LEVEL, LINES, PROJECT, SESSION, TIME, Places
from ragforge.store.sqlite.vector_shelves import (
    MARGIN,
    Coded,
    Whole,
    cosines_of,
    nth_best,
    units,
    units_of,
)

WHOLE_FLOATS_MAX = 2_000_000
"""How many floats are held whole, 8 MB; beyond that, codes replace them."""
READ_FLOATS_MAX = 1 << 20
"""How many floats are read and normalised at once."""
KEPT_FLOATS_MAX = 1 << 20
"""How many floats read from the file are kept beside the codes, 4 MB: a conversation stays on its subjects
for a while."""
DIGITS = 6
"""The precision of scores in 32-bit floats: scores equal up to here are equal."""

CHANGED = """
SELECT embedding.owner, project, session, at, level,
    CASE WHEN model = :model AND dimensions = :dimensions AND {sound} THEN {content} END
FROM embedding LEFT JOIN vector_code ON vector_code.owner = embedding.owner
WHERE (change, embedding.owner) > (:change, :owner)
"""
CHANGED_WHOLE = CHANGED.format(content="vector", sound="length(vector) = 4 * dimensions")
# By the index on changes: no page of the vectors is read.
CHANGED_CODES = CHANGED.format(content="coalesce(code, x'')", sound="TRUE")

# Cross: each owner is looked up, where the planner would read all of the model.
VECTORS = """
SELECT owner, vector FROM json_each(:owners) CROSS JOIN embedding ON owner = value
WHERE model = :model AND dimensions = :dimensions AND length(vector) = 4 * dimensions
"""


COUNT_CHANGED = "SELECT count(*) FROM embedding WHERE (change, owner) > (?, ?)"
SEALED = "SELECT sealed_change, sealed_owner, sealed_removals FROM embedder"

ARE_MORE = "SELECT 1 FROM embedding WHERE model = ? AND dimensions = ? LIMIT 1 OFFSET ?"


class Seen(NamedTuple):
    """How far the rows were read, in the order of the index on changes, and which removals are known."""

    change: int
    owner: int
    removals: int


class VectorCache:
    """Every vector of a model, or its code, beside its filter values. For one thread."""

    def __init__(
        self, connection: Connection, model: str, dimensions: int, *, whole_floats_max: int = WHOLE_FLOATS_MAX
    ) -> None:
        self.model = model
        self.dimensions = dimensions
        self._seen = Seen(0, LAST, 0)
        asked = (model, dimensions, whole_floats_max // dimensions)
        are_many = one(connection, ARE_MORE, asked) is not None
        self._shelf = Coded(dimensions) if are_many else Whole(dimensions)
        self._places = Places()
        self._kept: dict[int, bytes] = {}
        """By their owners, vectors as they are stored, the last read last."""

    @property
    def is_outgrown(self) -> bool:
        """Whether there are too many by now to be held whole."""
        return isinstance(self._shelf, Whole) and len(self._places) * self.dimensions > WHOLE_FLOATS_MAX

    def refresh(self, connection: Connection) -> None:
        """Read what any process wrote since the last time."""
        changes, removals = one(connection, "SELECT changes, removals FROM embedder") or (0, 0)
        state = Seen(changes, LAST, removals)
        if state == self._seen:
            return
        if not len(self._places):
            self._begin(connection, removals)
        held = CHANGED_WHOLE if isinstance(self._shelf, Whole) else CHANGED_CODES
        rows = connection.execute(
            held, {**self._seen._asdict(), "model": self.model, "dimensions": self.dimensions}
        )
        while batch := list(islice(rows, max(1, READ_FLOATS_MAX // self.dimensions))):
            self._put(connection, batch)
        if removals != self._seen.removals:
            left = np.fromiter(
                (row[0] for row in connection.execute("SELECT owner FROM embedding")), np.int64
            )
            self._places.drop_others(left)
            self._kept.clear()
        # Last: if the reading is interrupted, the next one starts where this one did.
        self._seen = state

    def _begin(self, connection: Connection, removals: int) -> None:
        """Read the blocks, and make room for rows outside them."""
        self._places, self._kept, seen = Places(), {}, Seen(0, LAST, removals)
        if isinstance(self._shelf, Coded) and (size := count_sealed(connection)):
            self._places = Places(size)
            self._shelf.grow(size)
            seen = Seen(*next(connection.execute(SEALED)))
            for block in blocks_of(connection, self.model, self.dimensions):
                if block is None:
                    self._places, seen = Places(), Seen(0, LAST, removals)
                    break
                self._shelf.lay(self._places.lay(block.places[:LINES]), block.words)
        (count,) = next(connection.execute(COUNT_CHANGED, (seen.change, seen.owner)))
        self._places.grow(count)
        self._shelf.grow(self._places.size)
        self._seen = seen

    def nearest(
        self,
        connection: Connection,
        vector: Vector,
        *,
        project: int | None,
        session: int | None,
        since: int | None,
        until: int | None,
        kinds: Collection[OwnerKind],
        limit: int,
    ) -> dict[int, float]:
        """Return scores of the nearest by their owners' keys, including all ties with the last of them."""
        lines = self._places.lines
        wanted = lines[KEY] != 0
        if project is not None:
            wanted &= (lines[PROJECT] == project) | (lines[PROJECT] == EVERYWHERE)
        if session is not None:
            wanted &= lines[SESSION] == session
        if since is not None:
            wanted &= lines[TIME] >= since
        if until is not None:
            wanted &= lines[TIME] < until
        wanted &= _of_kinds(lines[LEVEL], kinds)
        rows = np.flatnonzero(wanted)
        if rows.size == 0:
            return {}
        if isinstance(self._shelf, Whole):
            proposed = self._shelf.proposed(vector, rows, limit)
        else:
            proposed = self._shelf.proposed(vector, rows, limit, owners=lines[KEY])
            proposed = self._closest(connection, proposed, vector, limit)
        keys, scores = self._exact(connection, proposed, vector)
        if scores.size == 0:
            return {}
        best = scores >= nth_best(scores, min(limit, scores.size))
        return dict(zip(keys[best].tolist(), scores[best].tolist(), strict=True))

    def scores(self, connection: Connection, vector: Vector, owners: Iterable[int]) -> dict[int, float]:
        """Return the scores of those owners that have a vector."""
        keys, scores = self._exact(connection, self._places.of(list(owners)), vector)
        return dict(zip(keys.tolist(), scores.tolist(), strict=True))

    def _closest(
        self, connection: Connection, rows: NDArray[np.int64], vector: Vector, limit: int
    ) -> NDArray[np.int64]:
        """Return rows that may be among the nearest, by a comparison that is fast and nearly exact."""
        asked = units(np.frombuffer(vector, np.float32)[np.newaxis])[0]
        owners: list[int] = []
        near: list[NDArray[np.float32]] = [np.empty(0, np.float32)]
        for part in self._parts(rows):
            found = self._read(connection, sorted(self._places.lines[KEY][part].tolist()))
            owners += found
            held = np.frombuffer(b"".join(found.values()), np.float32)
            near.append(cosines_of(held.reshape(-1, self.dimensions), asked))
        cosines = np.concatenate(near)
        if cosines.size <= limit:
            return rows
        nearest = np.flatnonzero(cosines >= nth_best(cosines, limit) - MARGIN).tolist()
        return self._places.of([owners[at] for at in nearest])

    def _parts(self, rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Yield the rows in batches that are read at once."""
        return np.array_split(rows, max(1, rows.size * self.dimensions // READ_FLOATS_MAX))

    def _exact(
        self, connection: Connection, rows: NDArray[np.int64], vector: Vector
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the keys of these rows, and (1 + cosine) / 2 of each, in 64 bits."""
        asked = np.frombuffer(vector, np.float32).astype(np.float64)
        asked /= np.linalg.norm(asked)
        keys: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
        scores: list[NDArray[np.float64]] = [np.empty(0)]
        for part in self._parts(rows):
            found, vectors = self._vectors(connection, part)
            keys.append(found)
            scores.append(np.vecdot(vectors.astype(np.float64), asked))
        cosines = np.concatenate(scores)
        # A vector without a direction was damaged: it is never near.
        usable = np.isfinite(cosines)
        near = np.round(np.clip((1 + cosines[usable]) / 2, 0, 1), DIGITS)
        return np.concatenate(keys)[usable], near

    def _vectors(
        self, connection: Connection, rows: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the keys of these rows and their vectors of length 1, from memory or from the file."""
        keys = self._places.lines[KEY][rows]
        if isinstance(self._shelf, Whole):
            return keys, self._shelf.vectors[rows]
        found = self._read(connection, sorted(keys.tolist()))
        return np.array(list(found), np.int64), units_of(found.values(), self.dimensions)

    def _read(self, connection: Connection, owners: list[int]) -> dict[int, bytes]:
        """Return their vectors as they are stored, in order, for those of the model."""
        kept = self._kept
        found = {owner: kept[owner] for owner in owners if owner in kept}
        if len(found) == len(owners):
            return found
        kept.update(self._rows(connection, [owner for owner in owners if owner not in found]))
        found = {owner: kept[owner] for owner in owners if owner in kept}
        for owner in list(islice(kept, max(0, len(kept) - KEPT_FLOATS_MAX // self.dimensions))):
            del kept[owner]
        return found

    def _rows(self, connection: Connection, owners: list[int]) -> Iterator[Row]:
        values = {"owners": json.dumps(owners), "model": self.model, "dimensions": self.dimensions}
        return connection.execute(VECTORS, values)

    def _put(self, connection: Connection, batch: list[Row]) -> None:
        # It may be another model's now. Most are not among the existing ones.
        self._places.drop([row[0] for row in batch])
        for row in batch:
            self._kept.pop(row[0], None)
        batch = [row for row in batch if row[5] is not None]
        if isinstance(self._shelf, Whole):
            vectors = units_of((row[5] for row in batch), self.dimensions)
            # A vector without a direction was damaged: it is never near.
            usable = np.isfinite(vectors.sum(axis=1))
            batch = [row for row, is_usable in zip(batch, usable.tolist(), strict=True) if is_usable]
            self._shelf.put(self._take_places(batch), vectors[usable])
        else:
            codes = b"".join([row[5] for row in batch])
            if len(codes) != BYTES * len(batch):
                batch = self._with_codes(connection, batch)
                codes = b"".join([row[5] for row in batch])
            self._shelf.put(self._take_places(batch), codes)

    def _take_places(self, rows: list[Row]) -> list[int]:
        """Return where the contents of these go, now that their filter values are there."""
        lines = np.array(list(zip(*rows, strict=True))[:LINES], np.int64).reshape(LINES, len(rows))
        places = self._places.put(lines)
        self._shelf.grow(self._places.size)
        return places

    def _with_codes(self, connection: Connection, batch: list[Row]) -> list[Row]:
        """Return the rows with codes for whole vectors that an older version stored without."""
        codes = {row[0]: row[5] for row in batch if len(row[5]) == BYTES}
        without = [row[0] for row in batch if row[0] not in codes]
        size = max(1, READ_FLOATS_MAX // self.dimensions)
        for at in range(0, len(without), size):
            found = list(self._rows(connection, without[at : at + size]))
            vectors = units_of((vector for _, vector in found), self.dimensions)
            codes |= zip((key for key, _ in found), codes_of(vectors), strict=True)
        return [(*row[:5], codes[row[0]]) for row in batch if row[0] in codes]


def _of_kinds(levels: NDArray[np.int64], kinds: Collection[OwnerKind]) -> NDArray[np.bool_]:
    """Whether each is of these kinds; forgotten ones are of none."""
    wanted = np.zeros(levels.shape, np.bool_)
    for kind in kinds:
        match kind:
            case OwnerKind.TURN:
                wanted |= levels == 0
            case OwnerKind.SUMMARY:
                wanted |= levels > 0
            case OwnerKind.MEMORY:
                wanted |= levels == MEMORY_LEVEL
            case _:
                assert_never(kind)
    return wanted
