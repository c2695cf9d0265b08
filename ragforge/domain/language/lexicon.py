"""What words of other languages mean in English, from small tables beside the languages (`fr.txt`).

A line of a table has English words, a colon and the words of the language that mean the same. Words are
compared by their stems, which `make lexicon` keeps beside the tables.
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
"""How many words are looked for beside those of a question."""
READ_MAX = 256
"""How many texts are kept as they were read: each is compared in several ways at a time."""
PAIRS_MAX = 8
"""Of so many words two beside each other may also be written as one."""


class Lexicon(Struct, frozen=True):
    """The tables as they are looked up, by stem but for `joins`."""

    english: Mapping[str, str]
    """The English word for a foreign one."""
    ambiguous: frozenset[str]
    """Of these, the stems that English words have too."""
    meanings: Mapping[str, Sequence[str]]
    """All the English words for a foreign one."""
    foreign: Mapping[str, Sequence[str]]
    """All the foreign words for an English one, but for those that are ambiguous."""
    synonyms: Mapping[str, Sequence[str]]
    """The English words that foreign ones for an English one are translated to."""
    joins: Mapping[str, Sequence[str]]
    """By the first of two words, the stems of what they are together: `time zone`."""


class ReadText(Struct, frozen=True):
    """The words of a text in their order, without stop words."""

    words: Sequence[str]
    language: Language | None
    english: Sequence[str]
    """As `translated`."""


def in_english(text: str) -> list[str]:
    """The words of the text in their order, without stop words, as `translated`."""
    return list(read_text(text).english)


@lru_cache(READ_MAX)
def read_text(text: str) -> ReadText:
    """The words of the text, and the same in English."""
    words, language = words_of(text), language_of(text)
    return ReadText(words, language, translated(words, language))


def translated(words: Sequence[str], language: Language | None) -> list[str]:
    """The words in English where the lexicon knows them, and as one word what is written as one or as two.

    language: that of their text, None for any.
    """
    words = _joined(words, load_lexicon())
    return list(map(_english(foreign=is_foreign(language)).get, map(stem, words), words))


def also_said(text: str) -> tuple[str, ...]:
    """What the words of a question are called in another language, and how they are written as one word."""
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
    """The English words that words of another language for the same may be translated to."""
    lexicon, key = load_lexicon(), stem(word)
    return (*lexicon.meanings.get(key, ()), *lexicon.synonyms.get(key, ()))


def is_foreign(language: Language | None) -> bool:
    """Whether it is known not to be English."""
    from ragforge.domain.language.en import LANGUAGE as ENGLISH  # languages are loaded with the first words

    return language is not None and language is not ENGLISH


@cache
def load_lexicon() -> Lexicon:
    """The tables of all languages."""
    return msgspec.json.decode(STEMMED.read_bytes(), type=Lexicon)


@cache
def _english(*, foreign: bool) -> Mapping[str, str]:
    """The English word for a foreign one, by stem. foreign: in a text that is known not to be English."""
    lexicon = load_lexicon()
    if foreign:
        return lexicon.english
    return {each: word for each, word in lexicon.english.items() if each not in lexicon.ambiguous}


def _joined(words: Sequence[str], lexicon: Lexicon) -> list[str]:
    """The words with what is also written as one word as one."""
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
