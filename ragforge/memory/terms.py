"""The words by which texts are compared: without stop words, and without their endings."""

import re
from functools import cache, lru_cache

from ragforge.domain.language.base import common_words
from ragforge.domain.language.lexicon import read_text
from ragforge.domain.language.words import TEXTS_KEPT_MAX, stem, words_of

SAME_SHARE = 0.6
"""Of the words of a statement: a text that holds so many of them says it."""

_NUMBER = re.compile(r"\d+(?:[.,]\d+|:\d\d(?!\d))*")


@lru_cache(TEXTS_KEPT_MAX)
def terms(text: str) -> frozenset[str]:
    """The stems of its words, in English where the lexicon knows them: what is spelled alike or means the
    same in two languages is one term."""
    return frozenset(map(stem, read_text(text).english))


@cache
def common_terms() -> frozenset[str]:
    """The stems of the words that everybody uses, whatever they speak of."""
    return frozenset(stem(word) for each in common_words() for word in words_of(each))


@lru_cache(TEXTS_KEPT_MAX)
def about(text: str) -> frozenset[str]:
    """The stems that say what it is about: without numbers and without words that everybody uses."""
    return frozenset(term for term in terms(text) - common_terms() if not any(map(str.isdigit, term)))


@lru_cache(TEXTS_KEPT_MAX)
def numbers_in(text: str) -> frozenset[str]:
    """Its numbers as they are written: `9443`, `1.5`, `10:30`."""
    return frozenset(_NUMBER.findall(text))


def last_number(text: str) -> list[str]:
    """The last of its numbers, where it has any."""
    return _NUMBER.findall(text)[-1:]


def says(text: str, statement: str) -> bool:
    """Whether the text says the statement: its numbers, and enough of its words."""
    wanted, there = terms(statement), terms(text)
    if not wanted or len(wanted & there) < SAME_SHARE * len(wanted):
        return False
    return not any(any(map(str.isdigit, word)) for word in wanted - there)
