"""Which statements of turns no longer hold, by what was said after them. In doubt all of them do.

The turns that were found for one message are compared with each other, and with those that are known to
replace something in them. What else replaced a statement, the typed memories know.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from functools import cached_property, lru_cache
from itertools import pairwise

from msgspec import Struct

from ragforge.domain.language.base import AnyOf, first_group
from ragforge.domain.language.lexicon import in_english
from ragforge.domain.language.words import stem
from ragforge.domain.memories import Memory, MemoryType
from ragforge.domain.messages import text_of
from ragforge.domain.turns import Turn
from ragforge.domain.words import day_words
from ragforge.memory.constraints import Allowance, allowed_by, may_allow
from ragforge.memory.departures import names_somebody, who_acts, who_left, who_stops, without_actors
from ragforge.memory.likeness import content_words, names_in
from ragforge.memory.material import answer_of
from ragforge.memory.own_words import own_words
from ragforge.memory.period_words import stated_period
from ragforge.memory.purposes import given_up, names_part, purposes_in, says_more, uses
from ragforge.memory.recall.likely_changes import (
    LIKELY,
    LIKELY_STANDING,
    Later,
    later_turn,
    outdated_by,
    tells_a_change,
)
from ragforge.memory.recall.replacements import Link, ReplacedStatement
from ragforge.memory.recall.states import BuiltOn, Pick, Removal, built_on, pick_in, removals
from ragforge.memory.replacement import (
    SHARED_MIN,
    brings_back,
    corrects,
    decision_terms,
    ends_instruction,
    ends_part,
    finishes,
    gives_up_part,
    goes_or_returns,
    has_changed_mind,
    has_ending_clause,
    is_telling,
    may_end,
    names_anything,
    names_otherwise,
    takes_back,
)
from ragforge.memory.second_thoughts import second_thought, stated_values
from ragforge.memory.sentences import cut_sentence, one_line, sentences
from ragforge.memory.set_values import (
    CLOCK,
    NumberWithUnit,
    new_totals,
    same_kind,
    set_values,
    sets_otherwise,
    values_in,
)
from ragforge.memory.short_answers import asks
from ragforge.memory.statements import plain
from ragforge.memory.terms import SAME_SHARE, about, last_number, numbers_in, terms, with_digits
from ragforge.memory.todo_list import todo_list
from ragforge.memory.value_names import named_value, renamed_behind, renames

TEXT_CHARS_MAX = 2_000
"""Of a message and of an answer: what is changed is said at their beginning."""
OWN_DIGITS = 2
"""A number of fewer digits may be many things in one turn."""
SHORT_WORDS_MAX = 4
"""An answer of so few words is about what was asked just before."""
NEW_CHARS_MAX = 80
"""Of what holds now, in a mark."""
SPOKEN_MAX = 256
SENTENCES_MAX = 1_024
"""How many turns and sentences are kept as they are compared: the same ones are found again and again."""

_INSTEAD = AnyOf(lambda language: language.goes)
_RETURNS = AnyOf(lambda language: language.returns)
_ONLY_FOR = AnyOf(lambda language: language.only_for)
_GONE = AnyOf(lambda language: language.gone)
_BECOMES = AnyOf(lambda language: language.becomes)
_STANDING = AnyOf(lambda language: language.standing)
_DONE = AnyOf(lambda language: language.done)
_TODO = AnyOf(lambda language: language.memories.get(MemoryType.TODO, ()))
_LEAVES_OPEN = AnyOf(lambda language: language.leaves_open)
_ALL_DONE = AnyOf(lambda language: language.all_done)
_VALUE_GONE = AnyOf(lambda language: language.value_gone)
_POLITE = AnyOf(lambda language: language.cues.get("polite", ()))
_SWITCHES = AnyOf(lambda language: language.switches)
_AT_TIMES = AnyOf(lambda language: language.at_times)
_NOW = AnyOf(lambda language: language.now_so)
_ASKS_TO_CHANGE = AnyOf(lambda language: language.asks_to_change)

_NAMED = re.compile(
    r"(?<![\w.:])((?:\w+::)*(?:[A-Za-z][\w-]*_\w+|[A-Z][A-Z0-9]{2,}|[a-z]+[A-Z]\w+|[A-Z][a-z]+[A-Z]\w*))(?::\s?\w+)?`?"
    r"(?:\s*(?:=|:)\s*(?:[A-Za-z]+\()?[\"']?|\s+(?:\w+\s+){0,2}?)`?((?:\*-\*-\* )?\d+(?:[.,:]\d+)*)"
)
"""A name as code has it, and the number that it is given."""
_KEY = re.compile(r"(?<![\w./-])([a-z][\w-]*(?:\.[\w-]+)+)\s*=\s*[\"']?(\d+(?:[.,:]\d+)?)")
"""A setting, and its number: `unlock.timeout = 8s`."""


_CODE = re.compile(r"`([^`\s]+)`")
_FOR_SOME = re.compile(
    r"(?<![\w.,:])(\d+(?:[.,]\d+)?)(?: [^\W\d]+)? (?:only )?(?:for|pour) (?:the |l[ea]s? |l'|our )?([^\W\d]+)"
)
_O_CLOCK = re.compile(r"(?::00)+$")
_DECIMALS = re.compile(r"(?<=\d)[.,:]\d+")
_MEASURED = re.compile(r"(?<![\w.,:])(\d+(?:[.,]\d+)?) ?([^\W\d]+(?: [^\W\d]+){1,3})")
_TOLD = re.compile(r"([^\W\d_]{3,}) (of |de |d')?(?<![\w.,:])(\d+(?:[.,]\d+)?)(?![\w.:/-])")
MEASURED_WORDS = 2
"""A number of what two words name, whatever stands between them: `60 litre tank`, `60 requests a minute`."""


class Replacement(Struct, frozen=True):
    """What holds in place of a statement, and since when."""

    turn_id: str
    at: datetime
    text: str
    in_part: bool = False
    """Whether something of the statement still holds."""
    is_sure: bool = True
    """Whether a rule knows it; else it is only likely."""

    @property
    def is_whole(self) -> bool:
        """Whether surely nothing of the statement still holds."""
        return self.is_sure and not self.in_part

    @property
    def mark(self) -> str:
        """`(replaced 3 Nov: port 9443)`."""
        part = " in part" if self.in_part else ""
        return f"{self.short_mark[:-1]}{part}: {self.text})"

    @property
    def short_mark(self) -> str:
        """`(replaced 3 Nov)`."""
        return f"({'' if self.is_sure else 'perhaps '}replaced {day_words(self.at)})"


class Spoken(Struct, frozen=True, dict=True):
    """A turn as it is compared with others."""

    turn: Turn

    @cached_property
    def own(self) -> str:
        """The user's message without what was pasted into it, for a log changes nothing; with digits."""
        return with_digits(own_words(text_of(self.turn.user)))

    @cached_property
    def answer(self) -> str:
        """The beginning of the answer, with digits."""
        return with_digits(answer_of(self.turn)[:TEXT_CHARS_MAX])

    @cached_property
    def written(self) -> dict[str, str]:
        """The sentences in the words in which they were written, by the same with digits."""
        own, told = own_words(text_of(self.turn.user)), answer_of(self.turn)[:TEXT_CHARS_MAX]
        texts = (*sentences(own), one_line(own), *sentences(told))
        return {digits: text for text in texts if (digits := with_digits(text)) != text}

    @cached_property
    def user(self) -> str:
        """The user's own words on one line."""
        return one_line(self.own)

    @cached_property
    def sentences(self) -> list[str]:
        """Of the user's message and of the answer; the whole message too."""
        said = sentences(self.own[:TEXT_CHARS_MAX])
        told = sentences(self.answer)
        return list(dict.fromkeys([*said, *([self.user] if self.user else []), *told]))

    @cached_property
    def readable(self) -> list[str]:
        """The sentences as the patterns read them, with the words that stand in backquotes."""
        return [plain(re.sub(r"`([^`]*)`", r"\1", sentence)) for sentence in self.sentences]

    @cached_property
    def terms(self) -> frozenset[str]:
        """What all of it is about."""
        return frozenset[str]().union(*map(about, self.sentences))

    @cached_property
    def words(self) -> frozenset[str]:
        """What the user speaks of."""
        return about(self.user)

    @cached_property
    def gives_up(self) -> frozenset[str]:
        """What is given up or removed in it."""
        return _things(_GONE, self.readable) | about(" ".join(self.switched_from))

    @cached_property
    def switched_from(self) -> frozenset[str]:
        """The names that the user speaks of right before an order to switch to something else: `Mailjet wants
        money now. Switch to Brevo.`"""
        # `Mailjet wants money. Switch to Brevo.`, or `switch to Brevo, Mailjet wants money`
        behind = [(one, other) for one, other in pairwise(self.said) if _SWITCHES.match(plain(other))]
        orders = (each.partition(", ") for each in self.said if _SWITCHES.match(plain(each)))
        behind += [(reason, order) for order, _, reason in orders if reason]
        # A name at the beginning of a sentence has its capital as any word has.
        found = (names_in(one).union(content_words(one)[:1]) - names_in(other) for one, other in behind)
        return frozenset(each for names in found for each in names if not any(map(str.isdigit, each)))

    @cached_property
    def dropped(self) -> dict[str, str]:
        """The names that the user gives up altogether, each with the sentence that says so."""
        return given_up(self.said)

    @cached_property
    def allowing(self) -> list[str]:
        """Those of the user's sentences that may allow what a rule forbids."""
        return list(filter(may_allow, self.said))

    @cached_property
    def totals(self) -> list[tuple[str, int | None, NumberWithUnit]]:
        """The user's sentences by which there is more of something, with `new_totals`."""
        return [(each, *total) for each in self.said for total in new_totals(each)]

    @cached_property
    def limited(self) -> dict[str, frozenset[str]]:
        """The numbers that the user gives for something alone, and what for: `45 minutes for the harbour`."""
        return {found[1]: about(found[2]) for found in _FOR_SOME.finditer(self.user)}

    @cached_property
    def code(self) -> frozenset[str]:
        """The paths and names of code that the answer and the user name in backquotes."""
        return frozenset(_CODE.findall(f"{self.own}\n{self.answer}"))

    @cached_property
    def valued(self) -> frozenset[NumberWithUnit]:
        """The numbers of the whole turn that count something."""
        every = (each for sentence in self.sentences for each in stated_values(sentence))
        return frozenset(each for each in every if each.unit)

    @cached_property
    def now(self) -> dict[NumberWithUnit, str]:
        """Those of these numbers that a sentence gives as what is so now, each with the sentence."""
        if not self.valued:
            return {}
        said = [each for each in reversed(self.sentences) if _NOW.search(each)]
        return {value: each for each in said for value in stated_values(each) if value.unit}

    @cached_property
    def gives(self) -> bool:
        """Whether it gives anything a number that an earlier turn may have given another one."""
        return any((self.named, self.reconsidered, self.measured, self.told, self.totals, self.now))

    @cached_property
    def changes(self) -> "list[ValueChange]":
        """The values that it says itself are others since."""
        return list(_said_changes(self))

    @cached_property
    def finishing(self) -> list[str]:
        """The sentences by which something that was to do may be done."""
        return list(filter(finishes, (*self.said, *sentences(self.answer))))

    @cached_property
    def handing_over(self) -> dict[str, str]:
        """The names of those who do something no longer, each with the user's sentence that says so."""
        return {name: each for each in self.said for name in (*who_left(each), *who_stops(each))}

    @cached_property
    def brings_back(self) -> frozenset[str]:
        """What holds again from it on."""
        return _things(_RETURNS, [each for each in self.readable if not _ONLY_FOR.search(each)])

    @cached_property
    def framed(self) -> list[tuple[str, frozenset[str], frozenset[str]]]:
        """Its sentences with numbers: what they are about, and the numbers."""
        found = [(sentence, numbers_in(sentence)) for sentence in self.sentences]
        return [(sentence, about(sentence), numbers) for sentence, numbers in found if numbers]

    @cached_property
    def does(self) -> bool:
        """Whether something that was to do is done in it."""
        return self.ends_list or any(_DONE.search(plain(sentence)) for sentence in self.sentences)

    @cached_property
    def leaves_open(self) -> frozenset[str]:
        """What is still to do after it."""
        return _things(_LEAVES_OPEN, self.readable)

    @cached_property
    def ends_list(self) -> bool:
        """Whether nothing of a list of what was to do is left after it."""
        return any(_ALL_DONE.search(plain(sentence)) for sentence in self.sentences)

    @cached_property
    def said(self) -> list[str]:
        """The user's sentences."""
        return sentences(self.own)

    @cached_property
    def ending(self) -> list[str]:
        """Those of the user's sentences that say that something is wanted no longer."""
        return list(filter(has_ending_clause, self.said))

    @cached_property
    def leaving(self) -> frozenset[str]:
        """The names of those who are there no longer by the user's words."""
        return frozenset[str]().union(*map(who_left, self.said))

    @cached_property
    def acting(self) -> frozenset[str]:
        """The names of those who do something by the user's words."""
        return frozenset[str]().union(*map(who_acts, self.said)) - self.leaving

    @cached_property
    def later(self) -> Later:
        """It as statements of earlier turns are compared with it."""
        return later_turn(self.own, answer_of(self.turn))

    @cached_property
    def removals(self) -> list[Removal]:
        """What is there no longer, by the user's words and the answer's."""
        return removals(self.sentences)

    @cached_property
    def built_on(self) -> list[BuiltOn]:
        """What names of code are built on."""
        return built_on(self.sentences)

    @cached_property
    def pick(self) -> Pick | None:
        """What the user picks in it."""
        return pick_in(self.user)

    @cached_property
    def sets(self) -> bool:
        """Whether the user sets something to a number in it."""
        return any(map(set_values, self.said))

    @cached_property
    def reconsidered(self) -> list[tuple[str, NumberWithUnit]]:
        """The sentences in which the user changes their mind and gives one number of something."""
        found = ((each, stated_values(each)) for each in self.said if has_changed_mind(plain(each)))
        return [(each, values[0]) for each, values in found if len(values) == 1 and values[0].unit]

    @cached_property
    def naming(self) -> list[str]:
        """Those of the user's sentences that may name another thing for something."""
        return [sentence for sentence in self.said if names_anything(sentence)]

    @cached_property
    def named(self) -> dict[str, str]:
        """The numbers that names of code are given in it."""
        text = f"{self.own}\n{self.answer}"
        return {found[1]: found[2] for each in (_NAMED, _KEY) for found in each.finditer(text)}

    @cached_property
    def measured(self) -> dict[str, str]:
        """The numbers that the user gives of what two words name, in English."""
        found = ((in_english(each[2])[:MEASURED_WORDS], each[1]) for each in _MEASURED.finditer(self.user))
        return {" ".join(map(stem, words)): number for words, number in found if len(words) == MEASURED_WORDS}

    @cached_property
    def told(self) -> dict[str, NumberWithUnit]:
        """The numbers that the user gives right behind what is to be done, or behind what is counted by
        them, by its stem in English: `keep 7`, `rows of 12`."""
        values = {each.number: each for each in stated_values(self.user)}
        found = ((stem(word), each) for each in _TOLD.finditer(self.user) for word in in_english(each[1])[:1])
        return {
            word: values[each[3]]
            for word, each in found
            if each[3] in values and (each[2] or word in decision_terms())
        }


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
    words: frozenset[str] | None = None
    """If the number could mean many things, only statements with one of these words are concerned."""


class Validity:
    """The turns that were found for a message, compared with each other."""

    def __init__(
        self, turns: Iterable[Turn], known: Sequence[ReplacedStatement] = (), links: Collection[Link] = ()
    ) -> None:
        """known: what the memories that rest on these turns say of it, the last replaced first. links: turns
        that may replace something in another which no rule knows."""
        self._known = known
        self._links = frozenset(links)
        self._linked: dict[str, set[str]] = {}
        for link in self._links:
            self._linked.setdefault(link.old, set()).add(link.new)
        turns = list(turns)
        self._times = _times(turns)
        self._spoken = [_spoken(turn) for turn in sorted(turns, key=self._order)]
        self._by_id = {each.turn.id: each for each in self._spoken}
        self._changes = list(self._changed())

    def with_turns(self, more: Iterable[Turn], links: Collection[Link] = ()) -> "Validity":
        """The same with these turns and links as well."""
        new = [turn for turn in more if turn.id not in self._by_id]
        if not new and self._links.issuperset(links):
            return self
        return Validity([*(each.turn for each in self._spoken), *new], self._known, self._links.union(links))

    def replacement(self, turn: Turn, statement: str, *, least: float = LIKELY) -> Replacement | None:
        """What replaced this statement of the turn last; None where it holds.

        least: how likely it must be where no rule knows.
        """
        return self._last_replacement(turn, with_digits(statement)) or self._likely(turn, statement, least)

    def _last_replacement(self, turn: Turn, statement: str) -> Replacement | None:
        """What a rule knows to have replaced a statement with digits."""
        later = [each for each in reversed(self._spoken) if self._is_before(turn, each.turn)]
        at_times: Replacement | None = None
        for by in later:
            text = self._replaced(turn, statement, by)
            if not text or self._returned(statement, text, by):
                continue
            if _is_at_times(text, statement) or _leaves_rest(text, statement, by):
                at_times = at_times or _replacement(by, text, in_part=True)
                continue
            # "make it 60" may have been replaced itself by "no, 30", or by the value that held before.
            again = self._last_replacement(by.turn, text) if numbers_in(text) else None
            if again and _gives_again(again.text, text, statement):
                continue
            return again if again and second_thought(text) else _replacement(by, text)
        for each in self._known:
            if turn.started_at < each.at and each.concerns(statement):
                said_in = self._by_id.get(each.turn_id)
                if said_in and self._returned(statement, each.new.content, said_in):
                    continue
                text = cut_sentence(one_line(each.new.content), NEW_CHARS_MAX)
                return Replacement(each.turn_id, each.at, text)
        if at_times:
            return at_times
        for by in later:
            text = next((each for each in by.naming if gives_up_part(each, statement)), "")
            if text and not self._used_again(text, by):
                return _replacement(by, text, in_part=True)
        return None

    def _likely(self, turn: Turn, statement: str, least: float) -> Replacement | None:
        """What likely replaced the statement, by the newest of the turns that are linked with its own."""
        mine, newer = self._by_id.get(turn.id), self._linked.get(turn.id, ())
        of_user = mine is None or statement in text_of(turn.user)
        for by in (each for each in reversed(self._spoken) if each.turn.id in newer):
            is_next = by.turn.parent == turn.id
            text = outdated_by(statement, by.later, of_user=of_user, is_next=is_next, least=least)
            # What is named again as what returns holds.
            if text and not (_RETURNS.search(plain(text)) and names_in(statement) & names_in(text)):
                return _replacement(by, text, is_sure=False)
        return None

    def holding(self, memory: Memory) -> str:
        """What of the memory holds; empty where nothing does."""
        on = (self._by_id[turn] for turn in memory.turns if turn in self._by_id)
        least = LIKELY_STANDING if memory.type is MemoryType.PREFERENCE else LIKELY
        found = (self.replacement(each.turn, memory.content, least=least) for each in on)
        # What somebody else says replaces nothing of what a person wants.
        whose = ("", memory.owner)
        changes = [
            each for each in found if each and (not memory.owner or self._person(each.turn_id) in whose)
        ]
        if any(each.is_whole for each in changes):
            return ""
        left = self.still_open(memory.created_at, memory.content) or ""
        if left.endswith(":"):
            return ""  # the words before a list, without it
        return f"{left} {changes[-1].mark}" if left and changes else left

    def _person(self, turn_id: str) -> str:
        return self._by_id[turn_id].turn.person if turn_id in self._by_id else ""

    def changes_anything(self) -> bool:
        """Whether anything that one of the turns says holds no longer."""
        return any(
            self.replacement(each.turn, sentence) is not None
            or self.still_open(each.turn.started_at, sentence) != sentence
            for each in self._spoken[:-1]
            for sentence in each.sentences
        )

    def still_open(self, at: datetime, statement: str) -> str | None:
        """The statement with what of its list is still to do, and without what was said of those who left
        since; None where nothing of it is left.

        at: when it was said. Any other statement stays as it is.
        """
        if (found := todo_list(statement)) is None:
            return without_actors(statement, self._left_since(at)) or None
        later = [each for each in self._spoken if each.turn.started_at > at and each.does]
        if any(each.ends_list and about(statement) & each.terms for each in later):
            return None
        left = [item for item in found.items if not any(_is_done(item, each) for each in later)]
        if len(left) == len(found.items):
            return statement
        return f"{found.lead} {', '.join(left)}" if left else None

    def _left_since(self, at: datetime) -> frozenset[str]:
        """The names of those who left since, and of whom nothing was said after that."""
        gone = frozenset[str]()
        for each in self._spoken:
            if each.turn.started_at > at and (gone or each.leaving):
                gone = gone - each.acting | each.leaving
        return gone

    def _replaced(self, turn: Turn, statement: str, by: Spoken) -> str:
        """What in the later turn takes the statement's place; empty where nothing does."""
        mine = self._by_id.get(turn.id)
        for change in self._changes:
            if change.by is by and change.of in ("", turn.id) and _holds(change, statement, mine):
                return change.sentence
        return (
            _same_frame(statement, by)
            or (mine and _same_number(statement, mine, by))
            or next((each for each in by.naming if names_otherwise(each, statement)), "")
            or next((each for each in by.said if sets_otherwise(each, statement)), "")
            or next((each for each in by.said if renames(each, statement)), "")
            or next(
                (each for each in by.naming if by.turn.parent == turn.id and corrects(each, statement)), ""
            )
            or _switched(statement, by)
            or next((each.sentence for each in by.removals if each.concerns(statement)), "")
            or (by.pick.sentence if by.pick and by.pick.concerns(statement) else "")
            or (mine and self._built_otherwise(statement, mine, by))
            or self._taken_back(turn, statement, by)
            or _stopped(statement, mine, by)
            or next((each for each in by.allowing if allowed_by(each, statement) is not Allowance.NONE), "")
            or _given_up(statement, by)
            or _handed_over(statement, by)
            or _finished(statement, turn, by)
        )

    def _built_otherwise(self, statement: str, mine: Spoken, by: Spoken) -> str:
        """The later sentence by which something is built on another thing than the statement says. It is the
        last one of it: what was meanwhile is over."""
        for old in mine.built_on:
            last = next((new for new in self._last_built if new[1].subject == old.subject), None)
            if last is None or last[0] is not by or last[1].on == old.on:
                continue
            if old.sentence == statement or old.on in content_words(statement):
                return last[1].sentence
        return ""

    @cached_property
    def _last_built(self) -> list[tuple[Spoken, BuiltOn]]:
        """By the newest first."""
        return [(each, built) for each in reversed(self._spoken) for built in each.built_on]

    def _returned(self, statement: str, text: str, by: Spoken) -> bool:
        """Whether the statement holds again since a turn behind the one whose words took its place."""
        later = [each for each in self._spoken if each.naming and self._is_before(by.turn, each.turn)]
        if any(by.gives_up & each.brings_back & about(statement) for each in later):
            return True
        return any(
            takes_back(sentence, text, text) and brings_back(sentence, statement)
            for each in later
            for sentence in each.naming
        )

    def _used_again(self, change: str, by: Spoken) -> bool:
        """Whether a turn behind this one brings back what the change gave up."""
        later = (each for each in self._spoken if each.naming and self._is_before(by.turn, each.turn))
        return any(names_otherwise(sentence, change) for each in later for sentence in each.naming)

    def _order(self, turn: Turn) -> tuple[datetime, int]:
        return self._times.get(turn.id, turn.started_at), turn.index

    def _is_before(self, turn: Turn, later: Turn) -> bool:
        return turn.id != later.id and self._order(turn) < self._order(later)

    def _changed(self) -> Iterator[ValueChange]:
        """The values that a later turn changes."""
        for at, new in enumerate(self._spoken):
            for old in self._spoken[:at] if new.gives else ():
                yield from _given_otherwise(old, new)
            yield from new.changes
            before = self._by_id.get(new.turn.parent or "")
            if before and before in self._spoken[:at]:
                yield from _corrections(before, new)
                yield from _second_thoughts(before, new)

    def _taken_back(self, turn: Turn, statement: str, by: Spoken) -> str:
        """The words by which something returns that the statement's turn had given up."""
        mine = self._by_id.get(turn.id)
        if mine is None:
            return ""
        # What returned and what took its place meanwhile: the whole turn is about it.
        if mine.gives_up and mine.gives_up & by.brings_back:
            return next((each for each in by.said if _RETURNS.search(plain(each))), by.user)
        changes = [(each, change) for each in by.naming for change in mine.naming]
        return next((each for each, change in changes if takes_back(each, change, statement)), "")


def _replacement(by: Spoken, text: str, *, in_part: bool = False, is_sure: bool = True) -> Replacement:
    short = cut_sentence(one_line(by.written.get(text, text)), NEW_CHARS_MAX)
    return Replacement(by.turn.id, by.turn.started_at, short, in_part, is_sure)


def _is_at_times(text: str, statement: str) -> bool:
    """Whether the words give another number only for certain times, as "60 minutes on Sundays"."""
    return bool(numbers_in(text) and _AT_TIMES.search(text)) and not _AT_TIMES.search(statement)


def _leaves_rest(text: str, statement: str, by: Spoken) -> bool:
    """Whether the words take the place of a part of the statement alone."""
    limits = (by.limited[each] for each in numbers_in(text) if each in by.limited)
    if any(not each & terms(statement) for each in limits):
        return True
    if text in by.allowing and allowed_by(text, statement) is Allowance.PART:
        return True
    if text in by.ending and ends_instruction(text, statement):
        return ends_part(text, statement)
    return text in by.dropped.values() and says_more(statement, terms(" ".join(by.dropped)))


def _gives_again(text: str, meanwhile: str, statement: str) -> bool:
    """Whether the words give the number of the statement that meanwhile was another one."""
    given = numbers_in(statement) - numbers_in(meanwhile)
    return bool(given) and given <= numbers_in(text)


def changed_words(turn: Turn) -> frozenset[str]:
    """The words for what the user gives up or takes up again in the turn, and for names that get numbers."""
    spoken = _spoken(turn)
    removed = (each.names | each.parts for each in spoken.removals)
    built = {each.subject.lower() for each in spoken.built_on}
    others = spoken.pick.names if spoken.pick else frozenset[str]()
    names = (*spoken.named, *spoken.dropped, *spoken.handing_over)
    return frozenset(names).union(built, others, *removed, *map(goes_or_returns, spoken.said))


def may_replace(turn: Turn) -> bool:
    """Whether anything in the turn could replace what an earlier one says."""
    spoken = _spoken(turn)
    changes = (spoken.framed, spoken.brings_back, spoken.does, spoken.naming, spoken.sets)
    told = (spoken.removals, spoken.built_on, spoken.pick, tells_a_change(spoken.later))
    more = (spoken.dropped, spoken.handing_over, spoken.finishing, spoken.totals)
    return any(changes) or any(told) or any(more) or any(map(may_end, spoken.said))


@lru_cache(SPOKEN_MAX)
def _spoken(turn: Turn) -> Spoken:
    return Spoken(turn)


def _times(turns: Sequence[Turn]) -> dict[str, datetime]:
    """By turn, when it was said: never before an earlier one of its session, though a clock was set back."""
    found: dict[str, datetime] = {}
    last: dict[str, datetime] = {}
    for turn in sorted(turns, key=lambda turn: turn.index):
        at = max(turn.started_at, last.get(turn.session_id, turn.started_at))
        found[turn.id] = last[turn.session_id] = at
    return found


def _holds(change: ValueChange, statement: str, mine: Spoken | None) -> bool:
    """Whether the statement gives the old value of what was changed. mine: its turn, compared."""
    if change.name and change.name in statement:
        given = {f[1]: f[2] for each in (_NAMED, _KEY) for f in each.finditer(statement)}.get(change.name)
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
    if not is_telling(change.old):
        return len(words & change.by.terms) >= SHARED_MIN
    # In one turn such a number is one thing, whatever else a sentence says of it.
    same = (each for _, each, numbers in mine.framed if old <= numbers) if mine else ()
    return bool(words.union(*same) & change.by.terms - {each.unit for each in stated_values(statement)})


def _comparable(statement: str, old: frozenset[str]) -> Iterable[str]:
    """The numbers of the statement, those for times of the day alone where the old one is such a time."""
    if not any(":" in each for each in old):
        return numbers_in(statement)
    return (each.number for each in values_in(plain(statement)) if each.unit == CLOCK)


def _bare(number: str) -> str:
    """`2` for `2:00` and `2:00:00`."""
    return _O_CLOCK.sub("", number).lstrip("0")


def _given_otherwise(old: Spoken, new: Spoken) -> Iterator[ValueChange]:
    """The numbers that a name of code, or what the user measures, has in one turn and no longer in the other.

    Whatever else the earlier turn says with that number goes by it: "below 12 bars" for `PUMP_WARN = 12`.
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
    """The change of what both turns give a number, where both speak of something else as well."""
    if before != value and old.words & new.words - set(what.split()):
        yield ValueChange(before, value, new, new.user, of=old.turn.id)


def _reconsidered(old: Spoken, new: Spoken) -> Iterator[ValueChange]:
    """The number that the user changes their mind about: `keep them 90 days after all`, where `30 days` was
    said of the same."""
    for sentence, value in new.reconsidered:
        for said in old.said:
            given = [each for each in stated_values(said) if each.unit == value.unit]
            shared = about(said) & about(sentence) - {value.unit}
            if len(given) == 1 and given[0].number != value.number and len(shared) >= SHARED_MIN:
                written = re.search(rf"(?<![\w.,:]){re.escape(value.number)}[\s-]?\w+", sentence)
                text = written[0] if written else sentence
                yield ValueChange(given[0].number, value.number, new, text, of=old.turn.id)


def _counted_anew(old: Spoken, new: Spoken) -> Iterator[ValueChange]:
    """The number of what more came of: `two more tanks, that's 14 in total`, where there were 12."""
    for sentence, before, total in new.totals:
        for each in old.valued:
            is_other = each.unit == total.unit and each.number != total.number
            if is_other and before in (None, int(each.number) if each.number.isdigit() else -1):
                yield ValueChange(each.number, total.number, new, sentence, of=old.turn.id)


def _told_anew(old: Spoken, new: Spoken) -> Iterator[ValueChange]:
    """The one number that the earlier turn gives of its kind, and the later one as what is so now, where both
    speak of the same file and of something else."""
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


def _said_changes(new: Spoken) -> Iterator[ValueChange]:
    """`7220 instead of 7117`, `48 m deviennent 19 m`."""
    for at, sentence in enumerate(new.sentences):
        if len(numbers_in(sentence)) < 2:
            continue
        readable = new.readable[at]
        for found in _INSTEAD.finditer(readable):
            if numbers_in(gone := _with_decimals(found)):
                yield ValueChange(gone, sentence, new, new.user or sentence)
        for found in _BECOMES.finditer(readable):
            yield ValueChange(first_group(found), sentence, new, sentence)
        for found in _VALUE_GONE.finditer(readable):
            yield ValueChange(first_group(found), sentence, new, sentence)


def _with_decimals(found: re.Match[str]) -> str:
    """What the group that fits holds, with the decimals of a number at its end: `3,1`, not `3`."""
    decimals = _DECIMALS.match(found.string, found.end(found.lastindex or 0))
    return first_group(found) + (decimals[0] if decimals else "")


def _corrections(before: Spoken, new: Spoken) -> Iterator[ValueChange]:
    """A short answer with another number than the question had, `no, rather 30`, or than what was told just
    before a question whether to change it: `at most 10. Shall I raise it?`, `yes, 20`."""
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


def _second_thoughts(before: Spoken, new: Spoken) -> Iterator[ValueChange]:
    """A message right behind that only says another value: of the one that the user gave, else of the one
    that the answer told."""
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


def _is_done(item: str, by: Spoken) -> bool:
    wanted = about(item)
    least = len(wanted) if len(wanted) <= SHARED_MIN else SAME_SHARE * len(wanted)
    if wanted and len(wanted & by.leaves_open) >= least:
        return False
    return bool(wanted) and len(wanted & by.terms) >= least


def _same_frame(statement: str, by: Spoken) -> str:
    """The later sentence that says the same with other numbers."""
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


def _same_number(statement: str, mine: Spoken, by: Spoken) -> str:
    """The later sentence that gives another number to what the statement's own number is in its turn: "the
    file has 64 plots", of which the user had said it in other words."""
    values = stated_values(statement) if by.framed else ()
    if len(values) != 1 or len(values[0].number) < OWN_DIGITS or not values[0].unit:
        return ""
    same = (text for text, *_ in mine.framed if text != statement and stated_values(text) == values)
    return next(filter(None, (_same_frame(text, by) for text in same)), "")


def _counts_the_same(statement: str, sentence: str) -> bool:
    """Whether a number of the one can be another value for one of the other."""
    old, new = stated_values(statement), stated_values(sentence)
    return not (old and new) or any(same_kind(one, other) or not one.unit for one in old for other in new)


@lru_cache(SENTENCES_MAX)
def _names_set(sentence: str) -> frozenset[str]:
    """The names of code that the sentence gives a number."""
    return frozenset(found[1] for found in _NAMED.finditer(sentence))


@lru_cache(SENTENCES_MAX)
def _set_in(statement: str) -> frozenset[str]:
    """What the statement is about, without the words for giving a value and its unit where enough is left."""
    words = about(statement)
    units = {each.unit for each in stated_values(statement)}
    telling = words - units - decision_terms()
    return telling if len(telling) >= SHARED_MIN else words


@lru_cache(SENTENCES_MAX)
def _is_standing(statement: str) -> bool:
    return _STANDING.search(plain(statement)) is not None


def _stopped(statement: str, mine: Spoken | None, by: Spoken) -> str:
    """The later sentence that ends the instruction."""
    said = mine is not None and statement in (*mine.said, mine.user)
    if not by.ending or not (said or _is_standing(statement) or _POLITE.search(plain(statement))):
        return ""
    return next((sentence for sentence in by.ending if ends_instruction(sentence, statement)), "")


def _given_up(statement: str, by: Spoken) -> str:
    """The later sentence by which what the statement uses is given up."""
    for name, sentence in by.dropped.items():
        here = all(purpose & about(statement) for purpose in purposes_in(sentence))
        if here and not names_part(sentence, statement) and uses(statement, name, by.terms):
            return sentence
    return ""


def _handed_over(statement: str, by: Spoken) -> str:
    """The later sentence by which somebody does no longer what the statement says of them."""
    for name, sentence in by.handing_over.items():
        if names_somebody(statement, [name]) and about(statement) & by.terms - terms(name):
            return sentence
    return ""


def _finished(statement: str, turn: Turn, by: Spoken) -> str:
    """The later sentence by which the one thing to do of the turn's statement is done."""
    if not by.finishing or todo_list(statement):
        return ""
    is_due = stated_period(statement, MemoryType.TODO, turn.started_at).valid_to is not None
    if not (is_due or _TODO.search(plain(statement))):
        return ""
    wanted = about(statement)
    return next((each for each in by.finishing if len(about(each) & wanted) >= SHARED_MIN), "")


def _switched(statement: str, by: Spoken) -> str:
    """The later sentence that orders a switch away from what the statement names."""
    if not (by.switched_from and by.switched_from & names_in(statement)):
        return ""
    return next(each for each in by.said if _SWITCHES.match(plain(each)))


def _things(pattern: AnyOf, readable: Sequence[str]) -> frozenset[str]:
    """The stems of what the pattern's group names in the sentences."""
    found = (about(first_group(each)) for sentence in readable for each in pattern.finditer(sentence))
    return frozenset[str]().union(*found)
