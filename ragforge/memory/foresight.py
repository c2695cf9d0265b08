"""The figures of foresight: how much changed, how long its description is, how well it was foreseen.

Unexpectedness as in Simplicity Theory: hard to produce, short to describe. Turns are counted from 0, and
`units` has one number per turn: pixels, or changed lines. A turn has a figure once the state after it is
described, so the running turn has none.

Without a model, a prediction is rated by meaning. On annotated pairs, neither words nor meaning separated
good predictions from bad ones, and meaning was less misleading (`benchmarks/foresight.py --pairs FILE`).
"""

import math
import zlib
from collections.abc import Sequence

from ragforge.embedders.static import StaticEmbedder

PIXEL_BITS = 33
"""The bits of a pixel: 24 of colour and 9 of position."""
CHARACTER_BITS = 8
RATING_MAX = 10
SAMPLE_BYTES_MAX = 1_000_000
"""The maximum length of the text that `compressed_size` is estimated with."""
ZLIB_LEVEL = 6


def world_complexity(units: Sequence[int], turn: int, *, depth: int, alpha: int) -> int:
    """Return the bits that it took to produce the state after a turn: C_w(turn, depth).

    Counts the units of that turn and of the depth - 1 turns before it.
    """
    return alpha * sum(units[max(0, turn - depth + 1) : turn + 1])


def description_complexity(description: str) -> int:
    """Return the bits of a description: C_d of the record that has it."""
    return CHARACTER_BITS * len(description)


def unexpectedness(units: Sequence[int], turn: int, *, depth: int, alpha: int, description_after: str) -> int:
    """Return the bits to produce the state after a turn minus those to describe it: U(turn). Negative if
    little changed.

    description_after: of the state after the turn, so of the record made after it.
    """
    changed = world_complexity(units, turn, depth=depth, alpha=alpha)
    return changed - description_complexity(description_after)


def line_alpha(lines: int, sample: bytes) -> int | None:
    """Return the bits of a changed line: its position and its content. None if there is no line.

    lines: of all tracked text files. sample: some of their text.
    """
    text = sample[:SAMPLE_BYTES_MAX]
    if lines < 1 or not text:
        return None
    size = len(zlib.compress(text, ZLIB_LEVEL)) / len(text.splitlines())
    return math.ceil(math.log2(lines)) + math.ceil(CHARACTER_BITS * size)


def rating_by_words(described: str, predicted: str) -> int | None:
    """Rate how similar two texts are, 0 to 10, by the share of common words. None if both are empty."""
    one, other = set(described.lower().split()), set(predicted.lower().split())
    return _rating(len(one & other) / len(one | other)) if one | other else None


def rating_by_meaning(described: str, predicted: str) -> int | None:
    """Rate how similar two texts are, 0 to 10, by the cosine of their vectors. None if both are empty.

    Uses the included embedder, so that ratings are comparable. The first call loads its file, so call it in a
    thread.
    """
    if not described.strip() and not predicted.strip():
        return None
    if not described.strip() or not predicted.strip():
        return 0
    one, other = StaticEmbedder().vectors([described, predicted])
    return rating_of_cosine(sum(a * b for a, b in zip(one, other, strict=True)))


def rating_of_cosine(cosine: float) -> int:
    """Return the rating for a cosine, 0 to 10."""
    return _rating(max(0.0, cosine))


def _rating(share: float) -> int:
    """Round halves up; `round` would round them to even."""
    return min(RATING_MAX, math.floor(RATING_MAX * share + 0.5))
