"""Who left, so that statements about what they do are outdated."""

import re
from collections.abc import Collection

from ragforge.domain.language.base import AnyOf, filled, first_group, stop_words
from ragforge.memory.statements import is_question, is_wondering, plain

_LEAVES = AnyOf(lambda language: language.leaves)
_ON_LEAVE = AnyOf(lambda language: language.on_leave)
_CLAUSE = re.compile(filled(r"(?:\b<title>\.|[^,;.!?]|[,;.!?](?=\S))+[,;.!?]*\s*"))
_NAME = re.compile(filled(r"\W*(?:(?:and|et|mais|but) )?<who>(?=,? [a-zà-ÿ])"))
"""The name that a clause begins with."""
_ASIDE = re.compile(r"\s*\(([^()]*)\)")


def who_left(sentence: str) -> frozenset[str]:
    """Return the names of those who have left, according to the sentence."""
    words = plain(sentence)
    if is_question(words) or is_wondering(words):
        return frozenset()
    return _names(_LEAVES, words)


def who_stops(sentence: str) -> frozenset[str]:
    """Return the names of those who, according to the sentence, stopped doing something without leaving."""
    words = plain(sentence)
    if is_question(words) or is_wondering(words):
        return frozenset()
    return _names(_ON_LEAVE, words)


def _names(pattern: AnyOf, words: str) -> frozenset[str]:
    found = map(first_group, pattern.finditer(words))
    return frozenset(each for each in found if each.lower() not in stop_words())  # "What's left"


def names_somebody(sentence: str, names: Collection[str]) -> bool:
    """Whether it names one of them."""
    return any(re.search(rf"\b{re.escape(each)}\b", sentence) for each in names)


def who_acts(sentence: str) -> frozenset[str]:
    """Return the names that clauses of the sentence begin with."""
    return frozenset(found[1] for each in _CLAUSE.findall(sentence) if (found := _NAME.match(each)))


def without_actors(sentence: str, gone: Collection[str]) -> str:
    """Return the sentence without the clauses, and the text in brackets, that begin with one of these names;
    empty if nothing else remains."""

    def is_theirs(clause: str) -> bool:
        return (found := _NAME.match(clause)) is not None and found[1] in gone

    words = _ASIDE.sub(lambda aside: "" if is_theirs(aside[1]) else aside[0], sentence)
    clauses: list[str] = _CLAUSE.findall(words)
    left = [each for each in clauses if not is_theirs(each)]
    return words if len(left) == len(clauses) else "".join(left).strip().rstrip(",;")
