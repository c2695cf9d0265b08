"""The probability that a statement is outdated since a later turn, if no rule decides.

A logistic regression over a few features: what the statement and the later turn share, different numbers and
names for the same thing, words of change. `python -m training.changes` computes its weights from
`training/changes`.
"""

import json
import math
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path

from msgspec import Struct

from ragforge.domain.language.base import AnyOf
from ragforge.domain.language.words import TEXTS_KEPT_MAX
from ragforge.memory.constraints import binds
from ragforge.memory.likeness import name_parts, names_in
from ragforge.memory.second_thoughts import stated_values
from ragforge.memory.sentences import sentences
from ragforge.memory.set_values import NumberWithUnit
from ragforge.memory.statements import is_question, is_wondering, readable
from ragforge.memory.terms import about, numbers_in, with_digits

WEIGHTS = Path(__file__).with_name("likely_changes.json")
LIKELY = 0.8
"""From this probability on, a statement is marked as possibly replaced."""
SHORT_WORDS = 8
FEW_WORDS = 6
SHARED_COUNTED = 6
CONTENT_COUNTED = 12
TEXT_CHARS_MAX = 400
"""The length that is read of a message and of an answer: changes are told briefly, and an essay contains
words for any change."""
CODE_LINES_MAX = 10

_CHANGES = AnyOf(lambda language: language.changes)
_MOVES_ON = AnyOf(lambda language: language.moves_on)
_NEGATED = AnyOf(lambda language: language.negated)
_DONE = AnyOf(lambda language: language.done)
_STANDING = AnyOf(lambda language: language.standing)
_OPEN = AnyOf(lambda language: language.leaves_open)
_PAST = AnyOf(lambda language: language.cues.get("past", ()))
_BLOCK = re.compile(r"```\w*\n(.*?)```", re.DOTALL)
_PUT_TOGETHER = re.compile(r"\w*[a-z][A-Z_./(]\w*|\w+[_./]\w+")


class Signs(Struct, frozen=True):
    """A sentence prepared for comparison."""

    about: frozenset[str]
    numbers: frozenset[str]
    values: tuple[NumberWithUnit, ...]
    names: frozenset[str]
    asks: bool
    changes: bool
    moves_on: bool
    done: bool
    standing: bool
    binds: bool
    negated: bool
    open: bool
    past: bool
    words: int


@lru_cache(TEXTS_KEPT_MAX)
def signs_of(sentence: str) -> Signs:
    """Return what is compared of the sentence."""
    words = readable(sentence)
    parts = " ".join(name_parts(" ".join(_PUT_TOGETHER.findall(words))))
    return Signs(
        about=about(f"{words} {parts}"),
        numbers=numbers_in(words),
        values=stated_values(words),
        names=frozenset(name for name in names_in(f"x {words}") if not name.isdigit()),
        asks=is_question(words) or is_wondering(words),
        changes=_CHANGES.search(words) is not None,
        moves_on=_MOVES_ON.search(words) is not None,
        done=_DONE.search(words) is not None,
        standing=_STANDING.search(words) is not None,
        binds=binds(sentence),
        negated=_NEGATED.search(words) is not None,
        open=_OPEN.search(words) is not None,
        past=_PAST.search(words) is not None,
        words=len(words.split()),
    )


class Later(Struct, frozen=True):
    """A turn prepared for comparison with statements of earlier ones."""

    sentences: tuple[str, ...]
    """The user's, then the answer's, and the values that code in it sets."""
    of_user: int
    """How many of them are the user's."""
    user_words: int

    @property
    def said(self) -> tuple[str, ...]:
        """The user's sentences."""
        return self.sentences[: self.of_user]

    @property
    def answer(self) -> str:
        """The sentences of the answer."""
        return " ".join(self.sentences[self.of_user :])


def later_turn(own: str, answer: str) -> Later:
    """Return the turn with these words of the user's own and this answer, number words replaced by digits."""
    said = tuple(sentences(with_digits(own[:TEXT_CHARS_MAX])))
    lines = [line for block in _BLOCK.findall(answer) for line in block.splitlines()]
    code = [line.strip() for line in lines if re.search(r"[=:]\s?\S", line)][:CODE_LINES_MAX]
    told = (*sentences(with_digits(answer[:TEXT_CHARS_MAX])), *code)
    return Later((*said, *told), len(said), len(own.split()))


def tells_a_change(turn: Later) -> bool:
    """Return whether a sentence of the turn contains words of change."""
    return any(each.changes or each.moves_on for each in map(signs_of, turn.sentences))


def signals(
    statement: str, by: Later, *, of_user: bool, is_next: bool
) -> tuple[dict[str, float], str] | None:
    """Return the features of the pair, and the sentence of the later turn that they are based on; None if the
    two have nothing in common."""
    old = signs_of(statement)
    if of_user and old.binds:
        return None  # a binding wish ends only by words that a rule knows, not in passing
    told = [(each, signs_of(each), at < by.of_user) for at, each in enumerate(by.sentences)]
    told = [each for each in told if not each[1].asks]
    least = max(1, len(old.about))
    everything = frozenset[str]().union(*(new.about for _, new, _ in told))
    of_the_user = frozenset[str]().union(*(new.about for _, new, is_users in told if is_users))
    shared = len(old.about & everything)
    if not told or not (shared or is_next):
        return None

    def fits(new: Signs) -> float:
        common = len(old.about & new.about)
        cues = 0.3 * new.moves_on + 0.4 * new.changes + 0.4 * _other(old, new)
        return common / least + 0.15 * min(common, 3) + cues

    sentence, new, is_users = max(told, key=lambda each: fits(each[1]))
    found = _of_both(old, new) | {
        "by the answer": float(not is_users),
        "covered by all": shared / least,
        "covered by the user": len(old.about & of_the_user) / least,
        "shares": min(shared, SHARED_COUNTED) / SHARED_COUNTED,
        "of the user": float(of_user),
        "next": float(is_next),
        "next and short": float(is_next and by.user_words <= FEW_WORDS),
    }
    return found | {f"{one} x {two}": found[one] * found[two] for one, two in TOGETHER}, sentence


def _of_both(old: Signs, new: Signs) -> dict[str, float]:
    """Return what the statement and a sentence have in common, and the features of each."""
    common, least = old.about & new.about, max(1, len(old.about))
    signs: dict[str, float] = {
        "covered": len(common) / least,
        "alike": len(common) / max(1, len(old.about | new.about)),
        "shares any": bool(common),
        "other number": bool(old.numbers and new.numbers and not old.numbers & new.numbers),
        "same number": bool(old.numbers & new.numbers),
        "other value": _other(old, new),
        "other name": bool(old.names - new.names and new.names - old.names),
        "same name": bool(old.names & new.names),
        "moves on": new.moves_on,
        "changes": new.changes,
        "done": new.done,
        "short": new.words <= SHORT_WORDS,
        "asks": old.asks,
        "standing": old.standing,
        "one is negated": old.negated != new.negated,
        "open": old.open,
        "past": old.past,
        "has a number": bool(old.numbers),
        "has a name": bool(old.names),
        "long": min(least, CONTENT_COUNTED) / CONTENT_COUNTED,
    }
    return {name: float(value) for name, value in signs.items()}


TOGETHER = (
    ("covered", "moves on"),
    ("covered", "changes"),
    ("covered by all", "moves on"),
    ("covered by all", "changes"),
    ("covered by the user", "changes"),
    ("covered", "other value"),
    ("covered by all", "other number"),
    ("covered", "other name"),
    ("open", "done"),
    ("standing", "changes"),
    ("covered by all", "covered by all"),
    ("same name", "changes"),
    ("same name", "moves on"),
    ("alike", "alike"),
    ("next and short", "asks"),
    ("next and short", "has a number"),
    ("covered by all", "asks"),
    ("covered by all", "past"),
    ("covered by all", "open"),
    ("covered by all", "of the user"),
)
"""Return combined features, which say more together."""


def probability(found: Mapping[str, float]) -> float:
    """Return the probability for these features, from 0 to 1."""
    weights = _weights()
    score = weights[""] + sum(weights[name] * value for name, value in found.items() if value)
    return 1 / (1 + math.exp(-score))


def outdated_by(statement: str, by: Later, *, of_user: bool, is_next: bool) -> str:
    """Return the sentence of the later turn that likely makes the statement outdated; empty if there is none.

    statement: with digits for number words, as in the turn.
    """
    found = signals(statement, by, of_user=of_user, is_next=is_next)
    return found[1] if found and probability(found[0]) >= LIKELY else ""


def _other(old: Signs, new: Signs) -> bool:
    """Return whether both give a number for the same thing, and a different one."""
    return any(
        one.unit and one.unit == other.unit and one.number != other.number
        for one in old.values
        for other in new.values
    )


@cache
def _weights() -> dict[str, float]:
    found: dict[str, float] = json.loads(WEIGHTS.read_text("utf-8"))
    return found
