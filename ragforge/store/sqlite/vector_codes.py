"""A vector in 1,024 bits: codes of near vectors differ in few of them. Importing it loads NumPy.

Signs are flipped at random, a Walsh-Hadamard transform spreads each value over all, and only the signs of
the result are kept. The share of bits in which two codes differ estimates the angle between the vectors.
Short vectors are rotated in several ways, until there are enough bits.
"""

import hashlib
from functools import cache

import numpy as np
from numpy.typing import NDArray

BITS = 1024
BYTES = BITS // 8
WORDS = BITS // 64
UNPACKED = 48
"""How many codes are unpacked at once, to 192 KB."""


def codes_of(vectors: NDArray[np.float32]) -> list[bytes]:
    """Return the code of each row; the same on every machine, because a file may be moved."""
    return [words.tobytes() for words in signs_of(turned(vectors))]


def turned(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the BITS numbers of each row whose signs are its code."""
    count, dimensions = vectors.shape
    size = 1 << (dimensions - 1).bit_length()
    spread: list[NDArray[np.float32]] = []
    for turn in range(-(-BITS // size)):
        padded = np.zeros((count, size), np.float32)
        padded[:, :dimensions] = vectors
        spread.append(_spread(padded * _signs(size, turn)))
    return np.concatenate(spread, axis=1)[:, :BITS]


def signs_of(numbers: NDArray[np.float32]) -> NDArray[np.uint64]:
    """Return the code of each row of BITS numbers, as WORDS."""
    return np.packbits(numbers > 0, axis=1).view(np.uint64)


def products_of(
    words: NDArray[np.uint64], at: NDArray[np.int64], numbers: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return, for each code at these columns of WORDS rows, the sum of the BITS numbers whose bit is set."""
    products = np.empty(at.size, np.float32)
    # A few at a time, always in the same buffer: new pages for all of them would cost five times the sums.
    bits = np.empty((UNPACKED, BITS), np.float32)
    for start in range(0, at.size, UNPACKED):
        part = slice(start, start + UNPACKED)
        unpacked = np.unpackbits(np.ascontiguousarray(words[:, at[part]].T).view(np.uint8), axis=1)
        some = bits[: len(unpacked)]
        some[:] = unpacked
        np.vecdot(some, numbers, out=products[part])
    return products


def words_of(codes: bytes) -> NDArray[np.uint64]:
    """Return consecutive codes as rows of WORDS."""
    return np.frombuffer(codes, np.uint64).reshape(-1, WORDS)


def _spread(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the Walsh-Hadamard transform of each row, whose length is a power of two."""
    count, size = rows.shape
    half = 1
    while half < size:
        pairs = rows.reshape(count, size // (2 * half), 2, half)
        first, second = pairs[:, :, 0], pairs[:, :, 1]
        rows = np.stack((first + second, first - second), axis=2).reshape(count, size)
        half *= 2
    return rows


@cache
def _signs(size: int, turn: int) -> NDArray[np.float32]:
    """Return random +1 and -1, always the same ones: codes are stored."""
    drawn = hashlib.shake_256(f"ragforge {size} {turn}".encode()).digest(-(-size // 8))
    bits = np.unpackbits(np.frombuffer(drawn, np.uint8))[:size]
    return bits.astype(np.float32) * 2 - 1
