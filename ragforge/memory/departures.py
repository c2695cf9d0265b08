"""Who left, so that what somebody does is said of them no longer."""

import re
from collections.abc import Collection

from ragforge.domain.language.base import AnyOf, first_group
from ragforge.memory.statements import is_question, is_wondering, plain

_LEAVES = AnyOf(lambda language: language.leaves)
_ON_LEAVE = AnyOf(lambda language: language.on_leave)
_CLAUSE = re.compile(r"(?:[^,;.!?]|[,;.!?](?=\S))+[,;.!?]*\s*")
_NAME = re.compile(r"\W*(?:(?:and|et|mais|but) )?([A-ZÀ-Þ][\w-]+)(?= [a-zà-ÿ])")
"""That a clause begins with."""


def who_left(sentence: str) -> frozenset[str]:
    """The names of those who are there no longer by the sentence."""
    words = plain(sentence)
    if is_question(words) or is_wondering(words):
        return frozenset()
    return frozenset(map(first_group, _LEAVES.finditer(words)))


def who_stops(sentence: str) -> frozenset[str]:
    """The names of those who do something no longer by the sentence, without being gone."""
    words = plain(sentence)
    if is_question(words) or is_wondering(words):
        return frozenset()
    return frozenset(map(first_group, _ON_LEAVE.finditer(words)))


def names_somebody(sentence: str, names: Collection[str]) -> bool:
    """Whether it names one of them."""
    return any(re.search(rf"\b{re.escape(each)}\b", sentence) for each in names)


def who_acts(sentence: str) -> frozenset[str]:
    """The names that clauses of the sentence begin with."""
    return frozenset(found[1] for each in _CLAUSE.findall(sentence) if (found := _NAME.match(each)))


def without_actors(sentence: str, gone: Collection[str]) -> str:
    """The sentence without the clauses that begin with one of these names; empty where no other is left."""
    clauses: list[str] = _CLAUSE.findall(sentence)
    left = [each for each in clauses if not ((found := _NAME.match(each)) and found[1] in gone)]
    return sentence if len(left) == len(clauses) else "".join(left).strip().rstrip(",;")
