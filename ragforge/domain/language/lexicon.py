"""What words of other languages mean in English, from small tables beside the languages (`fr.txt`).

A line of a table has English words, a colon and the words of the language that mean the same. Words are
compared by their stems.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, pairwise
from pathlib import Path

from msgspec import Struct

from ragforge.domain.language.base import Language, language_of
from ragforge.domain.language.words import stem, words_of

ALSO_MAX = 32
"""How many words are looked for beside those of a question."""
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
    joins: Mapping[str, frozenset[str]]
    """By the first of two words, the stems of what they are together: `time zone`."""


def in_english(text: str) -> list[str]:
    """The words of the text in their order, without stop words, as `translated`."""
    return translated(words_of(text), language_of(text))


def translated(words: Sequence[str], language: Language | None) -> list[str]:
    """The words in English where the lexicon knows them, and as one word what is written as one or as two.

    language: that of their text, None for any.
    """
    lexicon = load_lexicon()
    words = _joined(words, lexicon)
    stems = list(map(stem, words))
    if is_foreign(language):
        return [lexicon.english.get(each, word) for each, word in zip(stems, words, strict=True)]
    return [
        word if each in lexicon.ambiguous else lexicon.english.get(each, word)
        for each, word in zip(stems, words, strict=True)
    ]


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
    tables = sorted(Path(__file__).parent.glob("*.txt"))
    every = [words for path in tables for pair in _lines(path) for words in pair]
    stemmed = [[(stem(whole), whole) for whole in map(_whole, words)] for words in every]
    lines = list(zip(stemmed[::2], stemmed[1::2], strict=True))
    own = dict[str, str]()
    for known, foreign in lines:
        stems = dict(foreign)
        own |= {key: word for key, word in known if key in stems}
    marked = (stem(_whole(word)) for words in every for word in words if word.endswith("*"))
    ambiguous = frozenset(own).union(marked)
    english: dict[str, str] = {}
    meanings: defaultdict[str, list[str]] = defaultdict(list)
    others: defaultdict[str, list[str]] = defaultdict(list)
    synonyms: defaultdict[str, list[str]] = defaultdict(list)
    for known, foreign in lines:
        words, stems = [word for _, word in known], dict(foreign)
        for key in stems:
            english.setdefault(key, own.get(key, words[0]))
            meanings[key] += words
        there = [word for key, word in foreign if key not in ambiguous]
        back = [english[key] for key in stems]
        for key, _ in known:
            others[key] += there
            synonyms[key] += back
    return Lexicon(english, ambiguous, meanings, others, synonyms, _joins(chain.from_iterable(every)))


def _lines(path: Path) -> Iterator[tuple[list[str], list[str]]]:
    """The English words and the others of each line."""
    for line in path.read_text(encoding="utf-8").splitlines():
        english, colon, foreign = line.partition(":")
        if colon and not line.startswith("#"):
            yield english.split(), foreign.split()


def _whole(word: str) -> str:
    """The word without the marks of the table."""
    return word.removesuffix("*").replace("-", "")


def _joins(words: Iterable[str]) -> dict[str, frozenset[str]]:
    joins: dict[str, set[str]] = {}
    for word in words:
        first, hyphen, _ = word.partition("-")
        if hyphen:
            joins.setdefault(first, set()).add(stem(_whole(word)))
    return {first: frozenset(stems) for first, stems in joins.items()}


def _joined(words: Sequence[str], lexicon: Lexicon) -> list[str]:
    """The words with what is also written as one word as one."""
    found: list[str] = []
    for word in words:
        joins = lexicon.joins.get(found[-1]) if found else None
        if joins and stem(found[-1] + word) in joins:
            found[-1] += word
        else:
            found.append(word)
    return found
