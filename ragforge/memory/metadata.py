"""What is known of a memory beside its words: how much it matters, and how new it is. Pure."""

from collections.abc import Iterable
from datetime import timedelta

from ragforge.domain.search import Candidate, HitKind
from ragforge.memory.fusion import Scores, Shares, ranks
from ragforge.memory.results import HitSource, Why, key_of

METADATA_SHARE = 0.1
"""What a memory that matters most and is newest has of its own score: it decides between near equals."""
HALF_LIFE = timedelta(days=30)


def weigh(scores: Scores, candidates: Iterable[Candidate]) -> Shares:
    """The shares of memories by their importance and their age, half each; one that was replaced has none.

    A part of their own score, so that what matters but does not fit stays where it is. The age is counted
    from the newest among them and not from now: the same question to the same data has the same answer.
    """
    memories = [each for each in candidates if each.kind is HitKind.MEMORY and not each.replaced]
    if not memories:
        return {}
    newest = max(each.at for each in memories)
    weights = {
        key_of(each): (each.importance + 0.5 ** ((newest - each.at) / HALF_LIFE)) / 2 for each in memories
    }
    return {
        key: [Why(HitSource.METADATA, rank, weights[key], METADATA_SHARE * weights[key] * scores[key])]
        for key, rank in ranks(weights).items()
    }
