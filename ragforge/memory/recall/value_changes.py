"""Numbers that changed with a later turn."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from msgspec import Struct

from ragforge.domain.language.base import AnyOf
from ragforge.memory.material import answer_of
from ragforge.memory.recall.spoken import KEY, NAMED, SENTENCES_MAX, Spoken
from ragforge.memory.replacement import SHARED_MIN, decision_terms, is_telling
from ragforge.memory.second_thoughts import second_thought, stated_values
from ragforge.memory.set_values import CLOCK, same_kind, values_in
from ragforge.memory.short_answers import asks
from ragforge.memory.statements import plain
from ragforge.memory.terms import SAME_SHARE, about, last_number, numbers_in, terms
from ragforge.memory.value_names import named_value, renamed_behind

OWN_DIGITS = 2
"""A number with fewer digits may mean many things in one turn."""
SHORT_WORDS_MAX = 4
"""An answer of at most this many words is about what was asked just before."""

_ASKS_TO_CHANGE = AnyOf(lambda language: language.asks_to_change)
_O_CLOCK = re.compile(r"(?::00)+$")


class ValueChange(Struct, frozen=True):
    """A value that a turn changed."""

    old: str
    new: str
    by: Spoken
    sentence: str
    """The sentence that says so."""
    name: str = ""
    of: str = ""
    """The only turn whose statements it concerns; empty if it concerns all before."""
    words: frozenset[str] | None = None
    """If the number could mean many things, only statements with one of these words are concerned."""


def gives_old_value(change: ValueChange, statement: str, mine: Spoken | None) -> bool:
    """Return whether the statement gives the old value of what was changed. mine: its turn, prepared."""
    if change.name and change.name in statement:
        given = {f[1]: f[2] for each in (NAMED, KEY) for f in each.finditer(statement)}.get(change.name)
        return given is not None and given != change.new
    old = numbers_in(change.old)
    if not old:
        return bool(terms(change.old)) and terms(change.old) <= terms(statement)
    if not set(map(_bare, old)) <= set(map(_bare, _comparable(statement, old))):
        return False
    words = about(statement)
    if change.words is not None and not change.words & words:
        return False
    if change.of:
        return True
    units = {each.unit for each in stated_values(statement)}
    if not is_telling(change.old):
        if len(words & change.by.terms) >= SHARED_MIN:
            return True
        # With the unit it may mean one thing: "2 degrees is too nervous".
        values = {each for each in stated_values(change.sentence) if each.number in old and each.unit}
        if not values & {*stated_values(statement)}:
            return False
        same = [each for text, each, _ in mine.framed if values & {*stated_values(text)}] if mine else []
    else:
        same = [each for _, each, numbers in mine.framed if old <= numbers] if mine else []
    # In one turn such a number means one thing, whatever else a sentence says about it.
    return bool(words.union(*same) & change.by.terms - units)


def _comparable(statement: str, old: frozenset[str]) -> Iterable[str]:
    """Return the numbers of the statement, only times of day if the old number is one."""
    if not any(":" in each for each in old):
        return numbers_in(statement)
    return (each.number for each in values_in(plain(statement)) if each.unit == CLOCK)


def _bare(number: str) -> str:
    """Return `2` for `2:00` and `2:00:00`."""
    return _O_CLOCK.sub("", number).lstrip("0")


def given_otherwise(old: Spoken, new: Spoken) -> Iterator[ValueChange]:
    """Yield the numbers that a name of code, or what the user measures, has in one turn and not in the other.

    All else that the earlier turn says with that number is replaced: "below 12 bars" for `PUMP_WARN = 12`.
    """
    for name, value in new.named.items():
        if (before := old.named.get(name, value)) != value:
            text = f"{name} {value}"
            yield ValueChange(before, value, new, text, name)
            short = sum(map(str.isdigit, before)) < OWN_DIGITS
            words = about(" ".join(re.split(r"[._-]", name))) if short else None
            yield ValueChange(before, value, new, text, of=old.turn.id, words=words)
    yield from _reconsidered(old, new)
    yield from _counted_anew(old, new)
    yield from _told_anew(old, new)
    for what, value in new.measured.items():
        yield from _of_the_same(what, old.measured.get(what, value), value, old, new)
    for what, given in new.told.items():
        before = old.told.get(what, given)
        if before.unit == given.unit or not (before.unit and given.unit):
            yield from _of_the_same(what, before.number, given.number, old, new)


def _of_the_same(what: str, before: str, value: str, old: Spoken, new: Spoken) -> Iterator[ValueChange]:
    """Yield the change of what both turns give a number, if both also mention something else in common."""
    if before != value and old.words & new.words - set(what.split()):
        yield ValueChange(before, value, new, new.user, of=old.turn.id)


def _reconsidered(old: Spoken, new: Spoken) -> Iterator[ValueChange]:
    """Yield the number about which the user changes their mind: `keep them 90 days after all`, if `30 days`
    was said about the same thing."""
    for sentence, value in new.reconsidered:
        for said in old.said:
            given = [each for each in stated_values(said) if each.unit == value.unit]
            shared = about(said) & about(sentence) - {value.unit}
            if len(given) == 1 and given[0].number != value.number and len(shared) >= SHARED_MIN:
                written = re.search(rf"(?<![\w.,:]){re.escape(value.number)}[\s-]?\w+", sentence)
                text = written[0] if written else sentence
                yield ValueChange(given[0].number, value.number, new, text, of=old.turn.id)


def _counted_anew(old: Spoken, new: Spoken) -> Iterator[ValueChange]:
    """Yield the number that has increased: `two more tanks, that's 14 in total`, if there were 12."""
    for sentence, before, total in new.totals:
        for each in old.valued:
            is_other = each.unit == total.unit and each.number != total.number
            if is_other and before in (None, int(each.number) if each.number.isdigit() else -1):
                yield ValueChange(each.number, total.number, new, sentence, of=old.turn.id)


def _told_anew(old: Spoken, new: Spoken) -> Iterator[ValueChange]:
    """Yield the only number of its kind in the earlier turn, and the later one's as the current one, if
    both mention the same file and something else in common."""
    if not (new.now and old.valued) or old.code.isdisjoint(new.code):
        return
    files = terms(" ".join(old.code & new.code))
    if not old.terms & new.terms - files - {each.unit for each in old.valued}:
        return
    for before in old.valued:
        mine = {each for each in old.valued if same_kind(before, each)}
        others = {each for each in new.valued if same_kind(before, each)} - mine
        value = next(iter(others), before)
        if len(mine) == len(others) == 1 and value in new.now:
            yield ValueChange(before.number, value.number, new, new.now[value], of=old.turn.id)


def corrections(before: Spoken, new: Spoken) -> Iterator[ValueChange]:
    """Yield the number of a short answer that differs from the question's, `no, rather 30`, or from what was
    said just before a question whether to change it: `at most 10. Shall I raise it?`, `yes, 20`."""
    if len(new.user.split()) > SHORT_WORDS_MAX or not numbers_in(new.user):
        return
    at = max((at for at, each in enumerate(before.sentences) if each.endswith("?")), default=None)
    if at is None:
        return
    old = numbers_in(before.sentences[at])
    if not old and at and _ASKS_TO_CHANGE.search(plain(before.sentences[at])):
        old = frozenset(last_number(before.sentences[at - 1]))
    for value in old - numbers_in(new.user):
        yield ValueChange(value, new.user, new, new.user, of=before.turn.id)


def second_thoughts(before: Spoken, new: Spoken) -> Iterator[ValueChange]:
    """Yield the value of a next message that only gives another value: for the one that the user gave, else
    for the one in the answer."""
    for given in filter(None, map(named_value, before.said)):
        if renamed_behind(new.user, given):
            yield ValueChange(given.written, new.user, new, new.user, of=before.turn.id)
    thought = second_thought(new.user)
    if thought is None or (asks(answer_of(before.turn)) and not thought.objects):
        return
    for text in (before.user, before.answer):
        if change := thought.replaces(stated_values(text)):
            yield ValueChange(change[0].number, new.user, new, new.user, of=before.turn.id)
            return


def same_frame(statement: str, by: Spoken) -> str:
    """Return the later sentence that says the same with other numbers."""
    numbers = numbers_in(statement)
    wanted = _set_in(statement) if numbers else frozenset[str]()
    if len(wanted) < SHARED_MIN:
        return ""
    names = _names_set(statement)
    for sentence, words, there in by.framed:
        others = _names_set(sentence)
        if names and others and not names & others:
            continue  # two constants in the same file
        if not _counts_the_same(statement, sentence):
            continue  # seven backups and three logs
        if not numbers & there and len(wanted & words) >= SAME_SHARE * len(wanted):
            return sentence
    return ""


def same_number(statement: str, mine: Spoken, by: Spoken) -> str:
    """Return the later sentence that gives another number for what the statement's own number means in its
    turn: "the file has 64 plots", if the user had said it in other words."""
    values = stated_values(statement) if by.framed else ()
    if len(values) != 1 or len(values[0].number) < OWN_DIGITS or not values[0].unit:
        return ""
    same = (text for text, *_ in mine.framed if text != statement and stated_values(text) == values)
    return next(filter(None, (same_frame(text, by) for text in same)), "")


def _counts_the_same(statement: str, sentence: str) -> bool:
    """Return whether a number of the one can be another value for one of the other."""
    old, new = stated_values(statement), stated_values(sentence)
    return not (old and new) or any(same_kind(one, other) or not one.unit for one in old for other in new)


@lru_cache(SENTENCES_MAX)
def _names_set(sentence: str) -> frozenset[str]:
    """Return the names of code to which the sentence gives a number."""
    return frozenset(found[1] for found in NAMED.finditer(sentence))


@lru_cache(SENTENCES_MAX)
def _set_in(statement: str) -> frozenset[str]:
    """Return what the statement is about, without words for giving a value and its unit if enough is left."""
    words = about(statement)
    units = {each.unit for each in stated_values(statement)}
    telling = words - units - decision_terms()
    return telling if len(telling) >= SHARED_MIN else words
