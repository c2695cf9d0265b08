"""The words of a text that say what it is about, and their stems."""

import re
import unicodedata
from functools import lru_cache

from ragforge.domain.language.base import stop_words

TEXT_CHARS_MAX = 8_000
"""The length that is read of a text."""
TEXTS_KEPT_MAX = 1_024
"""The number of texts for which each function caches its result: every text is compared in several ways. The
result for a sentence takes up to 7 KB, so 4,096 of each took 50 MB, filled by 5,000 turns."""

_SHORTENED = re.compile(r"\b\w+n['’]t\b|['’](?:s|re|ll|ve|d|m)\b", re.IGNORECASE)
"""Of `wouldn't` and `it's`: not words of their own."""
_EXTENSION = re.compile(
    r"(?<=\w\w)\.(?:py|pyi|js|jsx|ts|tsx|go|rs|rb|php|java|kt|c|h|cpp|hpp|cs|sh|md|rst|txt|toml|ya?ml|json|ini|"
    r"cfg|html|css|scss|sql|xml|csv|svg|png|lock)\b",
    re.IGNORECASE,
)
"""The end of a file's name: half the files of a project share it."""
_WORD = re.compile(r"[^\W_]+")
_ENDINGS = (
    *("ations", "ation", "ements", "ement"),
    *("ments", "ment"),  # codespell:ignore
    *("ings", "ing", "iers", "ier", "ees", "ee"),
    *("ions", "ion", "ages", "age"),
    *("ers", "er", "ed", "es", "s", "e"),
)
_STEM_CHARS_MIN = 4
_SHORT_PLURAL = re.compile(r"(?<=^\w\w[^sui])s$")
"""Of `days` and `logs`."""


def words_of(text: str) -> list[str]:
    """Return its words and numbers in order, in lower case, without stop words."""
    return list(_words_of(text[:TEXT_CHARS_MAX]))


@lru_cache(TEXTS_KEPT_MAX)
def _words_of(whole: str) -> tuple[str, ...]:
    empty = stop_words()
    # Most texts have neither, and looking for them takes longer than all else.
    if "'" in whole or "’" in whole:
        whole = _SHORTENED.sub(" ", whole)
    if "." in whole:
        whole = _EXTENSION.sub(" ", whole)
    found = map(str.lower, _WORD.findall(whole))
    return tuple([word for word in found if word not in empty and len(word) > 1])


@lru_cache(20_000)
def stem(word: str) -> str:
    """Return the word without accents and ending: the same for what is spelled alike in two languages."""
    folded = word if word.isascii() else _without_accents(word)
    if not folded.endswith(_ENDINGS):
        return folded
    for ending in _ENDINGS:
        if folded.endswith(ending) and len(folded) - len(ending) >= _STEM_CHARS_MIN:
            return folded.removesuffix(ending)
    return _SHORT_PLURAL.sub("", folded)


def _without_accents(word: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFKD", word) if not unicodedata.combining(char))
