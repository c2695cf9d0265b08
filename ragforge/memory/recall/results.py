"""What a search comes to: hits in one order, and what each source said of them."""

from enum import StrEnum

from msgspec import Struct

from ragforge.domain.search import Candidate, Hit, HitKind


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
    """Why not every source was asked, for a person; empty when all were."""
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
