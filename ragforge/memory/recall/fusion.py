"""Combine the scores by words, meaning, graph and metadata into one order. Pure: scores in, shares out."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

from msgspec.structs import replace

from ragforge.domain.search import Candidate, HitKind, Related
from ragforge.memory.recall.results import HitSource, Key, Why, key_of

Scores = Mapping[Key, float]
"""The scores of one source, higher is better; it does not contain what the source does not know."""
Shares = dict[Key, list[Why]]

MEANING_SHARE = 0.35
"""The weight of meaning in the convex fusion; the rest is the weight of words."""
RRF_K = 60
"""The constant of reciprocal rank fusion, as published."""
GRAPH_SHARE = 0.2
"""The share that a turn gets of the score of the best result that leads to it."""
METADATA_SHARE = 0.1
"""The share of its own score that the most important and newest memory gets: it decides near ties."""
HALF_LIFE = timedelta(days=30)


def convex(words: Scores, meanings: Scores, *, unlisted: float = 0.0) -> Shares:
    """Scale each source's scores to 0..1 and weight them, so that a large lead in one source counts as such.

    unlisted: the highest score that results not in `words` may have. It becomes 0, so that a weak match is
    better than none.
    Source: Bruch, Gai, Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval" (2023).
    """
    shares: Shares = {}
    for source, scores, weight, low in (
        (HitSource.WORDS, words, 1 - MEANING_SHARE, unlisted),
        # What is not a candidate is the farthest; how far is unknown.
        (HitSource.MEANING, meanings, MEANING_SHARE, min(meanings.values(), default=0.0)),
    ):
        stretched = _stretched(scores, low)
        _add(shares, source, scores, {key: weight * value for key, value in stretched.items()})
    return shares


def reciprocal(shares: Shares) -> Shares:
    """Return shares of 1 / (60 + rank) in each source; the differences between scores do not count.

    Source: Cormack, Clarke, Büttcher, "Reciprocal Rank Fusion" (2009).
    """
    return {key: [replace(why, share=1 / (RRF_K + why.rank)) for why in whys] for key, whys in shares.items()}


def spread(scores: Scores, related: Sequence[Related]) -> Shares:
    """Return the shares of turns that are next to the results, and of turns that these cite.

    Only the best result that leads to a turn counts: many weak ones do not make a strong one.
    """
    by_id = {identifier: score for (identifier, _), score in scores.items()}
    handed = {key_of(each.turn): 0.0 for each in related}
    for each in related:
        key = key_of(each.turn)
        handed[key] = max(handed[key], by_id.get(each.of, 0.0))
    return {
        key: [Why(HitSource.GRAPH, rank, handed[key], GRAPH_SHARE * handed[key])]
        for key, rank in ranks(handed).items()
    }


def weigh(scores: Scores, candidates: Iterable[Candidate]) -> Shares:
    """Return the shares of memories by importance and age, half each; a replaced one has none.

    It is a part of their own score, so an important memory that does not fit stays in its place. Age is
    relative to the newest among them and not to now, so the same question to the same data has the same
    answer.
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


def ranks(scores: Scores) -> dict[Key, int]:
    """Return the rank of each, from 1; ties by id."""
    ordered = sorted([(-score, key) for key, score in scores.items()])
    return {key: rank for rank, (_, key) in enumerate(ordered, 1)}


def totals(shares: Mapping[Key, list[Why]]) -> dict[Key, float]:
    """Return the score of each: the sum of its shares."""
    return {key: sum([why.share for why in whys]) for key, whys in shares.items()}


def _add(shares: Shares, source: HitSource, scores: Scores, parts: Mapping[Key, float]) -> None:
    for key, rank in ranks(scores).items():
        shares.setdefault(key, []).append(Why(source, rank, scores[key], parts[key]))


def _stretched(scores: Scores, low: float) -> dict[Key, float]:
    """Scale the scores from 0, for the lowest possible, to 1, the highest; all are 1 if they are equal."""
    high = max(scores.values(), default=low)
    return {key: (score - low) / (high - low) if high > low else 1.0 for key, score in scores.items()}
