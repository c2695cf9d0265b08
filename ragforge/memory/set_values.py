"""What a sentence sets to a number: "bump the password rule to 16 characters"."""

import re
from functools import cache, lru_cache

from msgspec import Struct

from ragforge.domain.language.base import AnyOf, first_group, languages, stop_words
from ragforge.domain.language.lexicon import in_english
from ragforge.domain.language.words import TEXTS_KEPT_MAX, stem
from ragforge.memory.statements import is_question, is_so, is_wondering, plain
from ragforge.memory.terms import about

_SETS = AnyOf(lambda language: language.sets)
_RISES = AnyOf(lambda language: language.rises)
_BOUNDS = AnyOf(lambda language: language.bounds)
_TO_MEND = AnyOf(lambda language: language.to_mend)
_TOTALS = AnyOf(lambda language: language.totals)
_COMES = AnyOf(lambda language: language.comes)
_VALUE = re.compile(r"(\b(?:at|à|to)\s+)?(?<![\w.,:])(\d+(?:[.,:]\d+)?) ?([^\W\d]+|%)?")
_DIGIT = re.compile(r"\d")
_CLAUSES = re.compile(r"[,;:]\s|\s(?:and|et)\s")
CLOCK = "clock"
CLOCK_DIGITS_MAX = 2
"""`at 4` is a time, `at 4220` is none."""
TELLING_DIGITS = 3
"""Two numbers of so many digits without a unit are the same kind of thing: ports, sizes, years."""
_CLOCK_WORDS = frozenset({"h", "am", "pm"})
TOPIC_SHARE = 0.5
"""The share of the words for what is set from which a statement is about it."""


TOPIC_WORDS_MIN = 2
_MEASURES = (
    "ms s sec secs second seconds min mins minute minutes h hour hours day days week weeks month months "
    "year years secondes heure heures jour jours semaine semaines mois année années",
    "b kb mb gb tb ko mo go to kib mib gib byte bytes octets",
    "€ $ euro euros dollar dollars cents",
)


class NumberWithUnit(Struct, frozen=True):
    """A number, and the stem of what it counts; `CLOCK` for a time of day."""

    number: str
    unit: str


class SetValue(Struct, frozen=True):
    """What is set, and to what."""

    topic: frozenset[str]
    value: NumberWithUnit
    rises: bool = False
    """Whether it rises or falls, so that it had a number before, and its unit need not be repeated."""


@lru_cache(TEXTS_KEPT_MAX)
def set_values(sentence: str) -> tuple[SetValue, ...]:
    """Return what the sentence sets; nothing if it asks or wonders."""
    words = plain(sentence)
    # Most sentences have no number, and the patterns are slow to find none.
    if not _DIGIT.search(words) or is_question(words) or is_wondering(words):
        return ()
    return tuple(
        SetValue(topic, values[0], rises)
        # "to 9" may be a time of day, but nothing falls to one.
        for pattern, before, rises in ((_SETS, 3, False), (_RISES, 0, True))
        for found in pattern.finditer(words)
        if not rises or (is_so(words, found.end()) and not _TO_MEND.search(words))
        if (topic := about(first_group(found))) and (values := values_in(words[found.end() - before :]))
    )


def sets_otherwise(sentence: str, statement: str) -> bool:
    """Whether the sentence sets what the statement gives, in the same unit, to another number."""
    changes = set_values(sentence)
    if not changes or statement.rstrip().endswith("?"):
        return False
    values = values_in(plain(statement))
    if any(each.rises and _gives_other(each, statement) for each in changes):
        return True
    for each in changes:
        given = [value for value in values if _same_unit(value, each.value)]
        others = len(values) - len(given)
        is_clear = len(given) == 1 and (not others or each.value.unit)
        if is_clear and each.value.number != given[0].number and _is_about(each, given[0], about(statement)):
            return True
    return False


def _gives_other(change: SetValue, statement: str) -> bool:
    """Whether a clause of the statement that names what rises or falls gives it one number, another one. A
    value that only has a minimum or maximum may rise and fall."""
    if _BOUNDS.search(plain(statement)):
        return False
    for clause in _CLAUSES.split(plain(statement)):
        values = values_in(clause)
        is_same = len(values) == 1 and (not change.value.unit or _same_unit(values[0], change.value))
        if is_same and values[0].number != change.value.number and change.topic <= about(clause):
            return True
    return False


def _same_unit(old: NumberWithUnit, new: NumberWithUnit) -> bool:
    """Whether both count the same, "20 s" and "3 seconds" too."""
    if old.unit == new.unit:
        return True
    short, long = sorted((old.unit, new.unit), key=len)
    return short != "" and long.startswith(short) and same_kind(old, new)


def _is_about(change: SetValue, given: NumberWithUnit, words: frozenset[str]) -> bool:
    """Whether a statement of these words gives what is changed. Without a unit it has to name all of it."""
    shared = len(change.topic & words)
    if given.unit:
        return shared >= max(1, TOPIC_SHARE * len(change.topic))
    is_telling = min(len(change.value.number), len(given.number)) >= TELLING_DIGITS
    return is_telling and shared == len(change.topic) >= TOPIC_WORDS_MIN


@lru_cache(TEXTS_KEPT_MAX)
def new_totals(sentence: str) -> tuple[tuple[int | None, NumberWithUnit], ...]:
    """Return how many there are now of something that increased, each after the number that there must have
    been before, if it follows from the sentence: "two more tanks arrived, that's 14 in total", "a fourth bus
    joins us" (from 3 on)."""
    words = plain(sentence)
    if is_question(words) or is_wondering(words):
        return ()
    found: list[tuple[int | None, NumberWithUnit]] = [
        (None, NumberWithUnit(number, unit_of(counted)))
        for counted, number in (filter(None, each.groups()) for each in _TOTALS.finditer(words))
    ]
    if _COMES.search(words):
        found += [
            (before, NumberWithUnit(str(before + 1), unit_of(each[2])))
            for each in _ordinal().finditer(words)
            for before in [_ordinals()[each[1].lower()] - 1]
        ]
    return tuple(found)


@cache
def _ordinals() -> dict[str, int]:
    lists = (each.ordinals_from_two.split() for each in languages())
    return {word: at for each in lists for at, word in enumerate(each, 2)}


@cache
def _ordinal() -> re.Pattern[str]:
    """Return a pattern for an ordinal, and what is counted."""
    return re.compile(rf"\b({'|'.join(_ordinals())}) ([^\W\d]+)", re.IGNORECASE)


def values_in(words: str) -> tuple[NumberWithUnit, ...]:
    """Return the numbers of a text with their units."""
    return tuple(_value(found) for found in _VALUE.finditer(words))


def unit_of(word: str) -> str:
    """Return the stem of what a number counts, in English if the lexicon has it."""
    unit = word.lower()
    return next(map(stem, in_english(unit)), unit)


def same_kind(old: NumberWithUnit, new: NumberWithUnit) -> bool:
    """Whether the new one can be another value for the same thing: it counts the same, omits what it counts,
    or measures it in another unit, minutes instead of seconds."""
    if not new.unit or old.unit == new.unit:
        return True
    return any(old.unit in units and new.unit in units for units in _measures())


@cache
def _measures() -> list[frozenset[str]]:
    """Return sets of units in which the same thing can be measured."""
    return [frozenset(map(unit_of, units.split())) for units in _MEASURES]


def _value(found: re.Match[str]) -> NumberWithUnit:
    number, unit = found[2].removesuffix(":00").lstrip("0") or "0", (found[3] or "").lower()
    is_bare = not unit or (found[1] and unit in stop_words())  # "at 3 to the disk" is no 3 terabytes
    if ":" in found[2] or unit in _CLOCK_WORDS or (found[1] and is_bare and len(number) <= CLOCK_DIGITS_MAX):
        return NumberWithUnit(number, CLOCK)
    return NumberWithUnit(number, unit_of(unit))
