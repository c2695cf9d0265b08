"""How well a text fits a message, by words and by meaning, on a scale that does not depend on other texts:
the best of many irrelevant texts is still irrelevant.

Meaning is compared by the included embedder, whichever embedder made the stored vectors, and without stop
words, because these are similar in all texts of a language, and short texts consist of them.
"""

import asyncio
import itertools
import threading
from collections import Counter
from collections.abc import Sequence
from functools import cache
from math import log

from msgspec import Struct

from ragforge.domain.blas import load_numpy
from ragforge.domain.language.base import Language, courtesies, language_of
from ragforge.domain.language.en import LANGUAGE as ENGLISH
from ragforge.domain.language.lexicon import also_meant, read_text, translated
from ragforge.domain.language.words import stem, words_of
from ragforge.domain.products import FIELDS
from ragforge.domain.vectors import Vector
from ragforge.embedders.static import StaticEmbedder
from ragforge.memory.terms import common_terms, terms

MEANING_MIN = 0.40
"""A cosine. In the embedder's language, unrelated texts are below it."""
MEANING_MIN_ELSEWHERE = 0.68
"""The same in other languages, where it compares pieces of words more than meanings."""
RARITY = 10
"""How many texts without the word are assumed beside those that are compared."""
COMMON_WEIGHT = 0.3
"""The weight of a word that everybody uses."""
WORDS_MIN = 0.5
WORDS_MIN_ELSEWHERE = 0.35
WORDS_MIN_ACROSS = 0.2
MEANING_MIN_ACROSS = 0.5
"""For texts in two languages."""

TEXTS_MAX = 2_048
"""How many prepared texts are cached, some kilobytes each."""


class Fitness(Struct, frozen=True):
    """How well one text fits the message, each from 0 to 1."""

    words: float = 0.0
    """The share of the message's words that it contains, rare ones weighted more."""
    meaning: float = 0.0
    fits: bool = False
    """Whether that is enough for the text to be shown."""

    @property
    def score(self) -> float:
        """The combined score."""
        return (self.words + self.meaning) / 2


class Fit:
    """A message to compare texts with."""

    def __init__(self, message: str) -> None:
        polite = courtesies()
        self._is_polite = any(word in polite for word in words_of(message))
        self._language = language_of(message)
        words = [word for word in words_of(message) if word not in polite]
        self._message = " ".join(words)
        self.terms = frozenset(map(stem, translated(words, self._language)))
        """The stems of what it asks for."""
        self._also = {
            term: frozenset(map(stem, also_meant(word)))
            for word in words
            for term in map(stem, translated([word], self._language))
            if term in self.terms
        }
        """By term, the terms that it may be in another language."""
        self._joined = {
            stem(first + second): {stem(first), stem(second)} & self.terms
            for first, second in itertools.pairwise(words)
        }
        """The terms that are one in a text that writes them as one word."""

    @property
    def is_known(self) -> bool:
        """Whether the message is in the embedder's language, as far as is known."""
        return (self._language or ENGLISH) is ENGLISH

    @property
    def is_empty(self) -> bool:
        """Whether the message asks for nothing, such as a greeting or thanks."""
        return not self.terms or (self._is_polite and self.terms <= common_terms())

    async def measure(self, texts: Sequence[str]) -> list[Fitness]:
        """Return how well each text fits. A word counts more if fewer of these texts contain it."""
        if self.is_empty or not texts:
            return [Fitness()] * len(texts)
        return await asyncio.to_thread(self._measure, texts)

    def _measure(self, texts: Sequence[str]) -> list[Fitness]:
        read = compared(texts)
        held = list(map(self._held, read))
        counts = Counter(term for each in held for term in each)
        rarity = {term: log((RARITY + len(texts)) / (1 + counts[term])) for term in self.terms}
        weights = {
            term: each * (COMMON_WEIGHT if term in common_terms() else 1) for term, each in rarity.items()
        }
        total = sum(weights.values()) or 1.0
        meanings = self._meanings(read)
        return [
            self._fitness(text.language, sum(weights[term] for term in each) / total, meaning)
            for text, each, meaning in zip(read, held, meanings, strict=True)
        ]

    def _held(self, text: "ComparedText") -> frozenset[str]:
        """Return the terms that the text contains."""
        held = set(text.terms & self.terms)
        held.update(*(self._joined[term] for term in text.terms & self._joined.keys()))
        if not (text.language and text.language is self._language):
            held.update(term for term, also in self._also.items() if also & text.terms)
        return frozenset(held)

    def _fitness(self, language: Language | None, words: float, meaning: float) -> Fitness:
        if self._is_across(language):
            return Fitness(words, meaning, words >= WORDS_MIN_ACROSS or meaning >= MEANING_MIN_ACROSS)
        known = (language or self._language or ENGLISH) is ENGLISH
        least = (WORDS_MIN, MEANING_MIN) if known else (WORDS_MIN_ELSEWHERE, MEANING_MIN_ELSEWHERE)
        return Fitness(words, meaning, words >= least[0] or meaning >= least[1])

    def _meanings(self, texts: Sequence["ComparedText"]) -> list[float]:
        """Return their cosines with the message, at least 0, in English if the languages differ."""
        load_numpy()
        import numpy as np

        [message] = compared([self._message])
        across = [self._is_across(text.language) for text in texts]
        vectors = [text.english if each else text.vector for text, each in zip(texts, across, strict=True)]
        rows = np.frombuffer(b"".join(vectors), dtype=np.float32).reshape(len(texts), -1)
        same, other = (
            rows @ np.frombuffer(each, dtype=np.float32) for each in (message.vector, message.english)
        )
        meanings: list[float] = np.where(across, other, same).tolist()
        return [max(0.0, each) for each in meanings]

    def _is_across(self, language: Language | None) -> bool:
        """Return whether the language differs from the message's."""
        return bool(language and self._language and language is not self._language)


class ComparedText(Struct, frozen=True):
    """A text prepared for comparison."""

    terms: frozenset[str]
    language: Language | None
    vector: Vector
    english: Vector
    """The terms of its words in English."""


_texts: dict[str, ComparedText] = {}
_reading = threading.Lock()


def compared(texts: Sequence[str]) -> list[ComparedText]:
    """Return each text prepared for comparison. The newest `TEXTS_MAX` are cached, because preferences meet
    every message."""
    with _reading:
        known = {text: _texts.pop(text) for text in dict.fromkeys(texts) if text in _texts}
    new = [text for text in dict.fromkeys(texts) if text not in known]
    shown = [_TextForms.of(text) for text in new]
    # If it is in English already, both forms are the same.
    each = list(dict.fromkeys(form for one in shown for form in (one.said, one.meant)))
    vectors = dict(zip(each, _embedder().vectors(each), strict=True))
    for text, one in zip(new, shown, strict=True):
        known[text] = ComparedText(one.terms, one.language, vectors[one.said], vectors[one.meant])
    with _reading:
        _texts.update(known)
        for text in list(itertools.islice(_texts, max(0, len(_texts) - TEXTS_MAX))):
            del _texts[text]
    return [known[text] for text in texts]


class _TextForms(Struct, frozen=True):
    """The forms of a text for comparison, before it has vectors."""

    terms: frozenset[str]
    """Its terms and those of the fields of what it names: PostgreSQL is a database."""
    language: Language | None
    said: str
    meant: str
    """The same in English."""

    @classmethod
    def of(cls, text: str) -> "_TextForms":
        """Return the forms of this text."""
        read = read_text(text)
        own = terms(text)
        if fields := {FIELDS[word] for word in read.words if word in FIELDS}:
            own = own.union(*map(terms, fields))
        return cls(own, read.language, " ".join(read.words) or text, " ".join(read.english) or text)


@cache
def _embedder() -> StaticEmbedder:
    return StaticEmbedder()
