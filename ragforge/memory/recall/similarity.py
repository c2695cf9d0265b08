"""How alike two tasks are, on one scale: (1 + cosine) / 2 of their texts, and the least that is similar.

A text is a point of two halves that count the same: its meaning, and its words by how rare they are. Meaning
is that of the embedder that made the stored vectors where its threshold is known, else of the one that ships,
of the words in English. Thresholds are set on tasks in English and French: `benchmarks/tried.py`.
"""

from collections import Counter
from collections.abc import Sequence
from math import log, sqrt
from operator import mul

from ragforge.domain.blas import load_numpy
from ragforge.embedders.minilm import MiniLMEmbedder
from ragforge.embedders.static import StaticEmbedder
from ragforge.memory.recall.fit import ComparedText, compared
from ragforge.memory.terms import common_terms

THRESHOLDS = {StaticEmbedder.name: 0.68, MiniLMEmbedder.name: 0.67}
"""By embedder, the least score of what is similar."""
WARNINGS_MAX = 2
"""Of so many tasks that failed a message is warned."""
MEANING_SHARE = 0.5
RARITY = 10
"""How many texts without the word are assumed beside those that are compared."""
COMMON_WEIGHT = 0.3
"""Of a word that everybody uses."""


def measured_by(embedder: str) -> str:
    """The name of the embedder that compares where the stored vectors are of this one."""
    return embedder if embedder in THRESHOLDS else StaticEmbedder.name


def scores(
    query: str, texts: Sequence[str], meanings: Sequence[float | None] | None = None
) -> list[float | None]:
    """How alike the query and each text are, 0 to 1; it computes, so it is for a thread.

    meanings: (1 + cosine) / 2 by the embedder that compares, None for one without a vector, and so is its
    score; without them the one that ships compares.
    """
    asked, *others = compared([query, *texts])
    rarity = _rarity([each.terms for each in others])
    near = [2 * each - 1 if each is not None else None for each in meanings] if meanings else None
    found: list[float | None] = []
    for place, other in enumerate(others):
        meaning = _dot(asked, other) if near is None else near[place]
        if meaning is None:
            found.append(None)
            continue
        words = _cosine(asked.terms, other.terms, rarity, len(others))
        found.append((1 + MEANING_SHARE * meaning + (1 - MEANING_SHARE) * words) / 2)
    return found


def alike_places(texts: Sequence[str]) -> list[list[int]]:
    """Return for each text the places of the others that are similar to it; it is for a thread."""
    if not texts:
        return []
    load_numpy()
    import numpy as np

    every, least = compared(texts), 2 * THRESHOLDS[StaticEmbedder.name] - 1
    rarity = _rarity([each.terms for each in every])
    rows = np.frombuffer(b"".join(each.english for each in every), dtype=np.float32).reshape(len(every), -1)
    near = rows @ rows.T
    found: list[list[int]] = [[] for _ in texts]
    # Where meaning alone is too far away, words that are all the same would not be enough.
    for one, other in np.argwhere(np.triu(MEANING_SHARE * near + 1 - MEANING_SHARE >= least, 1)).tolist():
        words = _cosine(every[one].terms, every[other].terms, rarity, len(every))
        if MEANING_SHARE * float(near[one, other]) + (1 - MEANING_SHARE) * words >= least:
            found[one].append(other)
            found[other].append(one)
    return found


def _dot(one: ComparedText, other: ComparedText) -> float:
    return sum(map(mul, one.english, other.english))


def _rarity(texts: Sequence[frozenset[str]]) -> dict[str, float]:
    counts = Counter(term for each in texts for term in each)
    return {term: _weight(term, count, len(texts)) for term, count in counts.items()}


def _weight(term: str, count: int, texts: int) -> float:
    return log((RARITY + texts) / (1 + count)) * (COMMON_WEIGHT if term in common_terms() else 1.0)


def _cosine(one: frozenset[str], other: frozenset[str], rarity: dict[str, float], texts: int) -> float:
    def square(terms: frozenset[str]) -> float:
        return sum((rarity.get(term) or _weight(term, 0, texts)) ** 2 for term in terms)

    length = sqrt(square(one) * square(other))
    return square(one & other) / length if length else 0.0
