"""The words of a text that say what it is about."""

import re

from ragforge.domain.language.base import stop_words

TEXT_CHARS_MAX = 8_000
"""What is read of a text."""

_SHORTENED = re.compile(r"\b\w+n['’]t\b|['’](?:s|re|ll|ve|d|m)\b", re.IGNORECASE)
"""Of `wouldn't` and `it's`: no words of their own."""
_EXTENSION = re.compile(
    r"(?<=\w\w)\.(?:py|pyi|js|jsx|ts|tsx|go|rs|rb|php|java|kt|c|h|cpp|hpp|cs|sh|md|rst|txt|toml|ya?ml|json|ini|"
    r"cfg|html|css|scss|sql|xml|csv|svg|png|lock)\b",
    re.IGNORECASE,
)
"""Of a file's name: half the files of a project share it."""
_WORD = re.compile(r"[^\W_]+")


def words_of(text: str) -> list[str]:
    """Its words and numbers in their order, in small letters, without stop words."""
    empty = stop_words()
    whole = _EXTENSION.sub(" ", _SHORTENED.sub(" ", text[:TEXT_CHARS_MAX]))
    found = (each[0].lower() for each in _WORD.finditer(whole))
    return [word for word in found if word not in empty and len(word) > 1]
