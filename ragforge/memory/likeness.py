"""How much two texts say the same, by their content words."""

import re
from collections.abc import Collection, Sequence

from ragforge.domain.language.base import stop_words
from ragforge.domain.products import FIELDS

STEM_CHARS = 4
"""Words that begin with as many letters in common may be forms of one word."""

_WORD = re.compile(r"[^\W_]+(?:[._@:/+#'’-]+[^\W_]+)*[+#]*")
_INNER = re.compile(r"[^\W\d_]+|\d+")
_APOSTROPHE = re.compile("['’]")
_PARTS = re.compile(r"[A-Z]?[a-zà-ÿ]{3,}|[A-Z]{3,}(?![a-z])")
_CAPITAL = re.compile(r"(?<=[\w,;:)] )[A-Z]\w+|\b\w[a-z0-9]+[A-Z]\w*")


def content_words(text: str) -> list[str]:
    """The words in small letters that say something, each once; of what is put together also the parts."""
    found: dict[str, None] = {}
    for each in _WORD.finditer(text):
        word = each[0].casefold()
        for part in (word, *(_INNER.findall(word) if not word.isalpha() else ())):
            if part not in stop_words() and (len(part) > 1 or part.isdecimal()):
                found.setdefault(part)
    return list(found)


def names_in(text: str) -> frozenset[str]:
    """The words in small letters that name something: numbers, identifiers, products, names with a capital
    inside a sentence."""
    capital = {found[0].casefold() for found in _CAPITAL.finditer(text)}
    words = content_words(text)
    return frozenset(word for word in words if word in capital or word in FIELDS or not _is_plain(word))


def name_parts(name: str) -> list[str]:
    """The words that a name of code is put together from: `Seat` and `Map` of `SeatMap`."""
    return _PARTS.findall(name)


def _is_plain(word: str) -> bool:
    """Whether it is letters only, or such with an apostrophe: "don't", "n'utilise"."""
    return _APOSTROPHE.sub("", word).isalpha()


def stands_among(word: str, others: Collection[str]) -> bool:
    """Whether the word or a form of it is among the others."""
    return word in others or any(_alike(word, other) for other in others)


def share_of(statement: str, words: Sequence[str]) -> float:
    """Which share of the statement's content words stands among these, from 0 to 1; 0 where it has none."""
    own = content_words(statement)
    return sum(stands_among(word, words) for word in own) / len(own) if own else 0.0


def _alike(word: str, other: str) -> bool:
    """Whether both may be forms of one word."""
    if not (word.isalpha() and other.isalpha()):
        return False
    shorter = min(len(word), len(other))
    same = next((n for n, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), shorter)
    return same >= max(STEM_CHARS, shorter - 1)
