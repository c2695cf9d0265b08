"""What lies one step from what was found has a share in its score. Pure."""

from collections.abc import Sequence

from ragforge.domain.search import Related
from ragforge.memory.fusion import Scores, Shares, ranks
from ragforge.memory.results import HitSource, Why, key_of

GRAPH_SHARE = 0.25
"""What a turn has of the score of the best that leads to it."""


def spread(scores: Scores, related: Sequence[Related]) -> Shares:
    """The shares of turns beside what was found, and of turns that it cites.

    Only the best that leads to a turn counts: many weak ones are no strong one.
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
