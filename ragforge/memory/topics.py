"""Which of a few well-known fields a text speaks of, so that "MySQL" and "PostgreSQL" are seen as rivals."""

import re

from ragforge.domain.language.base import decision_words, stop_words
from ragforge.domain.language.products import FIELDS

_TERM = re.compile(r"[^\W_][\w+#.-]{1,40}")


def terms_of(text: str) -> frozenset[str]:
    """The words that say what it is about."""
    empty = stop_words() | decision_words()
    words = (found[0].strip(".-").lower() for found in _TERM.finditer(text))
    return frozenset(word for word in words if len(word) > 2 and word not in empty)


def fields_in(text: str) -> frozenset[str]:
    """The well-known fields that it names something of."""
    return frozenset(FIELDS[word] for word in terms_of(text) if word in FIELDS)


def field_of(text: str) -> str:
    """The first of them by name; empty where there is none."""
    return min(fields_in(text), default="")
