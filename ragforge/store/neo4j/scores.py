"""Rank results by words, by one measure over all properties and by the scope's own counts.

Lucene weights each property separately, and a word by its rarity there in all that is stored. A search is
mostly within one project, in which other words are rare. So if that is small, Lucene's best results are
ranked again as in SQLite: by BM25 over the weighted properties together (`store/sqlite/words.py`).
"""

import math
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from ragforge.domain import timeouts
from ragforge.store.neo4j.connection import Graph
from ragforge.store.neo4j.places import Key, key_of
from ragforge.store.neo4j.schema import WORDS_INDEX
from ragforge.store.neo4j.search_words import WEIGHTS, lucene

SURPLUS = 200
"""How many more results than wanted are ranked again."""
SMALL_ROWS_MAX = 10_000
COUNTED_MAX = 2_000
"""A word that more rows contain says little; it is not counted further."""
SCOPES_MAX = 64
WORDS_MAX = 4_096
TEXT_CHARS_MAX = 8_000
"""Of a longer text only the beginning is used: the rest changes little and takes long to send."""

K1 = 1.2
B = 0.75
"""The same as in FTS5."""

COUNTS = f"""
UNWIND range(0, size($wanted) - 1) AS at
CALL (at) {{
  CALL db.index.fulltext.queryNodes('{WORDS_INDEX}', $wanted[at], {{limit: $limits[at]}}) YIELD node
  RETURN count(node) AS count
}}
RETURN at, count ORDER BY at
"""


class Rarity(Struct, frozen=True):
    """The number of rows in a scope, and how many of them contain each word."""

    size: int
    counts: Mapping[str, int]

    def of(self, word: str) -> float:
        """Return the word's rarity: high for a rare word, never below 0."""
        count = min(self.counts[word], self.size)
        return math.log(1 + (self.size - count + 0.5) / (count + 0.5))


class _Scope(Struct):
    until_s: float
    counts: dict[str, int] = field(default_factory=dict[str, int])


class Rarities:
    """Queries a scope's counts only occasionally: they change slowly, and affect only the ranking."""

    def __init__(self) -> None:
        self._scopes: dict[str, _Scope] = {}

    async def of(self, graph: Graph, scope: str, words: Iterable[str]) -> Rarity | None:
        """Return the words' rarity in the scope (Lucene's); None if it is too large, or everything.

        Raises StoreUnavailable.
        """
        if not scope:
            return None
        known = self._known(scope)
        wanted = list(words)
        new = [word for word in ("", *wanted) if word not in known.counts]
        if new:
            questions = [lucene([word], scope=scope) if word else scope for word in new]
            limits = [COUNTED_MAX if word else SMALL_ROWS_MAX + 1 for word in new]
            rows = await graph.read(COUNTS, wanted=questions, limits=limits)
            known.counts.update({word: row["count"] for word, row in zip(new, rows, strict=True)})
        size = known.counts[""]
        if size > SMALL_ROWS_MAX:
            return None
        return Rarity(size, {word: known.counts[word] for word in wanted})

    def _known(self, scope: str) -> _Scope:
        now_s = time.monotonic()
        known = self._scopes.get(scope)
        if known is None or known.until_s < now_s or len(known.counts) > WORDS_MAX:
            self._scopes.pop(scope, None)
            while len(self._scopes) >= SCOPES_MAX:
                del self._scopes[next(iter(self._scopes))]
            known = self._scopes[scope] = _Scope(now_s + timeouts.NEO4J_SIZES_KNOWN_S)
        return known


def weighed_again(rows: Sequence[Mapping[str, Any]], rarity: Rarity, *, limit: int) -> dict[Key, float]:
    """Return the best of the rows with their scores, newest first of equals.

    Each has `texts`, the beginnings of the properties in the order of WEIGHTS, and `chars`, their length.
    """
    mean = sum(row["chars"] for row in rows) / len(rows) if rows else 0.0
    scores = {key_of(row): _score(row, rarity, mean) for row in rows}
    # Ids sort by the time they were made.
    newest = sorted(scores, key=lambda key: key[1], reverse=True)
    best = sorted(newest, key=lambda key: -scores[key])[:limit]
    return {key: scores[key] for key in best}


def _score(row: Mapping[str, Any], rarity: Rarity, mean: float) -> float:
    frequencies: dict[str, float] = {}
    for (_, weight), text in zip(WEIGHTS, row["texts"], strict=True):
        beginning: str = text or ""
        for word, count in Counter(beginning.split()).items():
            if word in rarity.counts:
                frequencies[word] = frequencies.get(word, 0.0) + weight * count
    damping = K1 * (1 - B + B * (row["chars"] / mean if mean else 1.0))
    return sum(rarity.of(word) * often / (often + damping) for word, often in frequencies.items())
