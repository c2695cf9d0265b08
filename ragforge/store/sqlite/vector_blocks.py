"""Codes of vectors in blocks, so that a process reads all of them in a few reads. Importing it loads NumPy.

A block has the codes of some thousands of owners with consecutive keys, and the values they are filtered
by. All blocks together have the vectors as they were at one change: the rows of `embedding` up to
(`sealed_change`, `sealed_owner`) in the order of its index on changes. A rewritten row is after that
position, and takes precedence over its copy in a block; a removed one is removed from its block at once.
So a search reads the blocks, then the rows after them; without blocks it reads all rows.

Everything here is derived from the rows, and can be rebuilt from them.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ragforge.store.sqlite.connection import Connection
from ragforge.store.sqlite.vector_codes import BYTES, WORDS, words_of
from ragforge.store.sqlite.vector_tail import WAITS, write_codes

BLOCK_ROWS_MAX = 4_096

OWNER, PROJECT, SESSION, TIME, LEVEL, MODEL = range(6)
"""The rows of the filter values of vectors."""
LINES = 6
LAST = (1 << 63) - 1
INTEGERS = np.dtype("<i8")

# By the index on changes: no page of the vectors is read.
NEXT = f"""
SELECT change, embedding.owner, project, session, at, level, embedding.model, embedding.dimensions, code
FROM embedding LEFT JOIN vector_code ON vector_code.owner = embedding.owner
WHERE {WAITS} ORDER BY change, embedding.owner LIMIT ?
"""
ROWS = f"""
SELECT embedding.owner, project, session, at, level, embedding.model, embedding.dimensions, code,
    NOT {WAITS}
FROM embedding LEFT JOIN vector_code ON vector_code.owner = embedding.owner
WHERE embedding.owner >= ? AND embedding.owner < ?
"""
WITHOUT_CODE = f"""
SELECT owner FROM json_each(?) JOIN embedding ON owner = value
WHERE length(vector) = 4 * dimensions
    AND NOT EXISTS (SELECT 1 FROM vector_code WHERE vector_code.owner = value AND length(code) = {BYTES})
"""


class Block(Struct, frozen=True):
    """Vectors in the order of their owners."""

    places: NDArray[np.int64]
    """Shape (LINES, rows)."""
    words: NDArray[np.uint64]
    """Their codes, shape (WORDS, rows)."""

    @property
    def count(self) -> int:
        """The number of its rows."""
        return self.places.shape[1]

    def without(self, owners: NDArray[np.int64]) -> "Block":
        """Return those of other owners."""
        return self.of(~np.isin(self.places[OWNER], owners))

    def between(self, first: int, end: int) -> "Block":
        """Return those of the owners from the first on, up to the end."""
        owners = self.places[OWNER]
        return self.of((owners >= first) & (owners < end))

    def of(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> "Block":
        """Return these rows."""
        return Block(self.places[:, rows], self.words[:, rows])

    def rows(self) -> tuple[list[list[int]], list[bytes]]:
        """Return the filter values and the code of each."""
        return self.places.T.tolist(), [words.tobytes() for words in self.words.T]

    def joined(self, other: "Block") -> "Block":
        """Return both combined; no owner is in both."""
        places = np.concatenate((self.places, other.places), axis=1)
        words = np.concatenate((self.words, other.words), axis=1)
        return Block(places, words).of(np.argsort(places[OWNER]))


EMPTY = Block(np.empty((LINES, 0), np.int64), np.empty((WORDS, 0), np.uint64))


def number_of(model: str, dimensions: int) -> int:
    """Return the model's number in a block: 63 bits of a hash."""
    digest = hashlib.sha256(f"{dimensions} {model}".encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1


def count_sealed(connection: Connection) -> int:
    """Return how many vectors are in blocks, of any model."""
    return next(connection.execute("SELECT coalesce(sum(count), 0) FROM vector_block"))[0]


def blocks_of(connection: Connection, model: str, dimensions: int) -> Iterator[Block | None]:
    """Return what is sealed of the model, in the order of owners; None for a damaged block."""
    number = number_of(model, dimensions)
    for row in connection.execute("SELECT count, places, codes FROM vector_block ORDER BY first"):
        block = _block(*row)
        if block is not None and not (wanted := block.places[MODEL] == number).all():
            block = block.of(wanted)
        yield block


def seal_some(connection: Connection, *, block_rows_max: int = BLOCK_ROWS_MAX) -> None:
    """Put the next waiting rows into blocks, as many as fit in one. In a transaction that writes."""
    if next(connection.execute("SELECT removals != sealed_removals FROM embedder"))[0]:
        # By a version without blocks, or the first time.
        unseal(connection)
    rows = list(connection.execute(NEXT, (block_rows_max,)))
    if without := [row[1] for row in rows if len(row[8] or b"") != BYTES]:
        sound = [owner for (owner,) in connection.execute(WITHOUT_CODE, (json.dumps(without),))]
        write_codes(connection, sound)
        rows = list(connection.execute(NEXT, (block_rows_max,)))
    numbers = {key: number_of(*key) for key in {(row[6], row[7]) for row in rows}}
    coded = [row for row in rows if len(row[8] or b"") == BYTES]
    lines = [(*row[1:6], numbers[row[6], row[7]]) for row in coded]
    places = np.array(lines, np.int64).reshape(-1, LINES).T
    block = Block(places, words_of(b"".join([row[8] for row in coded])).T)
    owners = np.array([row[1] for row in rows], np.int64)
    if not _merge(connection, owners, block, block_rows_max=block_rows_max):
        unseal(connection)
        return
    connection.execute("UPDATE embedder SET sealed_change = ?, sealed_owner = ?", rows[-1][:2])


def unseal(connection: Connection) -> None:
    """Start again, without blocks."""
    connection.execute("DELETE FROM vector_block")
    connection.execute("UPDATE embedder SET sealed_change = 0, sealed_owner = 0, sealed_removals = removals")


def take_out(connection: Connection, owners: Sequence[int]) -> None:
    """Remove every trace of these from the blocks."""
    if not _merge(connection, np.array(sorted(owners), np.int64), EMPTY):
        unseal(connection)


def wrong_blocks(connection: Connection) -> list[int]:
    """Return where blocks start that differ from their rows, or 0 if none has what is sealed."""
    (knows_removals,) = next(connection.execute("SELECT removals = sealed_removals FROM embedder"))
    stored = list(connection.execute("SELECT first FROM vector_block ORDER BY first"))
    # Nothing is sealed before the first one starts.
    starts = [0, *(first for (first,) in stored if first)]
    ends = [*starts[1:], LAST]
    return [
        start
        for start, end in zip(starts, ends, strict=True)
        if not _fits(connection, start, end, knows_removals=knows_removals)
    ]


def _fits(connection: Connection, start: int, end: int, *, knows_removals: bool) -> bool:
    """Whether all that is sealed of these owners is in their block, and nothing that was removed."""
    block = _read(connection, start)
    if block is None:
        return False
    held = {place[OWNER]: (place, code) for place, code in zip(*block.rows(), strict=True)}
    if len(held) != block.count or not all(start <= owner < end for owner in held):
        return False
    for owner, *place, model, dimensions, code, is_sealed in connection.execute(ROWS, (start, end)):
        copy = held.pop(owner, None)
        # A waiting row may have an older copy; a vector that was cut before it was sealed has no code.
        if is_sealed and (
            (copy is None and code is not None)
            or (copy is not None and copy[0] != [owner, *place, number_of(model, dimensions)])
            or (copy is not None and code is not None and copy[1] != code)
        ):
            return False
    return not held or not knows_removals


def _read(connection: Connection, first: int) -> Block | None:
    """Return the block that starts there, empty if there is none; None if it is damaged."""
    for row in connection.execute("SELECT count, places, codes FROM vector_block WHERE first = ?", (first,)):
        return _block(*row)
    return EMPTY


def _block(count: int, places: bytes, codes: bytes) -> Block | None:
    if len(places) != LINES * INTEGERS.itemsize * count or len(codes) != BYTES * count:
        return None
    held = np.frombuffer(places, INTEGERS).reshape(LINES, count)
    return Block(held, np.frombuffer(codes, np.uint64).reshape(WORDS, count))


def _merge(
    connection: Connection, owners: NDArray[np.int64], block: Block, *, block_rows_max: int = BLOCK_ROWS_MAX
) -> bool:
    """Replace everything that is stored of these owners by the block.

    False, half done, if a stored block is damaged.
    """
    stored = [first for (first,) in connection.execute("SELECT first FROM vector_block ORDER BY first")]
    # The first block starts where owners do.
    starts = [0, *(first for first in stored if first)]
    ends = [*starts[1:], LAST]
    for first, end in zip(starts, ends, strict=True):
        belonging = owners[(owners >= first) & (owners < end)]
        if not belonging.size:
            continue
        before = _read(connection, first)
        if before is None:
            return False
        rest = before.without(belonging)
        after = rest.joined(block.between(first, end))
        if after.count != before.count or after.count != rest.count:
            _write(connection, first, after, block_rows_max)
    return True


def _write(connection: Connection, first: int, block: Block, block_rows_max: int) -> None:
    """Save it in place of what starts there, as several if it is too long for one."""
    connection.execute("DELETE FROM vector_block WHERE first = ?", (first,))
    parts = -(-block.count // block_rows_max)
    for number in range(parts):
        start, end = (block.count * each // parts for each in (number, number + 1))
        part = Block(block.places[:, start:end], block.words[:, start:end])
        begins = int(part.places[OWNER, 0]) if number else first
        contents = (part.places.astype(INTEGERS).tobytes(), part.words.tobytes())
        connection.execute("INSERT INTO vector_block VALUES (?, ?, ?, ?)", (begins, part.count, *contents))
