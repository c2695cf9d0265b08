"""Splits text into pieces of words by a SentencePiece model of the kind Unigram, such as XLM-RoBERTa's.

A word begins with a mark for the space before it, and is split into the pieces whose scores have the highest
sum.
Source: Kudo, "Subword Regularization" (2018).
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

SPACE = "\u2581"
UNKNOWN_LESS = 10.0
"""How far below the lowest score that of an unknown character is."""
WORDS_CACHED_MAX = 20_000
WORD_CHARS_CACHED_MAX = 40

_SPACES = re.compile("[\\s\u200b-\u200f\ufeff\ufffd\u2581]+")
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]+")


class Unigram:
    """The pieces of a vocabulary with their scores. Safe to use in several threads.

    unknown: the index for a character that no piece has.
    """

    def __init__(self, pieces: Sequence[str], scores: Sequence[float], *, unknown: int) -> None:
        self._places = {piece: place for place, piece in enumerate(pieces) if place != unknown}
        self._scores, self._unknown = scores, unknown
        self._unknown_score = min(scores, default=0.0) - UNKNOWN_LESS
        self._piece_chars_max = max(map(len, pieces), default=1)
        # A conversation repeats the same words.
        self._of_word = lru_cache(WORDS_CACHED_MAX)(self._split)

    def of(self, text: str) -> list[int]:
        """Return the indexes of the text's pieces, in order."""
        plain = unicodedata.normalize("NFKC", _CONTROLS.sub("", text))
        words = [SPACE + word for word in _SPACES.split(plain) if word]
        return [
            place
            for word in words
            for place in (self._of_word(word) if len(word) <= WORD_CHARS_CACHED_MAX else self._split(word))
        ]

    def _split(self, word: str) -> tuple[int, ...]:
        """Return the pieces with the highest sum: each best way extends the best way before."""
        ends = range(1, len(word) + 1)
        best, starts, chosen = [0.0], [0], [self._unknown]
        for end in ends:
            at, score, place = end - 1, best[end - 1] + self._unknown_score, self._unknown
            for start in range(max(0, end - self._piece_chars_max), end):
                known = self._places.get(word[start:end])
                if known is not None and best[start] + self._scores[known] > score:
                    at, score, place = start, best[start] + self._scores[known], known
            best.append(score)
            starts.append(at)
            chosen.append(place)
        found: list[int] = []
        end = len(word)
        while end:
            found.append(chosen[end])
            end = starts[end]
        return tuple(reversed(found))
