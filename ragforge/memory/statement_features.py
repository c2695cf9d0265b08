"""The features of a statement that show how likely it is right as a whole: how certain its clauses are, and
its surroundings."""

import math
from collections.abc import Mapping, Sequence

from msgspec import Struct

from ragforge.domain.memories import MemoryType
from ragforge.memory.clauses import Clause
from ragforge.memory.terms import about

WORDS_MAX = 25
"""The maximum number of words of its message that count."""
SHARE_MIN = 0.002
"""Probabilities nearer to 0 and 1 count as this: beyond, they say no more."""


class JudgedClause(Struct, frozen=True):
    """A clause with the probability that it is to be stored, and of its type: by its words, and by rules."""

    clause: Clause
    kept: float
    types: Mapping[MemoryType, float]
    ruled: bool = False
    """Whether it matches a rule."""

    @property
    def type(self) -> MemoryType:
        return max(self.types, key=lambda type: self.types[type])


def features_of_statement(
    run: Sequence[JudgedClause],
    sentence: Sequence[JudgedClause],
    *,
    type: MemoryType,
    is_of_work: bool,
    message_words: int,
) -> dict[str, float]:
    """Return the features of a statement of this type made of these clauses of the sentence, by name.

    is_of_work: whether by rules it is a wish about all work.
    message_words: the number of words in its message, or 0 if the message is a list of statements.
    """
    start = next(at for at, one in enumerate(sentence) if one.clause is run[0].clause)
    end = start + len(run)
    likely = {each: sum(one.kept * one.types[each] for one in run) for each in MemoryType}
    total = sum(likely.values()) or 1.0
    second = max(share for each, share in likely.items() if each is not type)
    words = " ".join(one.clause.words for one in run)
    return {
        "kept": _odds(max(one.kept for one in run)),
        "sure": _odds(max(one.kept * one.types[type] for one in run)),
        "type": _odds(likely[type] / total),
        "type margin": (likely[type] - second) / total,
        "several types": float(len({one.type for one in run}) > 1),
        "ruled": float(any(one.ruled for one in run)),
        "ruled as type": float(any(one.ruled and one.type is type for one in run)),
        "of work": float(is_of_work),
        "clauses": min(len(run), 5),
        "whole": float(len(run) == len(sentence)),
        "first": float(start == 0),
        "before": _odds(sentence[start - 1].kept) if start else 0.0,
        "after": _odds(sentence[end].kept) if end < len(sentence) else 0.0,
        "asked": float(bool(run[0].clause.ends)),
        "words": math.log(max(1, len(words.split()))),
        "subjects": math.log(1 + len(about(words))),
        "message words": math.log(1 + max(len(words.split()), min(message_words, WORDS_MAX))),
        f"is {type}": 1.0,
    }


def _odds(share: float) -> float:
    share = min(max(share, SHARE_MIN), 1 - SHARE_MIN)
    return math.log(share / (1 - share))
