"""Text as word pieces of a vocabulary, as in uncased BERT.

Unlike BERT, it splits compound names, which are frequent here. Then: lowercase, without accents, split at
spaces, around punctuation and around ideographs; each word becomes the longest pieces in the vocabulary, from
the left. Source: the BERT paper's tokenization.py.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache

from ragforge.domain.compounds import spaced

WORD_CHARS_MAX = 100
"""A longer word has no pieces: it is a blob or a line of something."""

WORDS_CACHED_MAX = 20_000

_ASCII_WORD = re.compile(r"[a-z0-9]+|[^\sa-z0-9]")
_ASCII_CONTROLS = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 127])

# Of Unicode's blocks, those whose characters are words by themselves.
_IDEOGRAPHS = (
    *((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F)),
    *((0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)),
)


class WordPieces:
    """The pieces of a vocabulary, as their positions in it. Safe to use in several threads."""

    def __init__(self, pieces: Sequence[str]) -> None:
        self._places: Mapping[str, int] = {piece: place for place, piece in enumerate(pieces)}
        self._piece_chars_max = max(map(len, pieces), default=0)
        # A conversation says the same words again and again.
        self._of_word = lru_cache(WORDS_CACHED_MAX)(self._split)

    def of(self, text: str) -> list[int]:
        """Return the positions of the text's pieces, in order, without words that cannot be made of
        pieces."""
        return [place for word in split_words(text) for place in self._of_word(word)]

    def _split(self, word: str) -> tuple[int, ...]:
        if len(word) > WORD_CHARS_MAX:
            return ()
        found: list[int] = []
        start, mark = 0, ""
        while start < len(word):
            for end in range(min(len(word), start + self._piece_chars_max), start, -1):
                place = self._places.get(mark + word[start:end])
                if place is not None:
                    break
            else:
                return ()  # one piece that is not there, and the word is unknown as a whole
            found.append(place)
            start, mark = end, "##"
        return tuple(found)


def split_words(text: str) -> list[str]:
    """Return the words and single marks of the text, in lowercase and without accents."""
    text = spaced(text)
    if text.isascii():
        return _ASCII_WORD.findall(text.lower().translate(_ASCII_CONTROLS))
    return "".join(map(_plain, text)).split(" ")


@lru_cache(4_096)
def _plain(char: str) -> str:
    """Return the character as it counts: marks and ideographs with spaces around, invisible ones removed."""
    if char in "\t\n\r" or unicodedata.category(char) == "Zs":
        return " "
    if unicodedata.category(char).startswith("C") or char == "\ufffd":
        return ""
    made = unicodedata.normalize("NFD", char).lower()
    if _is_ideograph(char):
        return f" {made} "
    return "".join(
        f" {part} " if _is_punctuation(part) else part for part in made if unicodedata.category(part) != "Mn"
    )


def _is_ideograph(char: str) -> bool:
    return any(first <= ord(char) <= last for first, last in _IDEOGRAPHS)


def _is_punctuation(char: str) -> bool:
    """Whether it is neither letter nor digit in ASCII, or punctuation in Unicode."""
    if char.isascii():
        return not char.isalnum()
    return unicodedata.category(char).startswith("P")
