"""What the user demands, found by rules: what is binding, how much, and what it is about."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import cache, lru_cache

from msgspec.structs import replace

from ragforge.domain.approvals import Constraint
from ragforge.domain.language.base import AnyOf, Language, first_group, language_of, languages, words_in
from ragforge.domain.memories import (
    STRENGTHS,
    Memory,
    MemoryScope,
    MemorySource,
    MemoryType,
    Strength,
    marks_of,
)
from ragforge.domain.turns import Turn
from ragforge.memory.material import CONSTRAINT_CHARS_MAX, CONSTRAINTS_MAX
from ragforge.memory.prohibitions import (
    forbids_something,
    is_path,
    names_in,
    prohibitions_in,
    used_in,
    wanted_in,
)
from ragforge.memory.purposes import purposes_in
from ragforge.memory.sentences import cut_words
from ragforge.memory.statements import is_report, is_wondering, plain, said_by
from ragforge.memory.subjects import applies_to_in, names_of
from ragforge.memory.terms import about

_STANDING = AnyOf(lambda language: language.standing)
_DEMANDS = AnyOf(lambda language: language.demands)
_BINDS = AnyOf(lambda language: language.binds)
_OBLIGES = AnyOf(lambda language: language.obliges)
_EXPERIENCES = AnyOf(lambda language: language.experiences)
_WHO_SINCE = AnyOf(lambda language: language.who_since)
_REQUIRES = AnyOf(lambda language: language.requires)
_OF_WORKING = AnyOf(lambda language: language.of_working)
_ADDRESSES = AnyOf(lambda language: language.addresses)
_PREFERS = AnyOf(lambda language: language.prefers)
_IN_GENERAL = AnyOf(lambda language: language.in_general)
_TALKS = AnyOf(lambda language: language.of_talking)
_RELEASES = AnyOf(lambda language: language.releases)
_ORDERS = AnyOf(lambda language: language.orders_always)
_SOFTENS = AnyOf(lambda language: language.softens)
_HABITS = AnyOf(lambda language: language.own_habits)
_MANNERS = AnyOf(lambda language: language.manners)
_POLITE = AnyOf(lambda language: language.cues.get("polite", ()))

_WORD = re.compile(r"[^\W\d_]+")

_PERMITS = AnyOf(lambda language: language.permits)
_ANSWERS_IN = AnyOf(lambda language: language.answers_in)
_ANSWERS_AS = AnyOf(lambda language: language.answers_as_asked)

WISHES = frozenset({MemoryType.PREFERENCE, MemoryType.DECISION})
"""Types of memories that can be binding: a decision is if its words demand or forbid something."""
LISTED_WORDS_MAX = 4
"""The maximum number of words of an item in a list of wishes."""


def is_standing(words: str) -> bool:
    """Whether it is a rule for everything that follows. `words` is plain."""
    return _STANDING.search(words) is not None and _STANDING.search(_WHO_SINCE.without(words)) is not None


def is_demand(words: str) -> bool:
    """Whether it demands or forbids something, for now or permanently."""
    return is_standing(words) or _DEMANDS.search(words) is not None


@lru_cache(1_024)  # the same standing instructions are checked before every message
def binds(sentence: str) -> bool:
    """Whether it is binding and not just a preference."""
    words = plain(sentence)
    return is_demand(words) or _has_binding_word(words)


def is_rule(words: str) -> bool:
    """Whether it says what must or must not be, if it is a wish at all. `words` is plain."""
    return is_demand(words) or _OBLIGES.search(words) is not None


def sets_language(words: str) -> bool:
    """Whether it says in which language to answer. `words` is plain."""
    return _ANSWERS_IN.search(words) is not None or _ANSWERS_AS.search(words) is not None


def condition_of(sentence: str) -> str:
    """Return the only condition under which the rule applies: "you write SQL"; empty if it always applies."""
    words = plain(sentence)
    spoken = language_of(words)
    # If the language can be detected, in no other: "on" begins no condition in French.
    read = (each for language, each in _conditions() if spoken is None or language is spoken)
    found = next(filter(None, (each.search(words) for each in read)), None)
    return first_group(found) if found else ""


@cache
def _conditions() -> tuple[tuple[Language, AnyOf], ...]:
    return tuple(
        (each, AnyOf(lambda one, each=each: one.condition if one is each else ())) for each in languages()
    )


@lru_cache(1_024)
def is_requirement(sentence: str) -> bool:
    """Whether it says what the product must do or be ("uploads must stay below 2 GB") and not how to work on
    it. One that always or never applies is a rule like any other."""
    words = plain(sentence)
    found = _REQUIRES.search(words)
    if found is None or is_standing(words) or _BINDS.search(_REQUIRES.without(words)):
        return False
    return words_in("rule_subjects").isdisjoint(_WORD.findall(first_group(found).lower()))


@lru_cache(1_024)
def is_for_all_work(sentence: str) -> bool:
    """Whether it certainly tells the assistant how to work, whatever the work is: it says what the assistant
    must do or ask first, what the user likes, or how everything that any turn produces has to be."""
    words = plain(sentence)
    if is_requirement(sentence) or is_experience(words):
        return False
    if (_PERMITS.search(words) or _RELEASES.search(words)) and not forbids_something(sentence):
        return False
    if sets_language(words) or any(each.search(words) for each in (_ADDRESSES, _PREFERS, _ORDERS, _TALKS)):
        return True
    if _OF_WORKING.search(words) or any(map(is_path, names_in(sentence))):
        return _IN_GENERAL.search(words) is not None or binds(sentence) or forbids_something(sentence)
    return False


def is_experience(words: str) -> bool:
    """Whether it says what has always or never been so, and demands nothing. `words` is plain."""
    return _EXPERIENCES.search(words) is not None and not (is_demand(words) or _has_binding_word(words))


def _has_binding_word(words: str) -> bool:
    if _BINDS.search(words) is None:
        return False
    return _BINDS.search(_HABITS.without(_EXPERIENCES.without(words))) is not None


def strength_of(sentence: str, type: MemoryType) -> Strength:
    """Return how binding a memory of this type and these words is."""
    if type not in WISHES:
        return Strength.NONE
    words = plain(sentence)
    if is_experience(words):
        return Strength.NONE
    likes = _SOFTENS.search(words) is not None
    is_kind = likes or _POLITE.search(words) is not None
    forbids = forbids_something(sentence)
    must_hold = _has_binding_word(words) or _OBLIGES.search(words) is not None
    binds = must_hold and not likes and (forbids or not is_kind)
    # "no emojis", without a binding word; "please" turns an order into a wish, but not a prohibition
    is_taste = _MANNERS.search(words) is not None or _lists_what_is_liked(words) or (is_kind and not forbids)
    if is_standing(words) or binds or (not (likes or is_taste) and (is_demand(words) or forbids)):
        return Strength.MUST
    is_wish = type is MemoryType.PREFERENCE or prohibitions_in(sentence)
    return Strength.SHOULD if is_wish else Strength.NONE


def _lists_what_is_liked(words: str) -> bool:
    """Whether what is unwanted is an item of a list of how something should look, as in "two spaces, keys
    sorted, no anchors". `words` is plain."""
    label, colon, rest = words.rpartition(":")
    items = [each.strip() for each in re.split(r"[,;]", rest) if each.strip()]
    if any(len(each.split()) > LISTED_WORDS_MAX for each in (*items, label)):
        return False
    liked = [each for each in items if not forbids_something(each)]
    return len(items) > len(liked) >= (1 if colon else 2)


def bound(
    memory: Memory, *, strength: Strength = Strength.NONE, named: Sequence[str] = (), said: str = ""
) -> Memory:
    """Return the memory with its strength, and what it is about, by its type and words.

    strength, named: what a model says of them; said: the user's own words in that case.
    """
    told = strength if memory.type in WISHES else Strength.NONE
    binds = max(strength_of(memory.content, memory.type), told, key=STRENGTHS.index)
    read = applies_to_in if memory.type in WISHES else names_of
    return replace(memory, strength=binds, applies_to=read(memory.content, said=said, named=named))


def constraint_of(memory: Memory, newest: Turn | None = None, known: Constraint | None = None) -> Constraint:
    """Return the memory in the form in which calls are checked against it.

    newest: the last turn that said it, if several did. known: what was made of the memory before.
    """
    turn = newest.id if newest else (memory.turns or ("",))[-1]
    said_at = newest.started_at if newest else memory.created_at
    if memory.source is MemorySource.USER:
        said_at = max(said_at, memory.updated_at)  # a command states it again without a turn
    if known is not None and known.text == memory.content:
        return replace(known, strength=memory.strength, said_at=said_at, turn=turn)
    forbidden, wanted = prohibitions_in(memory.content), wanted_in(memory.content)
    return Constraint(
        memory.id,
        memory.content,
        memory.strength,
        said_at,
        turn,
        memory.session_id,
        forbidden,
        tuple(each for each in wanted if not any(each in one.objects for one in forbidden)),
    )


def overruled(memories: Iterable[Memory]) -> dict[str, Memory]:
    """Return, by the id of each rule that newer ones contradict, the newest of those.

    Of two rules that contradict each other the newer one applies to calls; the older one is kept, because the
    newer one may be undone or forgotten.
    """
    rules = [each for each in memories if each.strength and not marks_of(each)]
    forbids, wants = defaultdict[str, list[Memory]](list), defaultdict[str, list[Memory]](list)
    newest: dict[str, Memory] = {}
    for rule in sorted(rules, key=_last_said, reverse=True):
        constraint = constraint_of(rule)
        forbidden = {name.casefold() for each in constraint.prohibitions for name in each.objects}
        wanted = {name.casefold() for name in constraint.wants}
        newer = [each for name in forbidden for each in wants[name]]
        newer += [each for name in wanted for each in forbids[name]]
        if found := [each for each in newer if _concerns_the_same(rule, each)]:
            newest[rule.id] = max(found, key=_last_said)
        for known, names in ((forbids, forbidden), (wants, wanted)):
            for name in names:
                known[name].append(rule)
    return newest


def _concerns_the_same(one: Memory, other: Memory) -> bool:
    """Whether both apply to the same user in the same project or session."""
    scopes = {one.scope, other.scope}
    same_place = MemoryScope.GLOBAL in scopes or one.project_id == other.project_id
    if scopes == {MemoryScope.SESSION}:
        same_place = one.session_id == other.session_id
    is_same_user = one.owner == other.owner or "" in (one.owner, other.owner)
    return same_place and is_same_user and _limits(one.content) == _limits(other.content)


def _last_said(rule: Memory) -> datetime:
    """Return when the rule was said last; of two in one message, the later one is the newer."""
    is_said_again = rule.source is MemorySource.USER or len(rule.turns) > 1
    return max(rule.created_at, rule.updated_at) if is_said_again else rule.created_at


def _limits(rule: str) -> frozenset[str]:
    """Return the words for where, when and for what alone the rule applies; empty if everywhere."""
    limits = about(condition_of(rule)).union(*purposes_in(rule))
    return limits - about(" ".join((*names_in(rule), *used_in(rule))))


def constraints_in(user: str) -> tuple[str, ...]:
    """Return what the user demands, word for word, each at most `CONSTRAINT_CHARS_MAX` characters."""
    found = (
        sentence
        for sentence, words in said_by(user)
        if is_demand(words) and not is_report(words) and not is_wondering(words)
    )
    return tuple(dict.fromkeys(cut_words(each, CONSTRAINT_CHARS_MAX) for each in found))[:CONSTRAINTS_MAX]


def word_for_word(quote: str, user: str) -> str:
    """Return the words of the user that the quote repeats, as written but for spacing, at most
    `CONSTRAINT_CHARS_MAX` characters; empty if the user did not say so."""
    said = " ".join(user.split())
    same = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"'})
    for attempt in (quote, quote.strip(" \"'“”«»"), quote.replace("&lt;", "<")):
        wanted = " ".join(attempt.split()).translate(same)
        found = (
            re.search(re.escape(wanted), said.translate(same), re.IGNORECASE) if len(wanted) >= 4 else None
        )
        if found:
            return cut_words(said[found.start() : found.end()], CONSTRAINT_CHARS_MAX)
    return ""
