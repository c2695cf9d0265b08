"""Which wish of the user a later sentence of theirs ends or narrows: by words that end it or allow what it
forbids, or by another wish for the same slot, as the language or the length of answers."""

import re
from collections.abc import Iterator
from enum import IntEnum
from functools import cache, lru_cache

from msgspec import Struct

from ragforge.domain.approvals import Deed
from ragforge.domain.language.base import AnyOf, first_group, languages, tongues, words_in
from ragforge.domain.language.words import TEXTS_KEPT_MAX
from ragforge.memory.constraints import binds, condition_of, is_demand, is_for_all_work
from ragforge.memory.likeness import name_parts, stands_among
from ragforge.memory.prohibitions import (
    forbids_something,
    is_path,
    names_in,
    prohibitions_in,
    used_in,
    wanted_in,
)
from ragforge.memory.sentences import sentences
from ragforge.memory.statements import is_question, is_wondering, plain
from ragforge.memory.terms import about, common_terms, terms

SHARED_MIN = 2
"""The minimum number of words shared with a wish that is ended without naming its object."""
SHARE_MIN = 0.5
"""The minimum share of words of a clause that ends something: a wish containing them is ended."""
OBJECT_SHARE_MIN = 0.3
"""The same if the clause names what the wish is about."""

SHORT_WORDS_MAX = 4
"""A clause of at most so many words that names something wants it: "whole files"."""

GRANTED_CHARS_MAX = 400
"""The maximum length of a sentence in which a permission is looked for: the patterns take quadratic time."""

_STOPS = AnyOf(lambda language: language.stops)
_STOPS_DOING = AnyOf(lambda language: language.stops_doing)
_DROPS_IT = AnyOf(lambda language: language.drops_what_was_asked)
_PERMITS = AnyOf(lambda language: language.permits)
_NARROWS = AnyOf(lambda language: language.restricts)
_PERMITS_IT = AnyOf(lambda language: language.permits_it)
_CONTRASTS = AnyOf(lambda language: language.contrasts)
_ASKS_FIRST = AnyOf(lambda language: language.asks_first)
_LIMITS = AnyOf(lambda language: language.limits)
_ANSWERS_IN = AnyOf(lambda language: language.answers_in)
_ANSWERS_AS = AnyOf(lambda language: language.answers_as_asked)
_NEGATED = AnyOf(lambda language: language.negated)
_UNWANTED = AnyOf(lambda language: language.unwanted)
_FOR_ONCE = AnyOf(lambda language: language.for_once)
_RENEWS = AnyOf(lambda language: language.now_wanted)
_POLITE = AnyOf(lambda language: language.cues.get("polite", ()))
_ORDERS = AnyOf(lambda language: language.cues.get("order", ()))
_IN_TONGUE = AnyOf(lambda language: language.in_tongue)
_CLAUSES = re.compile(r"[,;:]\s+|\s(?:and|et)\s")
_CLAUSE_END = re.compile(r"[,;:](?=\s)|[.!?](?=\s|$)")
_JOINS = re.compile(r"([,;:]\s+(?:(?:and|but|et|mais)\s+)?|\s(?:and|et)\s)")
_AND = re.compile(r"\s(?:and|et)\s")

AS_ASKED = "as asked"
"""The language of the person who asks."""
ANSWERS = "answers"
TONGUE = "tongue of "
"""The prefix of slots whose value is a language."""
ANY = "any"
"""The value of a wish for all values of its slot."""
ADDS = frozenset({"checks", "commit messages"})
"""Slots in which several wishes are valid, unless one says that it is what is wanted now."""


class Ending(IntEnum):
    """How much of a wish another sentence ends."""

    NONE = 0
    PART = 1
    WHOLE = 2


class Wish(Struct, frozen=True):
    """What a clause wants for a slot."""

    slot: str
    value: str
    is_wanted: bool


@lru_cache(TEXTS_KEPT_MAX)
def may_end(sentence: str) -> bool:
    """Whether the user's sentence may end or narrow a wish."""
    words = plain(sentence)
    if is_question(words) or is_wondering(words) or _FOR_ONCE.search(words):
        return False
    if any(each.search(words) for each in (_STOPS, _STOPS_DOING, _NARROWS, _DROPS_IT)) or next(
        _granted(words), None
    ):
        return True
    return bool(wishes_in(sentence))


@lru_cache(TEXTS_KEPT_MAX)
def ending(sentence: str, wish: str) -> Ending:
    """Return how much of the wish the user's later sentence ends: all of "never push to main" by "you may
    push to main now", a part by "you may push to main for hotfixes"."""
    if not may_end(sentence) or plain(sentence) == plain(wish) or is_question(plain(wish)):
        return Ending.NONE
    said = sentences(wish)
    if len(said) > 1:  # a whole message
        return min(Ending.PART, max(ending(sentence, each) for each in said))
    by_slot = _by_slot(sentence, wish)
    if by_slot is Ending.WHOLE and all(each.slot not in ADDS for each in wishes_in(wish)):
        return by_slot
    how = {by_slot, _allowed(sentence, wish), _stopped(sentence, wish)} - {Ending.NONE}
    return min(how, default=Ending.NONE)


@lru_cache(TEXTS_KEPT_MAX)
def without_ended(sentence: str, wish: str) -> str:
    """Return the wish without the clauses that the user's later sentence ends; empty if the rest would not be
    a wish by itself."""
    if not sentence or len(sentences(wish)) > 1:
        return ""
    first, *others = _JOINS.split(wish.strip())
    left = ""
    for joined, clause in zip(("", *others[::2]), (first, *others[1::2]), strict=True):
        if ending(sentence, clause) is Ending.WHOLE:
            continue
        if not is_wish(clause) or ending(sentence, clause) is Ending.PART:
            return ""
        left += f"{joined if left else ''}{clause}"
    return "" if left == wish.strip() else left


@lru_cache(TEXTS_KEPT_MAX)
def is_wish(sentence: str) -> bool:
    """Whether it may be a wish that another sentence ends."""
    words = plain(sentence)
    return (
        is_demand(words)
        or binds(sentence)
        or is_for_all_work(sentence)
        or any(each.search(words) for each in (_POLITE, _ASKS_FIRST))
        or bool(wishes_in(sentence))
    )


@lru_cache(TEXTS_KEPT_MAX)
def wishes_in(sentence: str) -> frozenset[Wish]:
    """Return what the sentence wants for well-known slots."""
    words = plain(sentence)
    if is_question(words) or is_wondering(words):
        return frozenset()
    return frozenset(_wishes(words))


def _wishes(words: str) -> Iterator[Wish]:
    if tongue := _tongue_of(words):
        yield Wish(ANSWERS, tongue, True)
    slots = [slot for slot in _slots() if not (topic := slot.topic) or topic.search(words)]
    for clause in _CLAUSES.split(words) if slots else ():
        in_tongue = _IN_TONGUE.search(clause)
        for slot in slots:
            if slot.name.startswith(TONGUE):
                if in_tongue and slot.topic and slot.topic.search(clause):
                    yield Wish(slot.name, tongues()[first_group(in_tongue).lower()], True)
                continue
            for value, pattern in slot.values.items():
                if found := pattern.search(clause):
                    others = f"{clause[: found.start()]} {clause[found.end() :]}"
                    yield Wish(slot.name, value, not is_negative(others, _UNWANTED))


def _by_slot(sentence: str, wish: str) -> Ending:
    """Return how much of the wish another one for the same slot replaces. What is wanted for a part only
    replaces nothing, what is unwanted there ends a part."""
    new, old = wishes_in(sentence), wishes_in(wish)
    ended = frozenset(one for one in old if any(_replaces(other, one, sentence) for other in new))
    if not ended or not (_asks_for(sentence) or any(each.slot == ANSWERS for each in ended)):
        return Ending.NONE
    condition = about(condition_of(sentence))
    if any(each.slot != ANSWERS for each in ended):  # a language is what answers are *in*
        condition |= limited_to(_STOPS.without(plain(sentence)))
    if condition - terms(wish) - terms(" ".join(each.value for each in new)):
        opposed = any(one.slot == other.slot and one.value == other.value for one in ended for other in new)
        return Ending.PART if opposed else Ending.NONE
    return Ending.WHOLE if ended == old and not _wants_more(wish) else Ending.PART


def _asks_for(sentence: str) -> bool:
    """Whether the user wants something with it, and does not only speak of it."""
    words = plain(sentence)
    cues = (_RENEWS, _POLITE, _UNWANTED, _STOPS, _PERMITS, _ORDERS)
    short = (each for each in _CLAUSES.split(words) if len(each.split()) <= SHORT_WORDS_MAX)
    return is_demand(words) or any(each.search(words) for each in cues) or any(map(wishes_in, short))


def _replaces(new: Wish, old: Wish, sentence: str) -> bool:
    if new.slot != old.slot:
        return False
    if new.is_wanted != old.is_wanted:
        return new.value == old.value
    if not new.is_wanted:
        return False
    if new.slot in ADDS:
        return new.value in (old.value, ANY) and _RENEWS.search(plain(sentence)) is not None
    return new.value != old.value


def _wants_more(wish: str) -> bool:
    """Whether a clause of the wish demands something outside all slots."""
    clauses = [each for each in _CLAUSES.split(plain(wish)) if about(each)]
    return any(not wishes_in(each) and (is_demand(each) or forbids_something(each)) for each in clauses)


def _allowed(sentence: str, rule: str) -> Ending:
    """Return how much of what the rule forbids, or demands to ask about first, the sentence allows."""
    words, wanted = plain(sentence), plain(rule)
    if not any(each.search(wanted) for each in (_ASKS_FIRST, _NARROWS)) and not forbids_something(wanted):
        return Ending.NONE
    if next(_granted(wanted), None):
        return Ending.NONE
    paths = [each for each in names_in(rule) if is_path(each) and each not in _places_in(rule)]
    for each in _granted(words):
        granted = first_group(each)
        if _PERMITS_IT.match(granted.strip()):
            granted = f"{words[: each.start()]} {granted}"
        named = [name for name in names_in(granted) if is_path(name)]
        if any(_is_within(name, path) for name in named for path in paths):
            return Ending.WHOLE if set(named) >= set(paths) else Ending.PART
        if paths and named:
            continue
        without_asking = _ASKS_FIRST.search(each[0]) is not None and _ASKS_FIRST.search(wanted) is not None
        ruled = about(rule) | objects_of(rule)
        said = about(f"{granted} {' '.join(name_parts(granted))}")
        shared = frozenset(each for each in said if stands_among(each, ruled))
        if (
            len(shared) >= SHARED_MIN
            or set(names_in(granted)) & set(names_in(rule)) - _places_in(rule)
            or (
                shared & objects_of(rule)
                and (without_asking or len(shared) >= OBJECT_SHARE_MIN * len(about(granted)))
            )
        ):
            # "Friday mornings are fine" allows a part of "never on a Friday".
            limits = about(_ASKS_FIRST.without(granted)) | limited_to(each[0]) | about(condition_of(sentence))
            return _how_much(shared, rule, limits - objects_of(rule))
    return Ending.NONE


def _stopped(sentence: str, wish: str) -> Ending:
    """Return how much of the wish is no longer valid since the sentence, whose clause that says so is about
    the same and little else."""
    if _STOPS.search(plain(wish)) or _STOPS_DOING.search(plain(wish)):
        return Ending.NONE  # "stop doing this", said again, does not end itself
    if (what := _DROPS_IT.search(plain(sentence))) and is_wish(wish):
        named = about(first_group(what))
        if named and named <= terms(wish) | objects_of(wish):
            return Ending.WHOLE
    limits = limited_to(_STOPS.without(plain(sentence)))
    parts = _CLAUSE_END.split(plain(wish))
    for clause, found in _clauses_with(_STOPS, sentence):
        if _is_about(_without(clause, found), wish, terms(wish)):
            ended, objects = _without(clause, found), objects_of(wish)
            # "Each package" names what the wish calls dependencies.
            return _how_much(ended | objects if ended & objects else ended, wish, limits)
    for clause, found in _clauses_with(_STOPS_DOING, sentence):
        # "Stop pushing to main" repeats "never push to main".
        says = not is_negative(clause[: found.start()] + clause[found.end() :])
        others = " ".join(each for each in parts if is_negative(each) is not says)
        if _is_about(_without(clause, found), wish, terms(others)):
            return _how_much(_without(clause, found), wish, limits)
    if is_wish(wish) and any(_begins_with(each, objects_of(wish)) for each in _narrowed(sentence)):
        return Ending.PART
    return Ending.NONE


def _how_much(ended: frozenset[str], wish: str, limits: frozenset[str]) -> Ending:
    """Return all of the wish, or a part if only some cases are ended, or if the wish wants more than what is
    ended.

    ended: the terms of what the user's sentence ends. limits: those of the cases.
    """
    if limits - terms(wish) - objects_of(wish) - _quantifiers():
        return Ending.PART
    first, *others = _CLAUSE_END.split(plain(wish))
    if others and about(first) and ended.isdisjoint(about(first)):
        return Ending.PART
    more = [words for each in others if (wishes_in(each) or is_demand(each)) and (words := about(each))]
    listed = [words for each in _AND.split(first) if (words := about(each))]
    left = [each for each in (*listed, *more) if ended.isdisjoint(each)]
    return Ending.PART if left and len(left) < len(listed) + len(more) else Ending.WHOLE


def _granted(words: str) -> Iterator[re.Match[str]]:
    """Yield where the plain sentence allows something: "flash without asking", not "never without asking"."""
    for each in _PERMITS.finditer(words[:GRANTED_CHARS_MAX]):
        is_demanded = forbids_something(each[0]) or not is_negative(each[0], _UNWANTED)
        if not (_ASKS_FIRST.search(each[0]) and is_demanded):
            yield each


def limited_to(words: str) -> frozenset[str]:
    """Return the terms of the cases, times or places to which the plain sentence limits something."""
    return frozenset[str]().union(*(about(first_group(each)) for each in _LIMITS.finditer(words)))


def _tongue_of(words: str) -> str:
    """Return the language that answers are wanted in, by its English name; empty if the words name none."""
    if found := _ANSWERS_IN.search(words):
        return tongues()[first_group(found).lower()]
    return AS_ASKED if _ANSWERS_AS.search(words) else ""


def _is_within(path: str, folder: str) -> bool:
    """Whether the path is the other one, or in it."""
    return path == folder or path.startswith(folder.rstrip("*").rstrip("/") + "/")


@lru_cache(TEXTS_KEPT_MAX)
def objects_of(rule: str) -> frozenset[str]:
    """Return the terms of what the rule forbids, demands or names, without those of its condition."""
    forbidden: list[str] = []
    for one in prohibitions_in(rule):
        within = [each for each in one.within if not is_path(each)]
        # `restart the kiln`: to restart another thing ends nothing, nor does a push elsewhere
        things = [each.partition(" ")[2] if one.deed is Deed.RUN else each for each in one.objects]
        named = [each for each in (*things, *within) if each]
        forbidden += named or one.objects
        if one.deed is Deed.DEPEND:
            forbidden += words_in("dependencies")
    names = (each for each in names_in(rule) if each not in _places_in(rule))
    every = " ".join((*forbidden, *wanted_in(rule), *used_in(rule), *names))
    condition = about(condition_of(rule))
    return about(f"{every} {' '.join(name_parts(every))}") - condition or about(rule) - condition


def _places_in(rule: str) -> set[str]:
    """Return the paths in which alone it forbids something, and those in which it does not."""
    found = (each for one in prohibitions_in(rule) for each in (*one.within, *one.outside))
    return set(filter(is_path, found))


def _clauses_with(words: AnyOf, sentence: str) -> list[tuple[str, re.Match[str]]]:
    """Return the clauses that contain these words, with the match."""
    clauses = [each.strip() for each in _CLAUSE_END.split(plain(sentence))]
    return [(each, found) for each in clauses if (found := words.search(each))]


def _narrowed(sentence: str) -> Iterator[str]:
    """Yield what is to be so in some cases only: the words before those that say so, in their clause or
    before it, as in "the browser tests, only before a release"."""
    before = ""
    for each in _CLAUSE_END.split(plain(sentence)):
        if found := _NARROWS.search(each):
            yield _CONTRASTS.without(each[: found.start()].strip() or before)
        before = each


def _begins_with(words: str, objects: frozenset[str]) -> bool:
    """Whether the first content word names one of the objects."""
    return next((bool(told & objects) for each in words.split() if (told := about(each))), False)


def _without(clause: str, found: re.Match[str]) -> frozenset[str]:
    return terms(clause) - terms(found[0])


def _is_about(clause: frozenset[str], wish: str, wanted: frozenset[str]) -> bool:
    """Whether a clause of these terms is about these terms of the wish, and little else."""
    telling = clause - common_terms() - _quantifiers()
    shared = sum(stands_among(term, wanted) for term in clause)
    alone = len(telling) == 1 and bool(telling & wanted)
    if shared >= max(1 if alone else SHARED_MIN, SHARE_MIN * len(clause)):
        return True
    objects = objects_of(wish)
    if not (wanted and telling & objects):
        return False
    both = wanted | objects
    return sum(stands_among(term, both) for term in telling) >= OBJECT_SHARE_MIN * len(telling)


@cache
def _quantifiers() -> frozenset[str]:
    """Return the stems of "each", "every" and the like, which say nothing about what follows."""
    return terms(" ".join(sorted(words_in("quantifiers"))))


def is_negative(clause: str, pattern: AnyOf = _NEGATED) -> bool:
    """Whether it says that something is not to be: "never push", but not "never push without asking"."""
    ends = 0
    count = 0
    for found in pattern.finditer(clause):
        count += clause[ends : found.start()].strip() != "" or not count  # "plus jamais" is said once
        ends = found.end()
    return count % 2 == 1


class _Slot(Struct, frozen=True):
    name: str
    topic: AnyOf | None
    values: dict[str, AnyOf]


@cache
def _slots() -> tuple[_Slot, ...]:
    """Return all slots that the languages know: `slot` has the words for its subject, `slot/value` those for
    a value."""
    names = dict.fromkeys(key for language in languages() for key in language.wishes)
    patterns = {name: AnyOf(lambda language, name=name: language.wishes.get(name, ())) for name in names}
    slots = dict.fromkeys(name.partition("/")[0] for name in names)
    return tuple(
        _Slot(
            slot,
            patterns.get(slot),
            {name.partition("/")[2]: each for name, each in patterns.items() if name.startswith(f"{slot}/")},
        )
        for slot in slots
    )
