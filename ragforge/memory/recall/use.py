"""Whether what was recalled for a message was useful for its answer."""

from collections.abc import Sequence
from datetime import datetime

from ragforge.domain.context import Recalled, RecallUse
from ragforge.domain.ids import short_id
from ragforge.domain.language.lexicon import in_english
from ragforge.domain.language.words import stem
from ragforge.memory.terms import SAME_SHARE, common_terms

ID_CHARS_MIN = 8
"""How many characters of an id, at least, name it."""


def use_of(items: Sequence[Recalled], *, message: str, answer: str, at: datetime) -> RecallUse:
    """Return how useful the items were for the answer. at: when the message was said."""
    known, told = _content(message), _content(answer)
    return RecallUse(
        quoted=any(_is_quoted(item.text, known, told) for item in items),
        cited=any(_is_cited(item, answer, at) for item in items),
    )


def _is_quoted(text: str, known: frozenset[str], told: frozenset[str]) -> bool:
    """Return whether the answer says enough that the message did not: its numbers, and most of its words."""
    new = _content(text) - known
    if not new or len(new & told) < SAME_SHARE * len(new):
        return False
    return not any(any(map(str.isdigit, term)) for term in new - told)


def _is_cited(item: Recalled, answer: str, at: datetime) -> bool:
    day = item.at.astimezone()
    days = () if day.date() == at.astimezone().date() else (f"{day:%Y-%m-%d}",)
    names = (item.id[:ID_CHARS_MIN], short_id(item.id), short_id(item.turn_id))
    return any(name in answer for name in (*days, *names) if len(name) >= ID_CHARS_MIN)


def _content(text: str) -> frozenset[str]:
    """Return the stems of its words, without those that everybody uses."""
    # Not `terms`, which caches: an answer may be long, and is checked once.
    return frozenset(map(stem, in_english(text))) - common_terms()
