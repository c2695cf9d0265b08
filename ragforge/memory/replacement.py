"""Which decision or fact a new decision replaces, by its words alone; in doubt none."""

import re
from collections.abc import Sequence
from functools import cache, lru_cache

from msgspec import Struct

from ragforge.domain.language.base import AnyOf, decision_words, filled, first_group, stop_words
from ragforge.domain.language.lexicon import in_english
from ragforge.domain.language.words import TEXTS_KEPT_MAX, stem
from ragforge.domain.memories import Memory, MemoryType
from ragforge.domain.products import FIELDS, KNOWN_NAMES
from ragforge.memory.likeness import content_words, names_in, stands_among
from ragforge.memory.purposes import SHORT_NAMES, names_part
from ragforge.memory.statements import is_so, is_wondering, plain, readable
from ragforge.memory.terms import SAME_SHARE, about, numbers_in, terms
from ragforge.memory.todo_list import todo_list
from ragforge.memory.value_names import named_value
from ragforge.memory.wishes import SHARED_MIN, Ending, ending

_INSTEAD = AnyOf(lambda language: language.instead)
_CHANGED_MIND = AnyOf(lambda language: language.changed_mind)
_GOES = AnyOf(lambda language: language.goes)
_RETURNS = AnyOf(lambda language: language.returns)
_SUFFICES = AnyOf(lambda language: language.suffices)
_ONLY_FOR = AnyOf(lambda language: language.only_for)
_PURPOSE = AnyOf(lambda language: language.purpose)
_PLACE = AnyOf(lambda language: language.place)
_NEGATED = AnyOf(lambda language: language.negated)
_IN_USE = AnyOf(lambda language: language.in_use)
_STARTS = AnyOf(lambda language: language.starts_using)
_ON_TRIAL = AnyOf(lambda language: language.on_trial)
_VALUE_GONE = AnyOf(lambda language: language.value_gone)
_CLAUSE_END = re.compile(r"[,;:](?=\s)|[.!?](?=\s|$)")
TELLING_DIGITS = 3
"""A number with so many digits means the same thing everywhere."""
VALUED = frozenset({MemoryType.DECISION, MemoryType.FACT, MemoryType.PREFERENCE, MemoryType.GOAL})
"""Types that can give a value to something, and revoke it."""
_FINISHES = AnyOf(lambda language: language.finishes)
ENDING = frozenset({MemoryType.TODO, MemoryType.GOAL})
FORM_CHARS_MIN = 3
"""The minimum length of a word that another one may be a form of."""
STOPPED_SHARE = 0.5
"""The share of words of a clause that ends something: a memory that contains so many of them is ended."""
STEM_CHARS = 5
NEW_WORDS_MAX = 1
"""The maximum number of words for the replacement that nothing shows to be a name."""
_TERM = re.compile(r"[^\W_][\w+#.-]{1,40}")


def is_telling(number: str) -> bool:
    """Whether the number is long enough to mean the same thing everywhere."""
    return sum(map(str.isdigit, number)) >= TELLING_DIGITS


class _Naming(Struct, frozen=True):
    """What a sentence names."""

    words: frozenset[str]
    """Words for what it uses, without those for what is gone."""
    names: frozenset[str]
    """Those of them that name something."""
    gone: frozenset[str]
    """What it says is no longer used."""
    back: frozenset[str]
    """What it says is used again."""
    frame: frozenset[str]
    """The stems of what else it is about."""

    @property
    def products(self) -> frozenset[str]:
        """Return what projects are built on, by its longest name."""
        return frozenset(SHORT_NAMES.get(name, name) for name in self.names if name in KNOWN_NAMES)


def replaced_by(
    decision: Memory, words: str, known: Sequence[Memory], *, changed_mind: bool
) -> Memory | None:
    """Return which of the known ones the decision replaces.

    words: its sentence, plain. changed_mind: in its turn the user said so.
    """
    if values := _values_given_up(words):
        return _with_value(decision, values, known)
    if decision.type in VALUED and (old := _named_otherwise(decision, words, known)):
        return old
    if decision.type is not MemoryType.DECISION:
        return None
    if (gone := _what_goes(decision.content)) is not None:
        named = [old for old in known if old.id != decision.id and _names(old, gone, decision)]
        return max(named, key=lambda old: (old.type is MemoryType.DECISION, old.created_at), default=None)
    if not (_INSTEAD.search(words) or changed_mind):
        return None
    return _about_the_same(decision, known, shared_min=1 if _INSTEAD.search(words) else 2)


def _named_otherwise(decision: Memory, words: str, known: Sequence[Memory]) -> Memory | None:
    named = (
        old
        for old in known
        if old.id != decision.id and old.type in VALUED and names_otherwise(words, old.content)
    )
    return max(named, key=lambda old: (old.type is MemoryType.DECISION, old.created_at), default=None)


@lru_cache(TEXTS_KEPT_MAX)
def names_otherwise(sentence: str, statement: str) -> bool:
    """Whether the sentence names another thing for the statement's subject: "written in B instead of A" for
    something written in A, or in the same words another product of the same kind, "stored in MySQL" and
    "stored in DuckDB".
    """
    new, old = _naming(sentence), _naming(statement)
    if not (new.gone or new.products or new.back) or sentence.endswith("?") or is_wondering(plain(sentence)):
        return False
    if new.back & old.gone:
        return True
    if names_part(sentence, statement):
        return False
    if new.gone and new.gone <= old.words:
        if _gives_up_alone(sentence, statement) or _names_only(statement, sentence):
            return True
        shared = sum(stands_among(term, old.frame) for term in new.frame)
        return shared >= max(1, STOPPED_SHARE * min(len(new.frame), len(old.frame)))
    if not (len(new.products) == len(old.products) == 1) or new.gone:
        return False
    (now,), (before,) = new.products, old.products
    rivals = now != before and FIELDS[now] == FIELDS[before]
    if not rivals or not new.frame or len(new.frame) < SAME_SHARE * len(old.frame):
        return False
    return all(stands_among(term, old.frame) for term in new.frame)


def _gives_up_alone(sentence: str, statement: str) -> bool:
    """Whether the sentence abandons the name that the statement gives to something, and speaks of nothing
    else, as of another use of it: "replace Redis with Memcached" if the cache is Redis."""
    new, given = _naming(sentence), named_value(statement)
    if given is None or not set(content_words(given.written)) <= new.gone:
        return False
    words, said = plain(sentence), named_value(sentence)
    if _PURPOSE.search(words) or _PLACE.search(words) or (said and not given.topic <= said.topic):
        return False
    others = about(sentence) - new.gone - terms(" ".join(new.names)) - given.topic - decision_terms()
    return len(others) <= NEW_WORDS_MAX


def _names_only(statement: str, change: str) -> bool:
    """Whether the statement only says that what the change abandons altogether is used: "set up Sentry"."""
    words = readable(change)
    going = _GOES.search(words)
    if going is None or not is_so(words, going.start()) or _ON_TRIAL.search(words):
        return False
    if _NEGATED.search(readable(statement)) or any(
        each.search(_GOES.without(change)) for each in (_PURPOSE, _PLACE)
    ):
        return False
    others = _naming(statement).words - _naming(change).gone
    is_used = _IN_USE.search(plain(statement)) or _STARTS.match(plain(statement))
    return bool(is_used) and not terms(" ".join(others)) - decision_terms()


def gives_up_part(sentence: str, statement: str) -> bool:
    """Whether by the sentence something is no longer used for some of what the statement uses it for."""
    gone = _naming(sentence).gone
    return bool(gone) and gone <= _naming(statement).words and names_part(sentence, statement)


def corrects(sentence: str, statement: str) -> bool:
    """Whether the sentence, said right after the statement, abandons what it names: "actually not Svelte", or
    says that less is enough than the one product that it names: "actually argparse will do"."""
    if not has_changed_mind(plain(sentence)):
        return False
    new, old = _naming(sentence), _naming(statement)
    if new.gone:
        return new.gone <= old.words
    return (
        len(old.products) == 1
        and _SUFFICES.search(readable(sentence)) is not None
        and not old.products & new.words
    )


def names_anything(sentence: str) -> bool:
    """Whether the sentence may name another thing for the subject of an earlier one."""
    naming = _naming(sentence)
    return bool(naming.gone or naming.products or naming.back or _SUFFICES.search(readable(sentence)))


def goes_or_returns(sentence: str) -> frozenset[str]:
    """Return the words for what is no longer used, and for what is used again, according to the sentence."""
    naming = _naming(sentence)
    return naming.gone | naming.back


def brings_back(sentence: str, statement: str) -> bool:
    """Whether by the sentence something that the statement names is used again."""
    return bool(_naming(sentence).back & _naming(statement).words)


def takes_back(sentence: str, change: str, statement: str) -> bool:
    """Whether by the sentence something returns that the change abandoned for what the statement names."""
    new, old = _naming(sentence), _naming(change)
    return bool(new.back & old.gone and old.names & _naming(statement).words - new.back)


@lru_cache(TEXTS_KEPT_MAX)
def _naming(sentence: str) -> _Naming:
    text = readable(sentence)
    going = list(_GOES.finditer(text))
    gone, rest = " ".join(map(first_group, going)), text
    for found in reversed(going):
        rest = f"{rest[: found.start()]} {rest[found.end() :]}"
    names = frozenset(name for name in names_in(rest) if name not in FIELDS or name in KNOWN_NAMES)
    frame = terms(_clauses_of(text, going) or rest) - terms(" ".join((*names, gone))) - decision_terms()
    # What returns for one part only leaves the rest unchanged.
    returning = () if _ONLY_FOR.search(text) else _RETURNS.finditer(text)
    back = " ".join(map(first_group, returning))
    words, went, returned = (frozenset(content_words(each)) for each in (rest, gone, back))
    return _Naming(words, names, went, returned, frame)


def _clauses_of(text: str, going: Sequence[re.Match[str]]) -> str:
    """Return the clauses that drop something, without the words that say so: the others give reasons."""
    if not going:
        return ""
    found, start = list[str](), 0
    for end in [*(each.end() for each in _CLAUSE_END.finditer(text)), len(text)]:
        within = [each for each in going if start <= each.start() < end]
        if within:
            found.append(text[start : within[0].start()] + text[within[-1].end() : end])
        start = end
    return " ".join(found)


@cache
def decision_terms() -> frozenset[str]:
    """Return the stems of the words that say that something was decided, not what."""
    return terms(" ".join(decision_words()))


def changed_value(words: str, known: Sequence[Memory]) -> tuple[Memory, str] | None:
    """Return the memory that the plain sentence changes by naming only its value, and its words with the new
    value.

    "change 8443 to 9443" refers to any memory that gives 8443. None if it names another thing, if several
    memories have the number, and for numbers that are too short to mean the same thing everywhere.
    """
    values = _values_given_up(words)
    value = min(values, default="")
    if len(values) != 1 or not is_telling(value):
        return None
    giving = [
        old
        for old in known
        if old.type in VALUED
        and value in numbers_in(old.content)
        and value not in _values_given_up(old.content)
    ]
    clauses = [each for each in _CLAUSE_END.split(words) if value in numbers_in(each)]
    for part in (*clauses, words):
        new = numbers_in(part) - {value}
        if len(new) == 1 and len(giving) == 1:
            (old,) = giving
            about = {term for term in terms_of(part) if not term[0].isdigit()}
            if about <= terms_of(old.content):
                return old, re.sub(rf"(?<![\d.,:]){re.escape(value)}(?!\d)", min(new), old.content)
    return None


def finished_by(words: str, known: Sequence[Memory]) -> Memory | None:
    """Return the known todo or goal that the plain sentence says is done; None if it names none."""
    if _FINISHES.search(words) is None or _NEGATED.search(words):
        return None
    said, english = _stems(words), _english_stems(words)
    fits = [
        (max(len(said & stems), _forms_shared(english, _english_stems(old.content))), len(stems), old)
        for old in known
        if old.type in ENDING and (stems := _stems(old.content)) and not _is_list(old)
    ]
    named = [(shared, old) for shared, many, old in fits if shared >= min(SHARED_MIN, many)]
    return max(named, key=lambda each: (each[0], each[1].created_at), default=(0, None))[1]


def finishes(sentence: str) -> bool:
    """Whether it says that something is done."""
    words = plain(sentence)
    return _FINISHES.search(words) is not None and not (_NEGATED.search(words) or is_wondering(words))


def _is_list(old: Memory) -> bool:
    """Whether it lists several things to do: with one of them it is not done."""
    found = todo_list(old.content)
    return found is not None and len(found.items) > 1


def ended_by(words: str, known: Sequence[Memory]) -> Memory | None:
    """Return the preference of the known ones that the sentence ends; None if it ends none."""
    ended = [
        old
        for old in known
        if old.type is MemoryType.PREFERENCE and ending(words, old.content) is Ending.WHOLE
    ]
    shared = about(words)
    return max(ended, key=lambda old: (len(shared & about(old.content)), old.created_at), default=None)


def _stems(text: str) -> frozenset[str]:
    """Return the beginnings of the content words, so that "rotate" is in "rotated"."""
    return frozenset(term[:STEM_CHARS] for term in terms_of(text) if not term[0].isdigit())


def _english_stems(text: str) -> frozenset[str]:
    """Return its words in English, if the lexicon has them: a French statement may be ended in English."""
    return frozenset(found for word in in_english(text) if len(found := stem(word)) >= FORM_CHARS_MIN)


def _forms_shared(some: frozenset[str], others: frozenset[str]) -> int:
    """Return how many of the words are the beginning of another one, or extend it: "add" and "added"."""
    return sum(any(one.startswith(other) or other.startswith(one) for other in others) for one in some)


def _values_given_up(words: str) -> frozenset[str]:
    """Return numbers that the sentence says are no longer valid: "8443" of "change 8443 to 9443"."""
    return frozenset(first_group(found).rstrip(".,:") for found in _VALUE_GONE.finditer(words))


def _with_value(new: Memory, values: frozenset[str], known: Sequence[Memory]) -> Memory | None:
    """Return the newest that gives one of the values to the new one's subject."""
    terms = frozenset(term for term in terms_of(new.content) if not term[0].isdigit())
    fits = (
        old
        for old in known
        if old.id != new.id
        and old.type in VALUED
        and values.intersection(numbers_in(old.content)) - values.intersection(_values_given_up(old.content))
        and terms & terms_of(old.content)
    )
    return max(fits, key=lambda old: (len(terms & terms_of(old.content)), old.created_at), default=None)


def has_changed_mind(words: str) -> bool:
    """Whether the plain sentence says that another one is no longer valid."""
    return _CHANGED_MIND.search(words) is not None


def _what_goes(content: str) -> frozenset[str] | None:
    """Return the words for what the sentence says is no longer used; None if it names nothing."""
    found = _GOES.search(readable(content))
    if found is None:
        return None
    return terms_of(first_group(found)) or None


def _names(old: Memory, gone: frozenset[str], decision: Memory) -> bool:
    """Whether the old one plainly says that what is dropped now is used, and for the same."""
    if old.type not in (MemoryType.DECISION, MemoryType.FACT):
        return False
    content = readable(old.content)
    if went := _GOES.search(content):
        content = content[: went.start()] + content[went.end() :]
    # For a fact: what the project is made with, not what is true about it.
    before = "" if old.type is MemoryType.DECISION else rf"(?:{_IN_USE.pattern})"
    if _NEGATED.search(content) or not all(
        re.search(before + filled(rf"(?<![\w-]){name}[\d. ]{{0,6}}<ends>"), content, re.IGNORECASE)
        for name in map(_name, gone)
    ):
        return False
    if names_part(decision.content, old.content):
        return False
    new = readable(decision.content)
    purposes = _terms_behind(_PURPOSE, new), _terms_behind(_PURPOSE, content)
    places = _terms_behind(_PLACE, new)
    return (not all(purposes) or bool(purposes[0] & purposes[1])) and (
        not places or bool(places & terms_of(content))
    )


def _name(term: str) -> str:
    """Return a pattern for it, for its long form and for its short forms."""
    same = {
        term,
        SHORT_NAMES.get(term, term),
        *(short for short, long in SHORT_NAMES.items() if long == term),
    }
    return rf"(?:{'|'.join(sorted(map(re.escape, same)))})"


def _terms_behind(pattern: AnyOf, text: str) -> frozenset[str]:
    return frozenset[str]().union(*(terms_of(first_group(found)) for found in pattern.finditer(text)))


def _about_the_same(decision: Memory, known: Sequence[Memory], *, shared_min: int) -> Memory | None:
    """Return the decision that has most in common, if it is not said what is dropped."""
    terms, fields = terms_of(decision.content), fields_in(decision.content)
    best: tuple[int, float] | None = None
    chosen = None
    for old in known:
        if old.type is not MemoryType.DECISION or old.id == decision.id:
            continue
        if names_part(decision.content, old.content):
            continue
        shared = len(terms & terms_of(old.content))
        same_field = bool(fields & fields_in(old.content))
        if not (same_field or shared >= shared_min):
            continue
        rank = (shared + 2 * same_field, old.created_at.timestamp())
        if best is None or rank > best:
            best, chosen = rank, old
    return chosen


def terms_of(text: str) -> frozenset[str]:
    """Return the words that say what it is about."""
    empty = stop_words() | decision_words()
    words = (found[0].strip(".-").lower() for found in _TERM.finditer(text))
    return frozenset(word for word in words if len(word) > 2 and word not in empty)


def fields_in(text: str) -> frozenset[str]:
    """Return the well-known fields in which it names something."""
    return frozenset(FIELDS[word] for word in terms_of(text) if word in FIELDS)


def field_of(text: str) -> str:
    """Return the first of them by name; empty if there is none."""
    return min(fields_in(text), default="")
