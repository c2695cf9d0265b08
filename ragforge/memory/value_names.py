"""What a sentence gives a name to, and which: "the release manager is Ada", "prends esbuild comme outil"."""

from functools import lru_cache

from msgspec import Struct

from ragforge.domain.language.base import AnyOf, courtesies, first_group
from ragforge.domain.language.words import TEXTS_KEPT_MAX
from ragforge.memory.statements import is_question, is_wondering, plain
from ragforge.memory.terms import terms

_NAMES = AnyOf(lambda language: language.names_value)
_VALUE_OF = AnyOf(lambda language: language.value_of)
_RENEWS = AnyOf(lambda language: language.renews)
_BEHIND = AnyOf(lambda language: language.name_behind)
_NAME_FOR_NAME = AnyOf(lambda language: language.name_for_name)
_CHARS_MAX = 80
"""The maximum length of a message that only gives a name."""


class NamedValue(Struct, frozen=True):
    """What is given a name, and the name, by their terms."""

    topic: frozenset[str]
    name: frozenset[str]
    written: str
    """The name as it is written."""


@lru_cache(TEXTS_KEPT_MAX)
def named_value(sentence: str) -> NamedValue | None:
    """Return what the sentence gives a name to; None if it asks, wonders or says anything else."""
    words = _readable(sentence)
    if is_question(words) or is_wondering(words):
        return None
    for pattern, is_behind in ((_NAMES, False), (_VALUE_OF, True)):
        found = pattern.search(words)
        if found is not None:
            first, second = (group for group in found.groups() if group)
            topic, name = (second, first) if is_behind else (first, second)
            value = NamedValue(terms(topic) - terms(name), terms(name), name)
            return value if value.topic and value.name else None
    return None


@lru_cache(TEXTS_KEPT_MAX)
def renames(sentence: str, statement: str) -> bool:
    """Whether the sentence gives the same thing another name than the statement does."""
    new = named_value(sentence)
    if new is None or _RENEWS.search(_readable(sentence)) is None:
        return False
    old = named_value(statement)
    return old is not None and old.topic == new.topic and not old.name & new.name


def renamed_behind(message: str, given: NamedValue) -> bool:
    """Whether the short message gives another name in place of the one that was given just before."""
    if len(message) > _CHARS_MAX:
        return False
    words = _readable(message)
    found = _BEHIND.search(words)
    if found is None and given.name <= terms(words):
        found = _NAME_FOR_NAME.search(words)
    name = first_group(found).lower() if found else ""
    return bool(name) and name not in courtesies() and not terms(name) & given.name


def _readable(sentence: str) -> str:
    return plain(sentence.replace("`", "")).strip()
