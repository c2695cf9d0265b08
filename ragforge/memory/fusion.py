"""One order of what several sources say. Pure: scores in, shares out, whatever order they come in."""

from collections.abc import Mapping

from ragforge.memory.results import HitSource, Key, Why

Scores = Mapping[Key, float]
"""What one source says, higher is better; what it does not know is not in it."""
Shares = dict[Key, list[Why]]

MEANING_SHARE = 0.3
"""What meaning counts for in the convex fusion; words count for the rest."""
RRF_K = 60
"""The constant of reciprocal rank fusion as it was published."""


def convex(words: Scores, meanings: Scores, *, unlisted: float = 0.0) -> Shares:
    """Each source's scores stretched to 0..1, then weighted: a great lead in one source counts as such.

    unlisted: the most that what is not in `words` may have there. It becomes 0, so that a weak match is more
    than none.
    Source: Bruch, Gai, Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval" (2023).
    """
    shares: Shares = {}
    for source, scores, weight, low in (
        (HitSource.WORDS, words, 1 - MEANING_SHARE, unlisted),
        # What is no candidate at all is the farthest; how far is not known.
        (HitSource.MEANING, meanings, MEANING_SHARE, min(meanings.values(), default=0.0)),
    ):
        stretched = _stretched(scores, low)
        _add(shares, source, scores, {key: weight * value for key, value in stretched.items()})
    return shares


def reciprocal(words: Scores, meanings: Scores) -> Shares:
    """Each source's ranks as 1 / (60 + rank): how far apart the scores lie does not count.

    Source: Cormack, Clarke, Büttcher, "Reciprocal Rank Fusion" (2009).
    """
    shares: Shares = {}
    for source, scores in ((HitSource.WORDS, words), (HitSource.MEANING, meanings)):
        _add(shares, source, scores, {key: 1 / (RRF_K + rank) for key, rank in ranks(scores).items()})
    return shares


def ranks(scores: Scores) -> dict[Key, int]:
    """The place of each, from 1; ties by id."""
    ordered = sorted(scores, key=lambda key: (-scores[key], key))
    return {key: rank for rank, key in enumerate(ordered, 1)}


def totals(shares: Mapping[Key, list[Why]]) -> dict[Key, float]:
    """The score of each: the sum of its shares."""
    return {key: sum(why.share for why in whys) for key, whys in shares.items()}


def _add(shares: Shares, source: HitSource, scores: Scores, parts: Mapping[Key, float]) -> None:
    for key, rank in ranks(scores).items():
        shares.setdefault(key, []).append(Why(source, rank, scores[key], parts[key]))


def _stretched(scores: Scores, low: float) -> dict[Key, float]:
    """The scores from 0, for the lowest that there may be, to 1, the highest; all 1 where they are equal."""
    high = max(scores.values(), default=low)
    return {key: (score - low) / (high - low) if high > low else 1.0 for key, score in scores.items()}
