"""The probability that a wish of the user is outdated since a later message, if no rule decides.

Two things together end a wish: the message is about the same thing, and it allows, changes or forbids
something. A logistic regression weights features of both. What a message is about is compared word by word by
meaning, since people say "containers" for Docker, and what the answer reports counts too.
`python -m training.changes` computes the weights from `training/changes`.
"""

import json
import math
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from ragforge.domain.blas import load_numpy
from ragforge.domain.language.base import AnyOf
from ragforge.domain.language.lexicon import read_text
from ragforge.domain.language.words import stem
from ragforge.embedders.static import StaticEmbedder
from ragforge.memory.constraints import is_for_all_work
from ragforge.memory.prohibitions import forbids_something
from ragforge.memory.recall.fit import compared
from ragforge.memory.recall.likely_changes import Later, Signs, signs_of
from ragforge.memory.statements import is_question, plain
from ragforge.memory.terms import about, common_terms
from ragforge.memory.wishes import is_negative, is_wish, objects_of

if TYPE_CHECKING:
    import numpy as np

    Rows = np.ndarray[tuple[int, int], np.dtype[np.float32]]

WEIGHTS = Path(__file__).with_name("likely_endings.json")
LIKELY = 0.7
"""From this probability on, a wish is marked as possibly replaced."""
LIKELY_WITH_SIGNS = 0.6
"""The same for a sentence with words that permit, ease or change something."""
NEAR_MIN = 0.35
"""A cosine: below it, two words are unrelated."""
COVERED_MIN, ALIKE_MIN = 0.08, 0.2
"""A sentence that has less in common with a wish is not compared further."""
SHORT_WORDS = 8
SHARED_COUNTED = 3
WORDS_COUNTED = 12
WORDS_KEPT_MAX = 512
"""How many texts are cached with the vectors of their words, some ten kilobytes each."""

_EASES = AnyOf(lambda language: language.eases)
_PERMITS = AnyOf(lambda language: language.permits)
_STOPS = AnyOf(lambda language: language.stops)
_STOPS_DOING = AnyOf(lambda language: language.stops_doing)
_NARROWS = AnyOf(lambda language: language.restricts)
_FOR_ONCE = AnyOf(lambda language: language.for_once)
_REMAINS = AnyOf(lambda language: language.remains)


class _Cues(Struct, frozen=True):
    """What a sentence does, regardless of its subject."""

    permits: bool
    eases: bool
    narrows: bool
    negated: bool
    for_once: bool
    remains: bool
    wishes: bool
    forbids: bool
    short: bool


def always_stands(statement: str) -> bool:
    """Return whether the user's statement is a wish about all work, which is included before every message.
    That something need not be done any longer is not."""
    words = plain(statement)
    return is_for_all_work(statement) and not (is_question(words) or _STOPS.search(words))


@lru_cache(WORDS_KEPT_MAX)
def _cues(sentence: str) -> _Cues:
    words = plain(sentence)
    return _Cues(
        permits=any(each.search(words) for each in (_PERMITS, _STOPS, _STOPS_DOING)),
        eases=_EASES.search(words) is not None,
        narrows=_NARROWS.search(words) is not None,
        negated=is_negative(words),
        for_once=_FOR_ONCE.search(words) is not None,
        remains=_REMAINS.search(words) is not None,
        wishes=is_wish(sentence),
        forbids=forbids_something(words),
        short=len(words.split()) <= SHORT_WORDS,
    )


def may_end_likely(turn: Later) -> bool:
    """Return whether a sentence of the user in the turn contains words by which a wish may end."""
    return any(_EASES.search(plain(each)) for each in turn.said)


def ending_signs(wish: str, told: str, by: Later) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield the later user's sentences that have something in common with the wish, and their features.

    told: the answer to the wish.
    """
    wish = _without_lead(wish)
    old, cues, objects = signs_of(wish), _cues(wish), objects_of(wish)
    said, answer = by.said, by.answer
    in_answer, nearest_in_answer = _covered(wish, answer)
    for at, sentence in enumerate(said):
        new = signs_of(sentence)
        shared = old.about & new.about
        covered, nearest = _covered(wish, sentence)
        alike = _alike(wish, sentence)
        if new.asks or (not shared and covered < COVERED_MIN and alike < ALIKE_MIN):
            continue
        signs = _of_both(old, new, cues, _cues(sentence)) | {
            "covered": covered,
            "nearest": nearest,
            "covers": _covered(sentence, wish)[0],
            "alike": alike,
            "covered by the answer": in_answer,
            "nearest in the answer": nearest_in_answer,
            "covered by the rest": _covered(wish, " ".join((*said[:at], *said[at + 1 :])))[0],
            "covers what was told": _covered(told, sentence)[0],
            "object": float(not objects.isdisjoint(new.about)),
            "object in the answer": float(not objects.isdisjoint(about(answer))),
            "shares": min(len(shared), SHARED_COUNTED) / SHARED_COUNTED,
        }
        yield sentence, signs | {f"{one} x {two}": signs[one] * signs[two] for one, two in TOGETHER}


def _without_lead(wish: str) -> str:
    """Return the wish without the words that only announce it: "one thing before you go on: no ORM"."""
    _, colon, rest = wish.partition(": ")
    return rest if colon and always_stands(rest) else wish


def _of_both(old: Signs, new: Signs, wish: _Cues, said: _Cues) -> dict[str, float]:
    """Return what the two sentences do, and what their values and names have in common."""
    signs = {
        "permits": said.permits,
        "eases": said.eases,
        "changes": new.changes or new.moves_on,
        "narrows": said.narrows,
        "negated": said.negated,
        "for once": said.for_once,
        "remains": said.remains,
        "wishes": said.wishes,
        "short": said.short,
        "wish is negated": wish.negated,
        "wish forbids": wish.forbids,
        "one is negated": wish.negated != said.negated,
        "other number": bool(old.numbers and new.numbers and not old.numbers & new.numbers),
        "other name": bool(old.names - new.names and new.names - old.names),
        "long wish": min(len(old.about), WORDS_COUNTED) / WORDS_COUNTED,
        "long": min(len(new.about), WORDS_COUNTED) / WORDS_COUNTED,
    }
    return {name: float(value) for name, value in signs.items()}


TOGETHER = (
    ("covered", "permits"),
    ("covered", "eases"),
    ("covered", "changes"),
    ("covered", "one is negated"),
    ("covered", "covers"),
    ("object", "permits"),
    ("object", "eases"),
    ("object", "changes"),
    ("alike", "eases"),
    ("alike", "changes"),
    ("covers", "eases"),
    ("covers", "changes"),
    ("wish forbids", "eases"),
)
"""Return combined features, which say more together."""


def likely_end(wish: str, told: str, by: Later) -> str:
    """Return the user's sentence in the later turn that likely ends the wish; empty if there is none.

    wish: with digits for number words, as in the turn. told: the answer to it.
    """
    weights = _weights()
    found = [
        (sum(weights[name] * value for name, value in signs.items() if value) - _bar(signs), sentence)
        for sentence, signs in ending_signs(wish, told, by)
    ]
    score, sentence = max(found, default=(-math.inf, ""))
    return sentence if score + weights[""] >= 0 else ""


def _bar(signs: dict[str, float]) -> float:
    """Return what a sentence with these signs must score to be likely to end a wish."""
    has_sign = any(signs[each] for each in ("permits", "eases", "changes"))
    bar = LIKELY_WITH_SIGNS if has_sign else LIKELY
    return math.log(bar / (1 - bar))


def _alike(one: str, other: str) -> float:
    """Return the cosine of the two in English."""
    load_numpy()
    import numpy as np

    first, second = (np.frombuffer(each.english, dtype=np.float32) for each in compared([one, other]))
    return float(first @ second)


def _covered(text: str, by: str) -> tuple[float, float]:
    """Return the share of the text's words with one of nearly the same meaning in the other text, and how
    near the nearest is, from 0 to 1."""
    one, other = _word_vectors(text), _word_vectors(by)
    if not len(one) or not len(other):
        return 0.0, 0.0
    near = ((one @ other.T).max(axis=1) - NEAR_MIN).clip(min=0) / (1 - NEAR_MIN)
    return float(near.mean()), float(near.max())


@lru_cache(WORDS_KEPT_MAX)
def _word_vectors(text: str) -> "Rows":
    """Return a row for each word in English that says what the text is about."""
    load_numpy()
    import numpy as np

    words = {stem(word): word for word in read_text(text).english}
    told = [word for term, word in words.items() if term not in common_terms() and not _has_digit(term)]
    if not told:
        return np.zeros((0, StaticEmbedder.dimensions), dtype=np.float32)
    rows = b"".join(StaticEmbedder().vectors(told))
    return np.frombuffer(rows, dtype=np.float32).reshape(len(told), -1)


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))


@cache
def _weights() -> dict[str, float]:
    found: dict[str, float] = json.loads(WEIGHTS.read_text("utf-8"))
    return found
