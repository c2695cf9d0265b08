"""What a search works with and comes to: hits in one order, and what each source said of them."""

from enum import StrEnum
from typing import Literal

from msgspec import Struct, field

from ragforge.domain.search import Candidate, Hit, HitKind, Query
from ragforge.embedders.base import Embedder
from ragforge.memory.recall.questions import Questions
from ragforge.store.base import Store


class HitSource(StrEnum):
    """What speaks for a hit."""

    WORDS = "words"
    MEANING = "meaning"
    GRAPH = "graph"
    METADATA = "metadata"


class Why(Struct, frozen=True):
    """What one source says of a hit."""

    source: HitSource
    rank: int
    """From 1, within that source."""
    score: float
    """The source's own."""
    share: float
    """Of the score that decides the order."""


class RankedHit(Struct, frozen=True):
    """A hit with its place in the one order: `hit.score` is what decided, the sum of the shares in `why`."""

    hit: Hit
    why: tuple[Why, ...] = ()


class SearchResults(Struct, frozen=True):
    """What was found, best first."""

    found: tuple[RankedHit, ...]
    limited: str = ""
    """Why not every source was asked, for a user; empty when all were."""
    took_ms: float = 0.0

    @property
    def hits(self) -> list[Hit]:
        """The hits alone."""
        return [each.hit for each in self.found]


Key = tuple[str, HitKind]
"""What a candidate is known by. The id comes first: it decides between equals."""


def key_of(found: Candidate | Hit) -> Key:
    """The key of what was found."""
    return found.id, found.kind


class Kept(Struct, frozen=True):
    """An answer, and the state of the data that it holds for."""

    state: object
    answer: SearchResults


class Recall(Struct, frozen=True):
    """What a search works with. One for as long as the store is open: it holds the cache of queries."""

    store: Store
    embedder: Embedder | None = None
    """None where meaning is not compared."""
    fusion: Literal["convex", "rrf"] = "convex"
    cache: dict[Query, Kept] = field(default_factory=dict[Query, Kept])
    questions: Questions = field(default_factory=Questions)
