"""How much two texts agree, by their content words."""

import re
from collections.abc import Collection, Sequence

from ragforge.domain.language.base import stop_words
from ragforge.domain.products import FIELDS

STEM_CHARS = 4
"""Words whose first so many letters are equal may be forms of one word."""

_WORD = re.compile(r"[^\W_]+(?:[._@:/+#'’-]+[^\W_]+)*[+#]*")
_INNER = re.compile(r"[^\W\d_]+|\d+")
_APOSTROPHE = re.compile("['’]")
_PARTS = re.compile(r"[A-Z]?[a-zà-ÿ]{3,}|[A-Z]{3,}(?![a-z])")
_CAPITAL = re.compile(r"(?<=[\w,;:)] )[A-Z]\w+|\b\w[a-z0-9]+[A-Z]\w*")


def content_words(text: str) -> list[str]:
    """Return the content words in lower case without duplicates; for compounds, the parts too."""
    found: dict[str, None] = {}
    for each in _WORD.finditer(text):
        word = each[0].casefold()
        for part in (word, *(_INNER.findall(word) if not word.isalpha() else ())):
            if part not in stop_words() and (len(part) > 1 or part.isdecimal()):
                found.setdefault(part)
    return list(found)


def names_in(text: str) -> frozenset[str]:
    """Return the words in lower case that name something: numbers, identifiers, products, capitalized names
    inside a sentence."""
    capital = {found[0].casefold() for found in _CAPITAL.finditer(text)}
    words = content_words(text)
    return frozenset(word for word in words if word in capital or word in FIELDS or not _is_plain(word))


def name_parts(name: str) -> list[str]:
    """Return the words that an identifier is composed of: `Seat` and `Map` of `SeatMap`."""
    return _PARTS.findall(name)


def _is_plain(word: str) -> bool:
    """Whether it consists of letters only, or with an apostrophe: "don't", "n'utilise"."""
    return _APOSTROPHE.sub("", word).isalpha()


def stands_among(word: str, others: Collection[str]) -> bool:
    """Whether the word or a form of it is among the others."""
    return word in others or any(_alike(word, other) for other in others)


def share_of(statement: str, words: Sequence[str]) -> float:
    """Return the share of the statement's content words among these, from 0 to 1; 0 if it has none."""
    own = content_words(statement)
    return sum(stands_among(word, words) for word in own) / len(own) if own else 0.0


def _alike(word: str, other: str) -> bool:
    """Whether both may be forms of one word."""
    if not (word.isalpha() and other.isalpha()):
        return False
    shorter = min(len(word), len(other))
    same = next((n for n, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), shorter)
    return same >= max(STEM_CHARS, shorter - 1)
