"""Which statements of turns are outdated, by what was said after them. In doubt they are all valid.

The turns that were found for one message are compared with each other, and with those that are known to
replace something in them. What else replaced a statement is known from the typed memories.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from functools import cached_property

from msgspec import Struct

from ragforge.domain.language.base import AnyOf
from ragforge.domain.memories import Memory
from ragforge.domain.turns import Turn
from ragforge.domain.words import day_words
from ragforge.memory.departures import without_actors
from ragforge.memory.likeness import content_words, names_in
from ragforge.memory.purposes import says_more
from ragforge.memory.recall.endings import finished, given_up_in, handed_over, is_done, switched
from ragforge.memory.recall.likely_changes import outdated_by, tells_a_change
from ragforge.memory.recall.likely_endings import always_stands, likely_end, may_end_likely
from ragforge.memory.recall.replacements import Link, ReplacedStatement
from ragforge.memory.recall.spoken import Spoken, spoken_turn, without_long_words
from ragforge.memory.recall.states import BuiltOn
from ragforge.memory.recall.value_changes import (
    ValueChange,
    corrections,
    given_otherwise,
    gives_old_value,
    same_frame,
    same_number,
    second_thoughts,
)
from ragforge.memory.replacement import (
    SHARED_MIN,
    brings_back,
    corrects,
    gives_up_part,
    goes_or_returns,
    names_otherwise,
    takes_back,
)
from ragforge.memory.second_thoughts import second_thought
from ragforge.memory.sentences import cut_sentence, one_line
from ragforge.memory.set_values import sets_otherwise
from ragforge.memory.statements import plain
from ragforge.memory.terms import about, numbers_in, terms, with_digits
from ragforge.memory.todo_list import todo_list
from ragforge.memory.value_names import renames
from ragforge.memory.wishes import Ending, ending, is_wish, without_ended

NEW_CHARS_MAX = 80
"""The length of the valid statement that a mark quotes."""

_RETURNS = AnyOf(lambda language: language.returns)
_PROMISES = AnyOf(lambda language: language.promises)
_AT_TIMES = AnyOf(lambda language: language.at_times)


class Replacement(Struct, frozen=True):
    """What is valid in place of a statement, and since when."""

    turn_id: str
    at: datetime
    text: str
    in_part: bool = False
    """Whether a part of the statement is still valid."""
    is_sure: bool = True
    """Whether a rule decided it; else it is only likely."""
    ended_by: str = ""
    """The user's sentence that ends a part of it, if it is a wish."""

    @property
    def is_whole(self) -> bool:
        """Whether certainly nothing of the statement is still valid."""
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


class Validity:
    """The turns that were found for a message, compared with each other."""

    def __init__(
        self, turns: Iterable[Turn], known: Sequence[ReplacedStatement] = (), links: Collection[Link] = ()
    ) -> None:
        """known: what the memories that are based on these turns say about it, the last replaced first.
        links: turns that may replace something in another and that no rule knows."""
        self._known = known
        self._links = frozenset(links)
        self._linked: dict[str, set[str]] = {}
        for link in self._links:
            self._linked.setdefault(link.old, set()).add(link.new)
        turns = list(turns)
        self._times = _times(turns)
        self._spoken = [spoken_turn(turn) for turn in sorted(turns, key=self._order)]
        self._by_id = {each.turn.id: each for each in self._spoken}
        self._changes = list(self._changed())

    def with_turns(self, more: Iterable[Turn], links: Collection[Link] = ()) -> "Validity":
        """Return the same with these turns and links added."""
        new = [turn for turn in more if turn.id not in self._by_id]
        if not new and self._links.issuperset(links):
            return self
        return Validity([*(each.turn for each in self._spoken), *new], self._known, self._links.union(links))

    def replacement(self, turn: Turn, statement: str) -> Replacement | None:
        """Return what replaced this statement of the turn last; None if it is valid."""
        digits = with_digits(statement)
        return self._last_replacement(turn, digits) or self._likely(turn, digits)

    def what_holds(self, turn: Turn, statement: str) -> tuple[str, Replacement | None]:
        """Return the statement without clauses that ended since, and what replaced something in the rest."""
        while (by := self.replacement(turn, statement)) and (left := without_ended(by.ended_by, statement)):
            statement = left
        return statement, by

    def _last_replacement(self, turn: Turn, statement: str) -> Replacement | None:
        """Return what replaced a statement with digits, according to a rule."""
        later = [each for each in reversed(self._spoken) if self._is_before(turn, each.turn)]
        at_times: Replacement | None = None
        for by in later:
            text = self._replaced(turn, statement, by)
            if not text or self._returned(statement, text, by):
                continue
            if _is_at_times(text, statement) or _leaves_rest(text, statement, by):
                ended_by = text if text in by.ending else ""
                at_times = at_times or _replacement(by, text, in_part=True, ended_by=ended_by)
                continue
            # "make it 60" may have been replaced itself by "no, 30", or by the value that was valid before.
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

    def _likely(self, turn: Turn, statement: str) -> Replacement | None:
        """Return what likely replaced the statement, with digits, from the newest of the linked turns."""
        mine, newer = self._by_id.get(turn.id), self._linked.get(turn.id, ())
        if not newer:
            return None
        statement, told = without_long_words(statement).strip(), mine.later.answer if mine else ""
        of_user = mine is None or one_line(statement) in mine.user
        is_standing = of_user and always_stands(statement)
        for by in (each for each in reversed(self._spoken) if each.turn.id in newer):
            is_next = by.turn.parent == turn.id
            if is_standing:
                text = likely_end(statement, told, by.later)
            else:
                text = outdated_by(statement, by.later, of_user=of_user, is_next=is_next)
            # What is named as returning is valid again.
            if text and not (_RETURNS.search(plain(text)) and names_in(statement) & names_in(text)):
                return _replacement(by, text, is_sure=False)
        return None

    def holding(self, memory: Memory) -> str:
        """Return the valid part of the memory; empty if there is none."""
        on = (self._by_id[turn] for turn in memory.turns if turn in self._by_id)
        content, changes = memory.content, list[Replacement]()
        for each in on:
            left, by = self.what_holds(each.turn, content)
            # What somebody else says does not replace a person's wishes.
            last = by or self.replacement(each.turn, content)
            if last and memory.owner and self._person(last.turn_id) not in ("", memory.owner):
                continue
            content = left
            changes += [by] if by else []
        if any(each.is_whole for each in changes):
            return ""
        left = self.still_open(memory.created_at, content) or ""
        if left.endswith(":"):
            return ""  # the words before a list, without it
        return f"{left} {changes[-1].mark}" if left and changes else left

    def _person(self, turn_id: str) -> str:
        return self._by_id[turn_id].turn.person if turn_id in self._by_id else ""

    def changes_anything(self) -> bool:
        """Return whether anything that one of the turns says is outdated."""
        return any(
            self.replacement(each.turn, sentence) is not None
            or self.still_open(each.turn.started_at, sentence) != sentence
            for each in self._spoken[:-1]
            for sentence in each.sentences
        )

    def still_open(self, at: datetime, statement: str) -> str | None:
        """Return the statement with what of its list is still to do, and without what was said about those
        who left since; None if nothing of it is left.

        at: when it was said. Any other statement stays as it is.
        """
        if (found := todo_list(statement)) is None:
            return without_actors(statement, self._left_since(at)) or None
        later = [each for each in self._spoken if each.turn.started_at > at and each.does]
        if any(each.ends_list and about(statement) & each.terms for each in later):
            return None
        left = [item for item in found.items if not any(is_done(item, each) for each in later)]
        if len(left) == len(found.items):
            return statement
        return f"{found.lead} {', '.join(left)}" if left else None

    def _left_since(self, at: datetime) -> frozenset[str]:
        """Return the names of those who left since, and who were not mentioned as active after that."""
        gone = frozenset[str]()
        for each in self._spoken:
            if each.turn.started_at > at and (gone or each.leaving):
                gone = gone - each.acting | each.leaving
        return gone

    def _replaced(self, turn: Turn, statement: str, by: Spoken) -> str:
        """Return what replaces the statement in the later turn; empty if nothing does."""
        mine = self._by_id.get(turn.id)
        for change in self._changes:
            if change.by is by and change.of in ("", turn.id) and gives_old_value(change, statement, mine):
                return change.sentence
        return (
            same_frame(statement, by)
            or (mine and same_number(statement, mine, by))
            or next((each for each in by.naming if names_otherwise(each, statement)), "")
            or next((each for each in by.said if sets_otherwise(each, statement)), "")
            or next((each for each in by.said if renames(each, statement)), "")
            or next(
                (each for each in by.naming if by.turn.parent == turn.id and corrects(each, statement)), ""
            )
            or switched(statement, by)
            or next((each.sentence for each in by.removals if each.concerns(statement)), "")
            or (by.pick.sentence if by.pick and by.pick.concerns(statement) else "")
            or (mine and self._built_otherwise(statement, mine, by))
            or self._taken_back(turn, statement, by)
            or self._ended(statement, mine, by)
            or (mine and self._no_longer_promised(statement, mine, by))
            or given_up_in(statement, by)
            or handed_over(statement, by)
            or finished(statement, turn, by)
        )

    def _ended(self, statement: str, mine: Spoken | None, by: Spoken) -> str:
        """Return the later sentence that ends a wish or a part of it."""
        is_said = mine is not None and statement in (*mine.said, mine.user)
        if not by.ending or not (is_said or is_wish(statement)):
            return ""
        return next((each for each in by.ending if ending(each, statement) is not Ending.NONE), "")

    def _no_longer_promised(self, statement: str, mine: Spoken, by: Spoken) -> str:
        """Return the later sentence that ends the wish that the answer promised to follow."""
        if not by.ending or statement in mine.said or not _PROMISES.search(plain(statement)):
            return ""
        ended = [self._ended(each, mine, by) for each in mine.said if is_wish(each)]
        return ended[0] if ended and all(ended) else ""

    def _built_otherwise(self, statement: str, mine: Spoken, by: Spoken) -> str:
        """Return the later sentence that says that something is built on a different thing than the statement
        says. Only the last such sentence counts: what was meanwhile is over."""
        for old in mine.built_on:
            last = next((new for new in self._last_built if new[1].subject == old.subject), None)
            if last is None or last[0] is not by or last[1].on == old.on:
                continue
            if old.sentence == statement or old.on in content_words(statement):
                return last[1].sentence
        return ""

    @cached_property
    def _last_built(self) -> list[tuple[Spoken, BuiltOn]]:
        """What is built on what, by turn, newest first."""
        return [(each, built) for each in reversed(self._spoken) for built in each.built_on]

    def _returned(self, statement: str, text: str, by: Spoken) -> bool:
        """Return whether the statement is valid again since a turn after the one whose words replaced it."""
        later = [each for each in self._spoken if each.naming and self._is_before(by.turn, each.turn)]
        if any(by.gives_up & each.brings_back & about(statement) for each in later):
            return True
        return any(
            takes_back(sentence, text, text) and brings_back(sentence, statement)
            for each in later
            for sentence in each.naming
        )

    def _used_again(self, change: str, by: Spoken) -> bool:
        """Return whether a turn after this one restores what the change gave up."""
        later = (each for each in self._spoken if each.naming and self._is_before(by.turn, each.turn))
        return any(names_otherwise(sentence, change) for each in later for sentence in each.naming)

    def _order(self, turn: Turn) -> tuple[datetime, int]:
        return self._times.get(turn.id, turn.started_at), turn.index

    def _is_before(self, turn: Turn, later: Turn) -> bool:
        return turn.id != later.id and self._order(turn) < self._order(later)

    def _changed(self) -> Iterator[ValueChange]:
        """Yield the values that a later turn changes."""
        for at, new in enumerate(self._spoken):
            for old in self._spoken[:at] if new.gives else ():
                yield from given_otherwise(old, new)
            yield from (ValueChange(old, text, new, text) for old, text in new.changes)
            before = self._by_id.get(new.turn.parent or "")
            if before and before in self._spoken[:at]:
                yield from corrections(before, new)
                yield from second_thoughts(before, new)

    def _taken_back(self, turn: Turn, statement: str, by: Spoken) -> str:
        """Return the words by which something returns that the statement's turn had given up."""
        mine = self._by_id.get(turn.id)
        if mine is None:
            return ""
        # What returned and what replaced it meanwhile: the whole turn is about it.
        if mine.gives_up and mine.gives_up & by.brings_back:
            if any(len(kept & about(statement)) >= SHARED_MIN for kept in by.keeps):
                return ""
            return next((each for each in by.said if _RETURNS.search(plain(each))), by.user)
        changes = [(each, change) for each in by.naming for change in mine.naming]
        return next((each for each, change in changes if takes_back(each, change, statement)), "")


def _replacement(
    by: Spoken, text: str, *, in_part: bool = False, is_sure: bool = True, ended_by: str = ""
) -> Replacement:
    short = cut_sentence(one_line(by.written.get(text, text)), NEW_CHARS_MAX)
    return Replacement(by.turn.id, by.turn.started_at, short, in_part, is_sure, ended_by)


def _is_at_times(text: str, statement: str) -> bool:
    """Return whether the words give another number only for certain times, as "60 minutes on Sundays"."""
    return bool(numbers_in(text) and _AT_TIMES.search(text)) and not _AT_TIMES.search(statement)


def _leaves_rest(text: str, statement: str, by: Spoken) -> bool:
    """Return whether the words replace only a part of the statement."""
    limits = (by.limited[each] for each in numbers_in(text) if each in by.limited)
    if any(not each & terms(statement) for each in limits):
        return True
    if text in by.ending and (how := ending(text, statement)) is not Ending.NONE:
        return how is Ending.PART
    return text in by.dropped.values() and says_more(statement, terms(" ".join(by.dropped)))


def _gives_again(text: str, meanwhile: str, statement: str) -> bool:
    """Return whether the words give the number of the statement that was different meanwhile."""
    given = numbers_in(statement) - numbers_in(meanwhile)
    return bool(given) and given <= numbers_in(text)


def changed_words(turn: Turn) -> frozenset[str]:
    """Return the words for what the user gives up or resumes in the turn, and for names that get numbers."""
    spoken = spoken_turn(turn)
    removed = (each.names | each.parts for each in spoken.removals)
    built = {each.subject.lower() for each in spoken.built_on}
    others = spoken.pick.names if spoken.pick else frozenset[str]()
    names = (*spoken.named, *spoken.dropped, *spoken.handing_over)
    return frozenset(names).union(built, others, *removed, *map(goes_or_returns, spoken.said))


def may_replace(turn: Turn) -> bool:
    """Return whether anything in the turn could replace what an earlier one says."""
    spoken = spoken_turn(turn)
    changes = (spoken.framed, spoken.brings_back, spoken.does, spoken.naming, spoken.sets)
    told = (spoken.removals, spoken.built_on, spoken.pick, tells_a_change(spoken.later))
    eases = may_end_likely(spoken.later)
    more = (spoken.dropped, spoken.handing_over, spoken.finishing, spoken.totals)
    return any(changes) or any(told) or any(more) or eases or bool(spoken.ending)


def _times(turns: Sequence[Turn]) -> dict[str, datetime]:
    """Return by turn when it was said: never before an earlier one of its session, if clocks went back."""
    found: dict[str, datetime] = {}
    last: dict[str, datetime] = {}
    for turn in sorted(turns, key=lambda turn: turn.index):
        at = max(turn.started_at, last.get(turn.session_id, turn.started_at))
        found[turn.id] = last[turn.session_id] = at
    return found
