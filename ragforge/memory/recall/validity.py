"""Which statements of turns no longer hold, by what was said after them. In doubt all of them do.

The turns that were found for one message are compared with each other: what replaces a statement mostly
speaks of the same, so it is found with it. What else replaced one, the typed memories know.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from functools import cache, cached_property, lru_cache

from msgspec import Struct

from ragforge.domain.language.base import AnyOf, common_words, first_group
from ragforge.domain.memories import MemoryType
from ragforge.domain.messages import text_of
from ragforge.domain.turns import Turn
from ragforge.memory.material import answer_of
from ragforge.memory.recall.replacements import ReplacedStatement
from ragforge.memory.sentences import cut_sentence, one_line, sentences
from ragforge.memory.statements import plain
from ragforge.memory.terms import SAME_SHARE, terms

TEXT_CHARS_MAX = 2_000
"""Of a message and of an answer: what is changed is said at their beginning."""
SHARED_MIN = 2
"""So many words two statements share that are about the same."""
STOPPED_SHARE = 0.4
"""Of the words of an instruction: what ends it holds so many of them."""
TELLING_DIGITS = 3
"""A number of so many digits is the same thing wherever it is."""
SHORT_WORDS_MAX = 4
"""An answer of so few words is about what was asked just before."""
NEW_CHARS_MAX = 60
"""Of what holds now, in a mark."""
SPOKEN_MAX = 256
SENTENCES_MAX = 4_096
"""So many turns and sentences are kept as they are compared: the same ones are found again and again."""

_INSTEAD = AnyOf(lambda language: language.goes)
_RETURNS = AnyOf(lambda language: language.returns)
_GONE = AnyOf(lambda language: language.gone)
_STOPS = AnyOf(lambda language: language.stops)
_BECOMES = AnyOf(lambda language: language.becomes)
_STANDING = AnyOf(lambda language: language.standing)
_DONE = AnyOf(lambda language: language.done)
_TODO = AnyOf(lambda language: language.memories.get(MemoryType.TODO, ()))

_LIST = re.compile(r"^(?P<lead>[^:]{0,60}:)\s*(?P<items>.+)$")
_BETWEEN = re.compile(r"(?:,(?![^()]*\))\s*(?:and |et )?|;\s*|\s(?:and|et)\s)(?![^()]*\))")

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NAMED = re.compile(
    r"(?<![\w.])([A-Za-z][\w-]*_\w+|[A-Z][A-Z0-9]{2,}|[a-z]+[A-Z]\w+|[A-Z][a-z]+[A-Z]\w*)(?::\s?\w+)?`?"
    r"(?:\s*(?:=|:)\s*|\s+(?:\w+\s+){0,2}?)`?((?:\*-\*-\* )?\d+(?:[.,:]\d+)*)"
)
"""A name as code has it, and the number that it is given."""


class Replacement(Struct, frozen=True):
    """What holds in place of a statement, and since when."""

    turn_id: str
    at: datetime
    text: str

    @property
    def mark(self) -> str:
        """`(replaced 3 Nov: port 9443)`."""
        return f"(replaced {self.at.day} {self.at:%b}: {self.text})"


class Spoken(Struct, frozen=True, dict=True):
    """A turn as it is compared with others."""

    turn: Turn

    @cached_property
    def user(self) -> str:
        """The user's words on one line."""
        return one_line(text_of(self.turn.user))

    @cached_property
    def sentences(self) -> list[str]:
        """Of the user's message and of the answer; the whole message too."""
        said = sentences(text_of(self.turn.user)[:TEXT_CHARS_MAX])
        told = sentences(answer_of(self.turn)[:TEXT_CHARS_MAX])
        return list(dict.fromkeys([*said, *([self.user] if self.user else []), *told]))

    @cached_property
    def readable(self) -> list[str]:
        """The sentences as the patterns read them, with the words that stand in backquotes."""
        return [plain(re.sub(r"`([^`]*)`", r"\1", sentence)) for sentence in self.sentences]

    @cached_property
    def terms(self) -> frozenset[str]:
        """What all of it is about."""
        return frozenset[str]().union(*map(_about, self.sentences))

    @cached_property
    def gives_up(self) -> frozenset[str]:
        """What is given up or removed in it."""
        return _things(_GONE, self.readable)

    @cached_property
    def brings_back(self) -> frozenset[str]:
        """What holds again from it on."""
        return _things(_RETURNS, self.readable)

    @cached_property
    def framed(self) -> list[tuple[str, frozenset[str], frozenset[str]]]:
        """Its sentences with numbers: what they are about, and the numbers."""
        found = [(sentence, _numbers(sentence)) for sentence in self.sentences]
        return [(sentence, _about(sentence), numbers) for sentence, numbers in found if numbers]

    @cached_property
    def does(self) -> bool:
        """Whether something that was to do is done in it."""
        return any(_DONE.search(plain(sentence)) for sentence in self.sentences)

    @cached_property
    def ends(self) -> list[tuple[str, frozenset[str]]]:
        """The user's sentences by which an instruction holds no longer, and what they are about."""
        said = sentences(text_of(self.turn.user))
        return [(each, _about(each)) for each in said if _STOPS.search(plain(each))]

    @cached_property
    def named(self) -> dict[str, str]:
        """The numbers that names are given in it."""
        text = f"{text_of(self.turn.user)}\n{answer_of(self.turn)}"
        return {found[1]: found[2] for found in _NAMED.finditer(text)}


class ValueChange(Struct, frozen=True):
    """A value that is another one since a turn."""

    old: str
    new: str
    by: Spoken
    sentence: str
    """That says so."""
    name: str = ""
    of: str = ""
    """The turn whose statements alone it concerns, where it does not concern all before."""


class Validity:
    """The turns that were found for a message, compared with each other."""

    def __init__(self, turns: Iterable[Turn], known: Sequence[ReplacedStatement] = ()) -> None:
        """known: what the memories that rest on these turns say of it, the last replaced first."""
        self._known = known
        self._spoken = [
            _spoken(turn) for turn in sorted(turns, key=lambda turn: (turn.started_at, turn.index))
        ]
        self._by_id = {each.turn.id: each for each in self._spoken}
        self._changes = list(self._changed())

    def replacement(self, turn: Turn, statement: str) -> Replacement | None:
        """What replaced this statement of the turn last; None where it holds."""
        for by in reversed([each for each in self._spoken if _before(turn, each.turn)]):
            text = self._replaced(turn, statement, by)
            if text:
                return Replacement(
                    by.turn.id, by.turn.started_at, cut_sentence(one_line(text), NEW_CHARS_MAX)
                )
        for each in self._known:
            if turn.started_at < each.at and each.concerns(statement):
                text = cut_sentence(one_line(each.new.content), NEW_CHARS_MAX)
                return Replacement(each.turn_id, each.at, text)
        return None

    def still_open(self, at: datetime, statement: str) -> str | None:
        """The statement with what of its list is still to do; None where all of it is done.

        at: when it was said. What is no list of things to do stays as it is.
        """
        if (found := _list_to_do(statement)) is None:
            return statement
        later = [each for each in self._spoken if each.turn.started_at > at and each.does]
        items = [item for item in _BETWEEN.split(found["items"]) if item and item.strip(" .")]
        left = [item for item in items if not any(_is_done(item, each) for each in later)]
        if len(left) == len(items):
            return statement
        return f"{found['lead']} {', '.join(left)}" if left else None

    def _replaced(self, turn: Turn, statement: str, by: Spoken) -> str:
        """What in the later turn takes the statement's place; empty where nothing does."""
        for change in self._changes:
            if change.by is by and change.of in ("", turn.id) and _holds(change, statement):
                return change.sentence
        return _same_frame(statement, by) or self._taken_back(turn, by) or _stopped(statement, by)

    def _changed(self) -> Iterator[ValueChange]:
        """The values that a later turn changes."""
        for at, new in enumerate(self._spoken):
            for old in self._spoken[:at]:
                for name, value in new.named.items():
                    if old.named.get(name, value) != value:
                        yield ValueChange(old.named[name], value, new, f"{name} {value}", name)
            yield from _said_changes(new)
            before = self._by_id.get(new.turn.parent or "")
            if before and before in self._spoken[:at]:
                yield from _corrections(before, new)

    def _taken_back(self, turn: Turn, by: Spoken) -> str:
        """The words by which something returns that the statement's turn had given up."""
        mine = self._by_id.get(turn.id)
        # What returned and what took its place meanwhile: the whole turn is about it.
        return by.user if mine and mine.gives_up and mine.gives_up & by.brings_back else ""


@lru_cache(SPOKEN_MAX)
def _spoken(turn: Turn) -> Spoken:
    return Spoken(turn)


def _before(turn: Turn, later: Turn) -> bool:
    return (turn.started_at, turn.index) < (later.started_at, later.index) and turn.id != later.id


@lru_cache(SENTENCES_MAX)
def _about(text: str) -> frozenset[str]:
    """Its words without numbers and without what everybody says."""
    return frozenset(term for term in terms(text) - _common() if not any(map(str.isdigit, term)))


@cache
def _common() -> frozenset[str]:
    return frozenset[str]().union(*map(terms, common_words()))


@lru_cache(SENTENCES_MAX)
def _numbers(text: str) -> frozenset[str]:
    return frozenset(_NUMBER.findall(text))


def _holds(change: ValueChange, statement: str) -> bool:
    """Whether the statement gives the old value of what was changed."""
    if change.name and change.name in statement:
        given = {found[1]: found[2] for found in _NAMED.finditer(statement)}.get(change.name)
        return given is not None and given != change.new
    old = _NUMBER.findall(change.old)
    if not old:
        return bool(terms(change.old)) and terms(change.old) <= terms(statement)
    there = {number.removesuffix(":00") for number in _numbers(statement)}
    if not all(number.removesuffix(":00") in there for number in old):
        return False
    if change.of:
        return True
    telling = sum(map(str.isdigit, change.old)) >= TELLING_DIGITS
    return len(_about(statement) & change.by.terms) >= (1 if telling else SHARED_MIN)


def _said_changes(new: Spoken) -> Iterator[ValueChange]:
    """`8085 instead of 8000`, `4,8 Mo deviennent 1,9 Mo`."""
    for sentence, readable in zip(new.sentences, new.readable, strict=True):
        if len(_numbers(sentence)) < 2:
            continue
        for found in _INSTEAD.finditer(readable):
            if _NUMBER.search(gone := first_group(found)):
                yield ValueChange(gone, sentence, new, new.user)
        for found in _BECOMES.finditer(readable):
            yield ValueChange(first_group(found), sentence, new, sentence)


def _corrections(before: Spoken, new: Spoken) -> Iterator[ValueChange]:
    """A short answer with another number than the question had: `no, rather 30`."""
    if len(new.user.split()) > SHORT_WORDS_MAX or not _numbers(new.user):
        return
    asked = [each for each in before.sentences if each.endswith("?")][-1:]
    for value in _numbers(" ".join(asked)) - _numbers(new.user):
        yield ValueChange(value, new.user, new, new.user, of=before.turn.id)


def _is_done(item: str, by: Spoken) -> bool:
    wanted = _about(item)
    least = len(wanted) if len(wanted) <= SHARED_MIN else SAME_SHARE * len(wanted)
    return bool(wanted) and len(wanted & by.terms) >= least


def _same_frame(statement: str, by: Spoken) -> str:
    """The later sentence that says the same with other numbers."""
    wanted, numbers = _about(statement), _numbers(statement)
    if len(wanted) < SHARED_MIN or not numbers:
        return ""
    for sentence, about, there in by.framed:
        if not numbers & there and len(wanted & about) >= SAME_SHARE * len(wanted):
            return sentence
    return ""


@lru_cache(SENTENCES_MAX)
def _is_standing(statement: str) -> bool:
    return _STANDING.search(plain(statement)) is not None


@lru_cache(SENTENCES_MAX)
def _list_to_do(statement: str) -> re.Match[str] | None:
    """The list of what is to do; None where the statement is none."""
    return _LIST.match(statement) if _TODO.search(plain(statement)) else None


def _stopped(statement: str, by: Spoken) -> str:
    """The later sentence that ends the instruction."""
    if not by.ends or not _is_standing(statement):
        return ""
    wanted = _about(statement)
    enough = max(SHARED_MIN, STOPPED_SHARE * len(wanted))
    return next((sentence for sentence, about in by.ends if len(wanted & about) >= enough), "")


def _things(pattern: AnyOf, readable: Sequence[str]) -> frozenset[str]:
    """The stems of what the pattern's group names in the sentences."""
    found = (_about(first_group(each)) for sentence in readable for each in pattern.finditer(sentence))
    return frozenset[str]().union(*found)
