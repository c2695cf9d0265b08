"""What something is used for, what remains of that ("Redis for sessions and for the cache"), and what is no
longer used at all.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache

from ragforge.domain.language.base import AnyOf, first_group
from ragforge.domain.products import FIELDS, KNOWN_NAMES
from ragforge.memory.likeness import content_words
from ragforge.memory.statements import is_question, is_so, is_wondering, readable
from ragforge.memory.terms import SAME_SHARE, about

_PURPOSE = AnyOf(lambda language: (*language.purpose, *language.place))
_GONE = AnyOf(lambda language: language.gone)
_DROPS_IT = AnyOf(lambda language: language.drops_it)
_SETTLES = AnyOf(lambda language: language.settles)
_NEGATED = AnyOf(lambda language: language.negated)
SHORT_NAMES = {"postgres": "postgresql", "mongo": "mongodb", "k8s": "kubernetes", "node.js": "node"}
_CLAUSES = re.compile(r"[,;:]\s+(?:(?:and|et|but|mais) )?|\s(?:and|et)\s")
_NAME_ENDS = re.compile(r"\s*(?:$|[,.;:!?)]|(?:and|et|but|mais|now|maintenant|again|then)\b)")
_NEXT_NAME = re.compile(r"\s*(?:,|\band\b|\bet\b)\s*(?:the |our |l[ea]s? |l')?")
NEGATION_CHARS = 12
"""The maximum distance of a negation before an order."""
CLAUSE_WORDS_MIN = 2
_BETWEEN = re.compile(r"\s*,\s*|\s+(?:and|et)\s+")
_END = re.compile(r"[.;:!?](?=\s|$)")


@lru_cache(1_024)
def purposes_in(statement: str) -> tuple[frozenset[str], ...]:
    """Return the terms of each purpose and place that the statement lists; empty if it names none."""
    found = _PURPOSE.search(statement)
    if found is None:
        return ()
    start = next(at for at in map(found.start, range(1, len(found.regs))) if at >= 0)
    said = _END.split(statement[start:])[0]
    return tuple(filter(None, map(about, _BETWEEN.split(said))))


def names_part(change: str, statement: str) -> bool:
    """Whether the change names some of what the statement is for, and not all of it."""
    listed, given_up = purposes_in(statement), purposes_in(change)
    gone = [any(_are_same(each, other) for other in given_up) for each in listed]
    return any(gone) and not all(gone)


def _are_same(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= SAME_SHARE * max(len(one), len(other))


def given_up(said: Sequence[str]) -> dict[str, str]:
    """Return the names, in lower case, of what the user's sentences abandon altogether, each with the
    sentence that says so: "let's drop Twilio", "the Svelte page broke. Away with it", "SQLite locks up.
    Postgres it is"."""
    found = dict[str, str]()
    before = ""
    for sentence in said:
        words = readable(sentence)
        if not (is_question(words) or is_wondering(words)):
            for each in _GONE.finditer(words):
                start = each.start(each.lastindex or 0)
                before_it = words[max(0, each.start() - NEGATION_CHARS) : each.start()]
                if is_so(words, each.start()) and not _NEGATED.search(before_it):
                    found |= dict.fromkeys(_names_first(words[start:]), sentence)
            if _DROPS_IT.search(words):
                found |= dict.fromkeys(_products(before) - _products(words), sentence)
            for each in _SETTLES.finditer(words):
                found |= dict.fromkeys(_rivals(first_group(each), f"{before} {words}"), sentence)
        before = words
    return found


def uses(statement: str, name: str, change: frozenset[str]) -> bool:
    """Whether a clause of the statement uses what has the name, only for purposes that the change is about.

    change: the subject of the sentence that abandons it.
    """
    if _pattern_of(name).search(statement) is None:
        return False
    naming = [each for each in _CLAUSES.split(readable(statement)) if _pattern_of(name).search(each)]
    return any(
        not _NEGATED.search(each) and all(purpose & change for purpose in purposes_in(each))
        for each in naming
    )


def says_more(statement: str, gone: frozenset[str]) -> bool:
    """Whether another clause of the statement says something unrelated to what is gone."""
    clauses = [about(each) for each in _CLAUSES.split(readable(statement))]
    return any(len(each) >= CLAUSE_WORDS_MIN and not each & gone for each in clauses)


def _names_first(words: str) -> Iterator[str]:
    """Yield the names at the beginning of the words, if nothing else is named there."""
    at = 0
    while found := _name_first().match(words, at):
        if not _NAME_ENDS.match(words, found.end()):
            return  # the Redis cache
        yield SHORT_NAMES.get(found[0].lower(), found[0].lower())
        joined = _NEXT_NAME.match(words, found.end())
        if joined is None:
            return
        at = joined.end()


@cache
def _name_first() -> re.Pattern[str]:
    known = "|".join(sorted(map(re.escape, KNOWN_NAMES), key=len, reverse=True))
    proper = r"[A-ZÀ-Þ][\w.+#-]*\w"
    return re.compile(rf"{proper}(?: {proper})*|(?:{known})(?![\w-])")


def _products(words: str) -> frozenset[str]:
    """Return what projects are built on, as far as the words name it, by its longest name."""
    return frozenset(SHORT_NAMES.get(word, word) for word in content_words(words) if word in KNOWN_NAMES)


def _rivals(chosen: str, words: str) -> frozenset[str]:
    """Return those things in the words that could have been chosen instead."""
    name = SHORT_NAMES.get(chosen.lower(), chosen.lower())
    return frozenset(each for each in _products(words) if each != name and FIELDS[each] == FIELDS.get(name))


@lru_cache(1_024)
def _pattern_of(name: str) -> re.Pattern[str]:
    """Return a pattern that matches the name, or a short form of it."""
    same = [name, *(short for short, long in SHORT_NAMES.items() if long == name)]
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, same))})(?![\w-])", re.IGNORECASE)
