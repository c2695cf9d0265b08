"""A turn prepared for comparison with others: what it says, sets, gives up and ends."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise

from msgspec import Struct

from ragforge.domain.language.base import AnyOf, first_group
from ragforge.domain.language.lexicon import in_english
from ragforge.domain.language.words import stem
from ragforge.domain.messages import own_text
from ragforge.domain.turns import Turn
from ragforge.memory.departures import who_acts, who_left, who_stops
from ragforge.memory.likeness import content_words, names_in
from ragforge.memory.material import answer_of
from ragforge.memory.own_words import own_words
from ragforge.memory.purposes import given_up
from ragforge.memory.recall.likely_changes import Later, later_turn
from ragforge.memory.recall.states import BuiltOn, Pick, Removal, built_on, pick_in, removals
from ragforge.memory.replacement import (
    decision_terms,
    finishes,
    has_changed_mind,
    names_anything,
)
from ragforge.memory.second_thoughts import stated_values
from ragforge.memory.sentences import one_line, sentences
from ragforge.memory.set_values import NumberWithUnit, new_totals, set_values
from ragforge.memory.statements import plain, readable
from ragforge.memory.terms import about, numbers_in, with_digits
from ragforge.memory.wishes import may_end

TEXT_CHARS_MAX = 2_000
"""The length that is read of a message and of an answer: changes are said at their beginning."""
WORD_CHARS_MAX = 200
_LONG_WORD = re.compile(rf"\S{{{WORD_CHARS_MAX + 1},}}")
"""A longer word is never prose: a hash, a minified line. Patterns for words take quadratic time on it."""
SPOKEN_MAX = 256
SENTENCES_MAX = 1_024
"""How many prepared turns and sentences are cached: the same ones are found again and again."""

_INSTEAD = AnyOf(lambda language: language.goes)
_RETURNS = AnyOf(lambda language: language.returns)
_ONLY_FOR = AnyOf(lambda language: language.only_for)
_GONE = AnyOf(lambda language: language.gone)
_BECOMES = AnyOf(lambda language: language.becomes)
_DONE = AnyOf(lambda language: language.done)
_LEAVES_OPEN = AnyOf(lambda language: language.leaves_open)
_ALL_DONE = AnyOf(lambda language: language.all_done)
_VALUE_GONE = AnyOf(lambda language: language.value_gone)
_REMAINS = AnyOf(lambda language: language.remains)
_SWITCHES = AnyOf(lambda language: language.switches)
_NOW = AnyOf(lambda language: language.now_so)

NAMED = re.compile(
    r"(?<![\w.:])((?:\w+::)*(?:[A-Za-z][\w-]*_\w+|[A-Z][A-Z0-9]{2,}|[a-z]+[A-Z]\w+|[A-Z][a-z]+[A-Z]\w*))(?::\s?\w+)?`?"
    r"(?:\s*(?:=|:)\s*(?:[A-Za-z]+\()?[\"']?|\s+(?:\w+\s+){0,2}?)`?((?:\*-\*-\* )?\d+(?:[.,:]\d+)*)"
)
"""A name as written in code, and the number that it is given."""
KEY = re.compile(r"(?<![\w./-])([a-z][\w-]*(?:\.[\w-]+)+)\s*=\s*[\"']?(\d+(?:[.,:]\d+)?)")
"""A setting and its number: `unlock.timeout = 8s`."""
_CODE = re.compile(r"`([^`\s]+)`")
_FOR_SOME = re.compile(
    r"(?<![\w.,:])(\d+(?:[.,]\d+)?)(?: [^\W\d]+)? (?:only )?(?:for|pour) (?:the |l[ea]s? |l'|our )?([^\W\d]+)"
)
_CLAUSES = re.compile(r"[,;:.!?](?=\s|$)")
_DECIMALS = re.compile(r"(?<=\d)[.,:]\d+")
_MEASURED = re.compile(r"(?<![\w.,:])(\d+(?:[.,]\d+)?) ?([^\W\d]+(?: [^\W\d]+){1,3})")
_TOLD = re.compile(r"([^\W\d_]{3,}) (of |de |d')?(?<![\w.,:])(\d+(?:[.,]\d+)?)(?![\w.:/-])")
MEASURED_WORDS = 2
"""A number that goes with two words, whatever is between them: `60 litre tank`, `60 requests a minute`."""


class Spoken(Struct, frozen=True, dict=True):
    """A turn prepared for comparison with others."""

    turn: Turn

    @cached_property
    def own(self) -> str:
        """The user's message without pasted text, since a log changes nothing; with digits."""
        return with_digits(_own_words(self.turn))

    @cached_property
    def answer(self) -> str:
        """The beginning of the answer, with digits."""
        return with_digits(answer_of(self.turn)[:TEXT_CHARS_MAX])

    @cached_property
    def written(self) -> dict[str, str]:
        """The sentences as they were written, by the same with digits."""
        own, told = _own_words(self.turn), answer_of(self.turn)[:TEXT_CHARS_MAX]
        texts = (*sentences(own), one_line(own), *sentences(told))
        return {digits: text for text in texts if (digits := with_digits(text)) != text}

    @cached_property
    def user(self) -> str:
        """The user's own words on one line."""
        return one_line(self.own)

    @cached_property
    def sentences(self) -> list[str]:
        """The sentences of the user's message and of the answer; the whole message too."""
        said = sentences(self.own[:TEXT_CHARS_MAX])
        told = sentences(self.answer)
        return list(dict.fromkeys([*said, *([self.user] if self.user else []), *told]))

    @cached_property
    def readable(self) -> list[str]:
        """The sentences as the patterns read them, with the words in backquotes."""
        return list(map(readable, self.sentences))

    @cached_property
    def terms(self) -> frozenset[str]:
        """The terms of the whole turn."""
        return frozenset[str]().union(*map(about, self.sentences))

    @cached_property
    def words(self) -> frozenset[str]:
        """The terms of the user's words."""
        return about(self.user)

    @cached_property
    def gives_up(self) -> frozenset[str]:
        """What is given up or removed in it."""
        return _things(_GONE, self.readable) | about(" ".join(self.switched_from))

    @cached_property
    def switched_from(self) -> frozenset[str]:
        """The names that the user mentions right before an order to switch to something else: `Mailjet wants
        money now. Switch to Brevo.`"""
        # `Mailjet wants money. Switch to Brevo.`, or `switch to Brevo, Mailjet wants money`
        behind = [(one, other) for one, other in pairwise(self.said) if _SWITCHES.match(plain(other))]
        orders = (each.partition(", ") for each in self.said if _SWITCHES.match(plain(each)))
        behind += [(reason, order) for order, _, reason in orders if reason]
        # The first word of a sentence is capitalised even if it is not a name.
        found = (names_in(one).union(content_words(one)[:1]) - names_in(other) for one, other in behind)
        return frozenset(each for names in found for each in names if not any(map(str.isdigit, each)))

    @cached_property
    def dropped(self) -> dict[str, str]:
        """The names that the user gives up altogether, each with the sentence that says so."""
        return given_up(self.said)

    @cached_property
    def totals(self) -> list[tuple[str, int | None, NumberWithUnit]]:
        """The user's sentences by which there is more of something, with `new_totals`."""
        return [(each, *total) for each in self.said for total in new_totals(each)]

    @cached_property
    def limited(self) -> dict[str, frozenset[str]]:
        """The numbers that the user gives for one thing only, and what for: `45 minutes for the harbour`."""
        return {found[1]: about(found[2]) for found in _FOR_SOME.finditer(self.user)}

    @cached_property
    def code(self) -> frozenset[str]:
        """The paths and names of code in backquotes, in the answer and the user's words."""
        return frozenset(_CODE.findall(f"{self.own}\n{self.answer}"))

    @cached_property
    def valued(self) -> frozenset[NumberWithUnit]:
        """The numbers of the whole turn that count something."""
        every = (each for sentence in self.sentences for each in stated_values(sentence))
        return frozenset(each for each in every if each.unit)

    @cached_property
    def now(self) -> dict[NumberWithUnit, str]:
        """Those of these numbers that a sentence states as the current ones, each with the sentence."""
        if not self.valued:
            return {}
        said = [each for each in reversed(self.sentences) if _NOW.search(each)]
        return {value: each for each in said for value in stated_values(each) if value.unit}

    @cached_property
    def gives(self) -> bool:
        """Whether it gives anything a number that may differ in an earlier turn."""
        return any((self.named, self.reconsidered, self.measured, self.told, self.totals, self.now))

    @cached_property
    def changes(self) -> list[tuple[str, str]]:
        """The old values that it says itself are different now, each with the words that say so."""
        return list(_said_changes(self))

    @cached_property
    def finishing(self) -> list[str]:
        """The sentences by which something that was to be done may be done."""
        return list(filter(finishes, (*self.said, *sentences(self.answer))))

    @cached_property
    def handing_over(self) -> dict[str, str]:
        """The names of those who no longer do something, each with the user's sentence that says so."""
        return {name: each for each in self.said for name in (*who_left(each), *who_stops(each))}

    @cached_property
    def brings_back(self) -> frozenset[str]:
        """What is valid again from this turn on."""
        return _things(_RETURNS, [each for each in self.readable if not _ONLY_FOR.search(each)])

    @cached_property
    def keeps(self) -> list[frozenset[str]]:
        """The terms of each of the user's clauses by which something stays as it is."""
        return [about(each) for each in _CLAUSES.split(self.user) if _REMAINS.search(each)]

    @cached_property
    def framed(self) -> list[tuple[str, frozenset[str], frozenset[str]]]:
        """Its sentences with numbers: their terms, and the numbers."""
        found = [(sentence, numbers_in(sentence)) for sentence in self.sentences]
        return [(sentence, about(sentence), numbers) for sentence, numbers in found if numbers]

    @cached_property
    def does(self) -> bool:
        """Whether something that was to be done is done in it."""
        return (
            self.ends_list
            or bool(self.finishing)
            or any(_DONE.search(plain(sentence)) for sentence in self.sentences)
        )

    @cached_property
    def leaves_open(self) -> frozenset[str]:
        """What is still to be done after it."""
        return _things(_LEAVES_OPEN, self.readable)

    @cached_property
    def ends_list(self) -> bool:
        """Whether nothing of a list of what was to be done is left after it."""
        return any(_ALL_DONE.search(plain(sentence)) for sentence in self.sentences)

    @cached_property
    def said(self) -> list[str]:
        """The user's sentences."""
        return sentences(self.own)

    @cached_property
    def ending(self) -> list[str]:
        """Those of the user's sentences that may end a wish."""
        return list(filter(may_end, self.said))

    @cached_property
    def leaving(self) -> frozenset[str]:
        """The names of those who have left by the user's words."""
        return frozenset[str]().union(*map(who_left, self.said))

    @cached_property
    def acting(self) -> frozenset[str]:
        """The names of those who do something by the user's words."""
        return frozenset[str]().union(*map(who_acts, self.said)) - self.leaving

    @cached_property
    def later(self) -> Later:
        """The turn prepared for comparison with statements of earlier ones."""
        return later_turn(self.own, answer_of(self.turn))

    @cached_property
    def removals(self) -> list[Removal]:
        """What no longer exists, by the user's words and the answer's."""
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
        """The sentences in which the user reconsiders and gives one number for something."""
        found = ((each, stated_values(each)) for each in self.said if has_changed_mind(plain(each)))
        return [(each, values[0]) for each, values in found if len(values) == 1 and values[0].unit]

    @cached_property
    def naming(self) -> list[str]:
        """The user's sentences that may give another name to something."""
        return [sentence for sentence in self.said if names_anything(sentence)]

    @cached_property
    def named(self) -> dict[str, str]:
        """The numbers that names of code are given in it."""
        text = f"{self.own}\n{self.answer}"
        return {found[1]: found[2] for each in (NAMED, KEY) for found in each.finditer(text)}

    @cached_property
    def measured(self) -> dict[str, str]:
        """The numbers that the user gives for what two words name, in English."""
        found = ((in_english(each[2])[:MEASURED_WORDS], each[1]) for each in _MEASURED.finditer(self.user))
        return {" ".join(map(stem, words)): number for words, number in found if len(words) == MEASURED_WORDS}

    @cached_property
    def told(self) -> dict[str, NumberWithUnit]:
        """The numbers that the user gives right after what is to be done, or after what they count, by stem
        in English: `keep 7`, `rows of 12`."""
        values = {each.number: each for each in stated_values(self.user)}
        found = ((stem(word), each) for each in _TOLD.finditer(self.user) for word in in_english(each[1])[:1])
        return {
            word: values[each[3]]
            for word, each in found
            if each[3] in values and (each[2] or word in decision_terms())
        }


@lru_cache(SPOKEN_MAX)
def spoken_turn(turn: Turn) -> Spoken:
    """Return the turn prepared for comparison; cached for the next one."""
    return Spoken(turn)


def _said_changes(new: Spoken) -> Iterator[tuple[str, str]]:
    """Yield the old value and the words to quote: `7220 instead of 7117`, `48 m deviennent 19 m`."""
    for sentence, words in zip(new.sentences, new.readable, strict=True):
        if len(numbers_in(sentence)) < 2:
            continue
        for found in _INSTEAD.finditer(words):
            if numbers_in(gone := _with_decimals(found)):
                yield gone, new.user or sentence
        for pattern in (_BECOMES, _VALUE_GONE):
            yield from ((first_group(found), sentence) for found in pattern.finditer(words))


def _with_decimals(found: re.Match[str]) -> str:
    """Return the text of the group that matches, with the decimals of a number at its end: `3,1`, not `3`."""
    decimals = _DECIMALS.match(found.string, found.end(found.lastindex or 0))
    return first_group(found) + (decimals[0] if decimals else "")


def _things(pattern: AnyOf, readable: Sequence[str]) -> frozenset[str]:
    """Return the stems of what the pattern's group names in the sentences."""
    found = (about(first_group(each)) for sentence in readable for each in pattern.finditer(sentence))
    return frozenset[str]().union(*found)


def without_long_words(text: str) -> str:
    """Return the text without words of more than WORD_CHARS_MAX characters: nobody says them, and patterns
    are slow on them."""
    return _LONG_WORD.sub("", text)


def _own_words(turn: Turn) -> str:
    return own_words(without_long_words(own_text(turn.user)))
