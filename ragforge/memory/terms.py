"""The words by which texts are compared: without stop words, and without their endings."""

import re
from collections.abc import Sequence
from functools import cache, lru_cache

from ragforge.domain.language.base import common_words, languages, numbers, words_in
from ragforge.domain.language.lexicon import read_text
from ragforge.domain.language.words import TEXTS_KEPT_MAX, stem, words_of

SAME_SHARE = 0.6
"""The share of a statement's words from which a text says it."""

HUNDRED, THOUSAND = 100, 1_000
_LETTERS = re.compile(r"[^\W\d_]+")
DIGITS_CHARS_MAX = 4_000
"""The maximum length of a text in which numbers in words are looked for."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+|:\d\d(?!\d))*")


@lru_cache(TEXTS_KEPT_MAX)
def terms(text: str) -> frozenset[str]:
    """Return the stems of its words, in English if the lexicon has them: words with the same spelling or
    meaning in two languages are one term."""
    return frozenset(map(stem, read_text(text).english))


@cache
def common_terms() -> frozenset[str]:
    """Return the stems of common words, which say nothing about the subject."""
    return frozenset(stem(word) for each in common_words() for word in words_of(each))


@lru_cache(TEXTS_KEPT_MAX)
def about(text: str) -> frozenset[str]:
    """Return the stems that say what it is about: without numbers and without common words."""
    return frozenset(term for term in terms(text) - common_terms() if not any(map(str.isdigit, term)))


@lru_cache(TEXTS_KEPT_MAX)
def numbers_in(text: str) -> frozenset[str]:
    """Return its numbers as they are written, and those in words with digits: `9443`, `1.5`, `10:30`."""
    return frozenset(_NUMBER.findall(with_digits(text)))


@lru_cache(TEXTS_KEPT_MAX)
def with_digits(text: str) -> str:
    """Return the text with numbers in words replaced by digits: "half an hour" is "30 minutes", "vingt-cinq"
    is "25". "One" stays except before a time: it is an article, too."""
    if len(text) > DIGITS_CHARS_MAX:
        return text
    begins, pattern, digits = _numeric()
    # A pattern that is tried at every position of a text takes ten times as long.
    places = [each.start() for each in _LETTERS.finditer(text) if each[0].lower() in begins]
    found, end = list[str](), 0
    for place in places:
        if place >= end and (match := pattern.match(text, place)):
            found += [
                text[end:place],
                digits[match.lastindex - 1] if match.lastindex else _in_digits(match[0]),
            ]
            end = match.end()
    return _half_more().sub(r"\1.5", "".join([*found, text[end:]])) if found else text


@cache
def _numeric() -> tuple[frozenset[str], re.Pattern[str], Sequence[str]]:
    """Return the words that a number or an amount begins with, a pattern for both, and the replacement of
    each of its groups."""
    amounts = [each for language in languages() for each in language.amounts.items()]
    word = f"(?:{'|'.join(sorted(numbers(), key=len, reverse=True))})"
    joins, ones = ("|".join(sorted(words_in(each))) for each in ("joins_numbers", "ones"))
    more = rf"(?:[ -](?:(?:{joins})[ -])?{word}|(?:-| (?:{joins}) )(?:{ones})\b)"
    either = "|".join([*(f"({pattern})" for pattern, _ in amounts), rf"{word}{more}*(?![\w-])"])
    return (
        words_in("begins_amounts") | numbers().keys(),
        re.compile(rf"(?<![\w-])(?:{either})", re.IGNORECASE),
        [digits for _, digits in amounts],
    )


@cache
def _half_more() -> re.Pattern[str]:
    """Return a pattern for what adds a half to the number before it."""
    halves = "|".join(each.halves for each in languages() if each.halves)
    return re.compile(rf"(\d) (?:{halves})(?!\w)", re.IGNORECASE)


def _in_digits(words: str) -> str:
    """Return the words as one number, or as several if they cannot be one: "two or three"."""
    parts, value, group = list[str](), 0, 0
    for gap, word in _parts().findall(words):
        each = numbers().get(word.lower(), 1)
        grown = _grown(group, each)
        if group and grown is None:
            parts += [str(value + group), gap]
            value, group, grown = 0, 0, each
        if grown is None:
            grown = each
        if each == THOUSAND:
            value, grown = value + grown, 0
        group = grown
    return "".join([*parts, str(value + group)])


@cache
def _parts() -> re.Pattern[str]:
    """Return a pattern for a word of a number, and what is between it and the one before."""
    joins = "|".join(sorted(words_in("joins_numbers")))
    return re.compile(rf"((?:[ -](?:{joins})(?=[ -]))?[ -]?)([^\W\d_]+)")


def _grown(group: int, word: int) -> int | None:
    """Return the number below a thousand extended by the word; None if the word begins another number."""
    if word in (HUNDRED, THOUSAND):
        return (group or 1) * word
    if group == 4 and word == 20:
        return 80  # quatre-vingts
    rest = group % HUNDRED
    room = 20 if rest in (60, 80) else 10  # soixante-dix, quatre-vingt-quinze
    return group + word if not rest or (rest % 10 == 0 and rest >= 20 and word < room) else None


def last_number(text: str) -> list[str]:
    """Return the last of its numbers, if it has any."""
    return _NUMBER.findall(text)[-1:]


def says(text: str, statement: str) -> bool:
    """Whether the text says the statement: its numbers, and enough of its words."""
    wanted, there = terms(statement), terms(text)
    if not wanted or len(wanted & there) < SAME_SHARE * len(wanted):
        return False
    return not any(any(map(str.isdigit, word)) for word in wanted - there)
