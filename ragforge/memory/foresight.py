"""The figures of foresight: how much changed, how much it takes to tell, how well it was foreseen.

Unexpectedness after Simplicity Theory: what takes many bits to make and few to describe. Turns are counted
from 0, and `units` holds one number a turn: pixels, or lines that changed. A turn has a figure as soon as the
state that it left is described, so the one that runs has none.

Without a model a prediction is rated by meaning: on annotated pairs neither words nor meaning told good
predictions from bad ones, and meaning misled less (`benchmarks/foresight.py --pairs FILE`).
"""

import math
import zlib
from collections.abc import Sequence

from ragforge.embedders.static import StaticEmbedder

PIXEL_BITS = 33
"""Of a pixel: 24 of colour and 9 of place."""
CHARACTER_BITS = 8
RATING_MAX = 10
SAMPLE_BYTES_MAX = 1_000_000
"""Of the text that `compressed_size` is estimated with."""
ZLIB_LEVEL = 6


def world_complexity(units: Sequence[int], turn: int, *, depth: int, alpha: int) -> int:
    """Bits that it took to bring about the state that a turn left: C_w(turn, depth).

    The units of that turn and of the depth - 1 turns before it count, and none of a later one.
    """
    return alpha * sum(units[max(0, turn - depth + 1) : turn + 1])


def description_complexity(description: str) -> int:
    """Bits that it takes to tell a state: C_d of the record that describes it."""
    return CHARACTER_BITS * len(description)


def unexpectedness(units: Sequence[int], turn: int, *, depth: int, alpha: int, description_after: str) -> int:
    """How much more it took to bring about than to tell what a turn left: U(turn). Negative where little did.

    description_after: of the state that the turn left, so of the record made after it.
    """
    changed = world_complexity(units, turn, depth=depth, alpha=alpha)
    return changed - description_complexity(description_after)


def line_alpha(lines: int, sample: bytes) -> int | None:
    """Bits a changed line takes: which line it is, and what it says. None where there is no line.

    lines: of all tracked text files. sample: some of their text.
    """
    text = sample[:SAMPLE_BYTES_MAX]
    if lines < 1 or not text:
        return None
    size = len(zlib.compress(text, ZLIB_LEVEL)) / len(text.splitlines())
    return math.ceil(math.log2(lines)) + math.ceil(CHARACTER_BITS * size)


def rating_by_words(described: str, predicted: str) -> int | None:
    """How alike two texts are, 0 to 10: words they share, of all they have. None where both are empty."""
    one, other = set(described.lower().split()), set(predicted.lower().split())
    return _rating(len(one & other) / len(one | other)) if one | other else None


def rating_by_meaning(described: str, predicted: str) -> int | None:
    """How alike two texts are, 0 to 10: the cosine of their vectors. None where both are empty.

    The embedder is the one that ships, so that ratings are comparable. Its first call reads its file, so it
    is for a thread.
    """
    if not described.strip() and not predicted.strip():
        return None
    if not described.strip() or not predicted.strip():
        return 0
    one, other = StaticEmbedder().vectors([described, predicted])
    return rating_of_cosine(sum(a * b for a, b in zip(one, other, strict=True)))


def rating_of_cosine(cosine: float) -> int:
    """The rating that a cosine stands for, 0 to 10."""
    return _rating(max(0.0, cosine))


def _rating(share: float) -> int:
    """Halves go up; `round` would take them to the even number."""
    return min(RATING_MAX, math.floor(RATING_MAX * share + 0.5))
