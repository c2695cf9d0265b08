"""The English meaning of words of other languages, from small tables beside the languages (`fr.txt`).

A line of a table contains English words, a colon and the words of the language with the same meaning. Words
are compared by their stems, which `make lexicon` stores beside the tables.
"""

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path

import msgspec
from msgspec import Struct

from ragforge.domain.language.base import Language, language_of
from ragforge.domain.language.words import stem, words_of

STEMMED = Path(__file__).parent / "lexicon.json"
"""The tables by stem."""
ALSO_MAX = 32
"""How many words are looked for in addition to those of a question."""
READ_MAX = 256
"""How many parsed texts are cached: each is compared in several ways at a time."""
PAIRS_MAX = 8
"""Up to this many words, two adjacent ones may also be written as one."""


class Lexicon(Struct, frozen=True):
    """The tables for look-up, by stem except for `joins`."""

    english: Mapping[str, str]
    """The English word for a foreign one."""
    ambiguous: frozenset[str]
    """Of these, the stems that English words have too."""
    meanings: Mapping[str, Sequence[str]]
    """All the English words for a foreign one."""
    foreign: Mapping[str, Sequence[str]]
    """All the foreign words for an English one, except those that are ambiguous."""
    synonyms: Mapping[str, Sequence[str]]
    """The English words to which foreign ones for an English one are translated."""
    joins: Mapping[str, Sequence[str]]
    """By the first of two words, the stems of what they are together: `time zone`."""


class ReadText(Struct, frozen=True):
    """The words of a text in order, without stop words."""

    words: Sequence[str]
    language: Language | None
    english: Sequence[str]
    """See `translated`."""


def in_english(text: str) -> list[str]:
    """Return the words of the text in order, without stop words, and as `translated`."""
    return list(read_text(text).english)


@lru_cache(READ_MAX)
def read_text(text: str) -> ReadText:
    """Return the words of the text, and the same in English."""
    words, language = words_of(text), language_of(text)
    return ReadText(words, language, translated(words, language))


def translated(words: Sequence[str], language: Language | None) -> list[str]:
    """Return the words in English if the lexicon knows them; what is written as one or two words as one.

    language: that of their text, None for any.
    """
    words = _joined(words, load_lexicon())
    return list(map(_english(foreign=is_foreign(language)).get, map(stem, words), words))


def also_said(text: str) -> tuple[str, ...]:
    """Return the words of a question in another language, and as they are written as one word."""
    lexicon, language = load_lexicon(), language_of(text)
    words = words_of(text)
    joined = _joined(words, lexicon)
    found: list[str] = []
    for word in map(stem, joined):
        if language is None or is_foreign(language):
            found += lexicon.meanings.get(word, ())
        if not is_foreign(language):
            found += lexicon.foreign.get(word, ())
    if len(words) <= PAIRS_MAX:
        found += map("".join, pairwise(words))
    return tuple(word for word in dict.fromkeys((*joined, *found)) if word not in words)[:ALSO_MAX]


def also_meant(word: str) -> tuple[str, ...]:
    """Return the English words to which words of another language for the same may be translated."""
    lexicon, key = load_lexicon(), stem(word)
    return (*lexicon.meanings.get(key, ()), *lexicon.synonyms.get(key, ()))


def is_foreign(language: Language | None) -> bool:
    """Return whether it is known not to be English."""
    from ragforge.domain.language.en import LANGUAGE as ENGLISH  # languages are loaded with the first words

    return language is not None and language is not ENGLISH


@cache
def load_lexicon() -> Lexicon:
    """Return the tables of all languages."""
    return msgspec.json.decode(STEMMED.read_bytes(), type=Lexicon)


@cache
def _english(*, foreign: bool) -> Mapping[str, str]:
    """Return the English word for a foreign one, by stem. foreign: in a text known not to be English."""
    lexicon = load_lexicon()
    if foreign:
        return lexicon.english
    return {each: word for each, word in lexicon.english.items() if each not in lexicon.ambiguous}


def _joined(words: Sequence[str], lexicon: Lexicon) -> list[str]:
    """Return the words with those that are also written as one joined."""
    if lexicon.joins.keys().isdisjoint(words):
        return list(words)
    found: list[str] = []
    for word in words:
        joins = lexicon.joins.get(found[-1]) if found else None
        if joins and stem(found[-1] + word) in joins:
            found[-1] += word
        else:
            found.append(word)
    return found
