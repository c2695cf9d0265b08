"""Statements that a later turn ends: an instruction, a task, what somebody does, what is used."""

from ragforge.domain.language.base import AnyOf
from ragforge.domain.memories import MemoryType
from ragforge.domain.messages import own_text
from ragforge.domain.turns import Turn
from ragforge.memory.departures import names_somebody, without_actors
from ragforge.memory.likeness import names_in
from ragforge.memory.period_words import stated_period
from ragforge.memory.purposes import names_part, purposes_in, uses
from ragforge.memory.recall.resumption import resumes
from ragforge.memory.recall.spoken import Spoken
from ragforge.memory.statements import is_question, plain
from ragforge.memory.terms import SAME_SHARE, about, terms
from ragforge.memory.todo_list import todo_list
from ragforge.memory.wishes import SHARED_MIN

_TODO = AnyOf(lambda language: (*language.memories.get(MemoryType.TODO, ()), *language.to_do))
_TO_DO = AnyOf(lambda language: language.to_do)
_LATER = AnyOf(lambda language: language.cues.get("later", ()))
_MAKES = AnyOf(lambda language: language.makes)
_PURPOSE = AnyOf(lambda language: language.purpose)
_SWITCHES = AnyOf(lambda language: language.switches)


def is_done(item: str, by: Spoken) -> bool:
    """Return whether the item, which was to be done, is done in the turn."""
    wanted = about(item)
    least = len(wanted) if len(wanted) <= SHARED_MIN else SAME_SHARE * len(wanted)
    if wanted and len(wanted & by.leaves_open) >= least:
        return False
    return bool(wanted) and len(wanted & by.terms) >= least


def given_up_in(statement: str, by: Spoken) -> str:
    """Return the later sentence that gives up what the statement uses."""
    for name, sentence in by.dropped.items():
        here = all(purpose & about(statement) for purpose in purposes_in(sentence))
        if here and not names_part(sentence, statement) and uses(statement, name, by.terms):
            return sentence
    return ""


def handed_over(statement: str, by: Spoken) -> str:
    """Return the later sentence by which somebody no longer does what the statement says about them."""
    for name, sentence in by.handing_over.items():
        rest = without_actors(statement, by.leaving & {name})
        if rest and not names_somebody(rest, [name]):
            continue  # the rest of the statement is still valid
        if names_somebody(statement, [name]) and about(statement) & by.terms - terms(name):
            return sentence
    return ""


def finished(statement: str, turn: Turn, by: Spoken) -> str:
    """Return the later sentence by which the only thing to do of the turn's statement is done."""
    listed = todo_list(statement)
    if (listed and len(listed.items) > 1) or not by.finishing:
        return ""
    is_due = stated_period(statement, MemoryType.TODO, turn.started_at).valid_to is not None
    is_told = resumes(own_text(turn.user))  # the answer to "what is left?" lists what is to do
    if not (is_due or is_told or _TODO.search(plain(statement))):
        return ""
    wanted = about(statement)
    done = next((each for each in by.finishing if len(about(each) & wanted) >= SHARED_MIN), "")
    return done or _done_as_ordered(_MAKES.without(_TO_DO.without(plain(statement))), by)


def _done_as_ordered(wanted: str, by: Spoken) -> str:
    """Return what the answer reports as done, if the user ordered all of the to-do but perhaps its purpose,
    and nothing else, such as another action on the same thing.

    wanted: the plain to-do, without the words that say that it is one.
    """
    report = next((each for each in by.finishing if each not in by.said), "")
    if not report or not by.answer.startswith(report):
        return ""
    least = terms(_PURPOSE.without(wanted))
    said = [words for each in by.said if not (_LATER.search(words := plain(each)) or is_question(words))]
    ordered = [terms(_MAKES.without(words)) for words in said if _MAKES.search(words)]
    is_ordered = least and any(len(each) >= SHARED_MIN and least <= each <= terms(wanted) for each in ordered)
    return report if is_ordered else ""


def switched(statement: str, by: Spoken) -> str:
    """Return the later sentence that orders a switch away from what the statement names."""
    if not (by.switched_from and by.switched_from & names_in(statement)):
        return ""
    return next(each for each in by.said if _SWITCHES.match(plain(each)))
