"""The words by which texts are compared: without stop words, and without their endings."""

import re
import unicodedata
from functools import cache, lru_cache

from ragforge.domain.language.base import common_words
from ragforge.domain.language.words import words_of

SAME_SHARE = 0.6
"""Of the words of a statement: a text that holds so many of them says it."""

_NUMBER = re.compile(r"\d+(?:[.,]\d+|:\d\d(?!\d))*")
_ENDINGS = (
    *("ations", "ation", "ements", "ement"),
    *("ments", "ment"),  # codespell:ignore
    *("ings", "ing", "iers", "ier", "ees", "ee"),
    *("ions", "ion", "ages", "age"),
    *("ers", "er", "ed", "es", "s", "e"),
)
_STEM_CHARS_MIN = 4


@lru_cache(4_096)
def terms(text: str) -> frozenset[str]:
    """The stems of its words: what is spelled alike in two languages has one stem."""
    return frozenset(map(_stem, words_of(text)))


@cache
def common_terms() -> frozenset[str]:
    """The stems of the words that everybody uses, whatever they speak of."""
    return frozenset[str]().union(*map(terms, common_words()))


@lru_cache(4_096)
def about(text: str) -> frozenset[str]:
    """The stems that say what it is about: without numbers and without words that everybody uses."""
    return frozenset(term for term in terms(text) - common_terms() if not any(map(str.isdigit, term)))


@lru_cache(4_096)
def numbers_in(text: str) -> frozenset[str]:
    """Its numbers as they are written: `9443`, `1.5`, `10:30`."""
    return frozenset(_NUMBER.findall(text))


def says(text: str, statement: str) -> bool:
    """Whether the text says the statement: its numbers, and enough of its words."""
    wanted, there = terms(statement), terms(text)
    if not wanted or len(wanted & there) < SAME_SHARE * len(wanted):
        return False
    return not any(any(map(str.isdigit, word)) for word in wanted - there)


@lru_cache(20_000)
def _stem(word: str) -> str:
    folded = word if word.isascii() else _without_accents(word)
    if not folded.endswith(_ENDINGS):
        return folded
    for ending in _ENDINGS:
        if folded.endswith(ending) and len(folded) - len(ending) >= _STEM_CHARS_MIN:
            return folded.removesuffix(ending)
    return folded


def _without_accents(word: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFKD", word) if not unicodedata.combining(char))
